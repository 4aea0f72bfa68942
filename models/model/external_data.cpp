#include "model/external_data.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/refusal.hpp"

namespace dynquant::models {
namespace {

/// An open file or folder, or -1.
class descriptor {
  public:
    explicit descriptor(int number)
        : number_(number) {}
    ~descriptor() {
        if (number_ >= 0) close(number_);
    }
    descriptor(const descriptor &) = delete;
    descriptor &operator=(descriptor &&other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }

    operator int() const { return number_; }

  private:
    int number_;
};

} // namespace

std::vector<std::byte> external_bytes(const std::string &folder, const std::string &location, std::int64_t offset,
        std::int64_t size, const std::string &where) {
    const auto fail = [&](const auto &...parts) { refuse(status::invalid_arguments, where, ": ", parts...); };
    const auto fail_by = [&](int code, const auto &...parts) {
        fail(parts..., ", given ", code == ELOOP ? "a symbolic link" : std::generic_category().message(code));
    };
    if (folder.empty())
        fail("expected a model that is read from a file, or a folder among the options, given a model in memory");
    const std::filesystem::path path(location);
    const bool leaves = std::ranges::count(path, "..") > 0 || path.is_absolute();
    if (location.empty() || leaves || location.find('\0') != std::string::npos)
        fail("location: expected a path within the model's folder, given '", location, "'");
    descriptor at(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (at < 0) fail_by(errno, "expected a folder '", folder, "'");
    // Folder by folder, so that nothing becomes a link between a check and its use. With O_NONBLOCK a pipe is opened
    // and then refused, where it would wait for a writer.
    for (const auto &part : path) {
        at = descriptor(openat(at, part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (at < 0) fail_by(errno, "'", location, "': expected a file in the model's folder");
    }
    struct stat there {};
    if (fstat(at, &there) != 0) fail_by(errno, "'", location, "': expected a file");
    if (!S_ISREG(there.st_mode)) fail("'", location, "': expected a file, given something else");
    if (offset > there.st_size || size > there.st_size - offset)
        fail("'", location, "': expected ", size, " bytes from byte ", offset, " on, given a file of ", there.st_size);
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    for (std::size_t done = 0; done < bytes.size();) {
        const auto count = pread(at, bytes.data() + done, bytes.size() - done, offset + static_cast<off_t>(done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail_by(errno, "'", location, "': expected a file that can be read");
        if (count == 0) fail("'", location, "': expected ", size, " bytes from byte ", offset, " on, given ", done);
        done += static_cast<std::size_t>(count);
    }
    return bytes;
}

} // namespace dynquant::models
