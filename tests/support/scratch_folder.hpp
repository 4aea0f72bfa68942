#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace dynquant::test {

/// A temporary folder, removed with its contents by the destructor.
class scratch_folder {
  public:
    scratch_folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "dynquant.XXXXXX").string();
        if (!mkdtemp(pattern.data())) throw std::system_error(errno, std::generic_category(), pattern);
        path = std::filesystem::canonical(pattern);
    }
    ~scratch_folder() { std::filesystem::remove_all(path); }
    scratch_folder(const scratch_folder &) = delete;
    scratch_folder &operator=(const scratch_folder &) = delete;

    std::filesystem::path path;
};

} // namespace dynquant::test
