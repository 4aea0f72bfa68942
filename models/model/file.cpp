#include "model/file.hpp"

#include <filesystem>
#include <fstream>

#include "model/refusal.hpp"

namespace dynquant::models {

std::string bytes_of_file(const std::string &path) {
    const auto fail = [&](const auto &...parts) { refuse(status::invalid_arguments, path, ": ", parts...); };
    std::error_code wrong;
    if (!std::filesystem::is_regular_file(path, wrong))
        fail("expected a file, given ", wrong ? wrong.message() : "something else");
    const auto size = std::filesystem::file_size(path, wrong);
    std::ifstream stream(path, std::ios::binary);
    if (wrong || !stream) fail("expected a file that can be read, given one that cannot be opened");
    std::string bytes(size, '\0');
    if (!stream.read(bytes.data(), static_cast<std::streamsize>(size)))
        fail("expected ", size, " bytes, given ", stream.gcount());
    return bytes;
}

std::string folder_of(const std::string &path) {
    const auto folder = std::filesystem::path(path).parent_path();
    return folder.empty() ? "." : folder.string();
}

} // namespace dynquant::models
