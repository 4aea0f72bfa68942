#include "new_files.hpp"

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace command_line {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path &file, const std::string &reason) {
    throw std::runtime_error("cannot write " + file.string() + ": " + reason);
}

[[noreturn]] void fail(const fs::path &file, int code) {
    fail(file, std::generic_category().message(code));
}

/// Where a chain of links ends, which may be a file that is not there yet.
fs::path end_of_links(const fs::path &file) {
    constexpr int most_links = 40; // Linux's
    fs::path target = file;
    std::error_code code;
    for (int i = 0; fs::is_symlink(fs::symlink_status(target, code)); ++i) {
        const auto next = fs::read_symlink(target, code);
        if (code) fail(file, code.message());
        if (i == most_links) fail(file, ELOOP);
        target = target.parent_path() / next;
    }
    return target;
}

/// The mode of a file that any program makes.
mode_t default_mode() {
    const auto mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/// Writes all and closes.
void write_all(int descriptor, std::string_view bytes, const fs::path &named) {
    int code = descriptor < 0 ? errno : 0;
    while (code == 0 && !bytes.empty()) {
        const auto written = ::write(descriptor, bytes.data(), bytes.size());
        if (written >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR)
            code = errno;
    }
    // A full disk may show only here. EINVAL: a pipe or a device has nothing to flush.
    if (code == 0 && fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS) code = errno;
    if (descriptor >= 0 && close(descriptor) != 0 && code == 0) code = errno;
    if (code != 0) fail(named, code);
}

} // namespace

new_files::~new_files() {
    std::error_code ignored;
    for (const auto &file : files_)
        if (!file.temporary.empty()) fs::remove(file.temporary, ignored);
}

void new_files::write(const fs::path &file, std::string bytes) {
    std::error_code code;
    if (file.has_parent_path()) fs::create_directories(file.parent_path(), code);
    if (code) throw std::runtime_error("cannot make the folder " + file.parent_path().string() + ": " + code.message());
    const auto there = fs::status(file, code);
    if (fs::is_directory(there)) fail(file, "it is a folder");
    if (fs::exists(there) && !fs::is_regular_file(there)) {
        files_.push_back({file, file, {}, std::move(bytes)});
        return;
    }
    const auto target = end_of_links(file);
    auto mode = default_mode();
    if (fs::exists(there)) { // an owner who wrote-protects a file does not want it replaced
        if (access(target.c_str(), W_OK) != 0) fail(file, errno);
        mode = static_cast<mode_t>(there.permissions()) & 07777;
    }
    // mkstemp makes a file of a name that nothing has. The name is short: that of the target may be the longest
    // allowed.
    auto name = (target.parent_path() / ".dynquant.XXXXXX").string();
    const int descriptor = mkstemp(name.data());
    if (descriptor < 0) fail(file, errno);
    try {
        files_.push_back({file, target, name, {}});
    } catch (...) {
        close(descriptor);
        unlink(name.c_str());
        throw;
    }
    fchmod(descriptor, mode);
    write_all(descriptor, bytes, file);
}

void new_files::commit() {
    for (const auto &file : files_)
        if (file.temporary.empty()) write_all(open(file.target.c_str(), O_WRONLY | O_CLOEXEC), file.bytes, file.named);
    for (auto &file : files_) {
        if (file.temporary.empty()) continue;
        std::error_code code;
        fs::rename(file.temporary, file.target, code);
        if (code) fail(file.named, code.message());
        file.temporary.clear();
    }
    files_.clear();
}

} // namespace command_line
