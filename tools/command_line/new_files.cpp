#include "new_files.hpp"

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
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

/// Whether a link is one of /proc to an open file, whose name need not lead to that file.
bool is_of_proc(const fs::path &link) {
    struct statfs system {};
    return statfs((link.has_parent_path() ? link.parent_path() : fs::path(".")).c_str(), &system) == 0
            && system.f_type == PROC_SUPER_MAGIC;
}

/// Where a chain of links ends, which may be a file that is not there yet.
fs::path end_of_links(const fs::path &file) {
    constexpr int most_links = 40; // Linux's
    fs::path target = file;
    std::error_code code;
    for (int i = 0; fs::is_symlink(fs::symlink_status(target, code)); ++i) {
        if (is_of_proc(target)) fail(file, "it is an open file: expected a name of that file");
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

template <std::size_t Count>
using actions = std::array<struct sigaction, Count>;

/// Sets the handler of signals, except of those that are ignored. Returns what they had.
template <std::size_t Count>
actions<Count> handle(const std::array<int, Count> &signals, void (*handler)(int)) {
    actions<Count> before {};
    struct sigaction action {};
    action.sa_handler = handler;
    for (std::size_t i = 0; i < Count; ++i) {
        sigaction(signals[i], nullptr, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
    }
    return before;
}

template <std::size_t Count>
void restore(const std::array<int, Count> &signals, const actions<Count> &before) {
    for (std::size_t i = 0; i < Count; ++i)
        sigaction(signals[i], &before[i], nullptr);
}

/// The signal that waits for the end of a postponed_end, or 0.
volatile std::sig_atomic_t waiting = 0;

void let_wait(int signal) {
    waiting = signal;
}

/// Within its scope a pipe without a reader and a file that is too large are errors of write(), not signals.
class ignored_signals {
  public:
    ignored_signals()
        : before_(handle(signals, SIG_IGN)) {}
    ~ignored_signals() { restore(signals, before_); }
    ignored_signals(const ignored_signals &) = delete;
    ignored_signals &operator=(const ignored_signals &) = delete;

  private:
    static constexpr std::array signals {SIGPIPE, SIGXFSZ};
    actions<signals.size()> before_;
};

/// Writes all and closes.
void write_all(int descriptor, std::string_view bytes, const fs::path &named) {
    const ignored_signals guard;
    int code = descriptor < 0 ? errno : 0;
    while (code == 0 && !bytes.empty()) {
        const auto written = ::write(descriptor, bytes.data(), bytes.size());
        if (written >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR || waiting != 0) // a pipe may never be read
            code = errno;
    }
    // A full disk may show only here. EINVAL: a pipe or a device has nothing to flush.
    if (code == 0 && fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS) code = errno;
    if (descriptor >= 0 && close(descriptor) != 0 && code == 0) code = errno;
    if (code != 0) fail(named, code);
}

} // namespace

postponed_end::postponed_end()
    : before_(handle(signals, let_wait)) {}

postponed_end::~postponed_end() {
    restore(signals, before_);
    if (const int signal = std::exchange(waiting, 0); signal != 0) raise(signal);
}

new_files::~new_files() {
    std::error_code ignored;
    for (const auto &file : files_)
        if (!file.temporary.empty()) fs::remove(file.temporary, ignored);
}

void new_files::write(const fs::path &file, std::string bytes) {
    if (!file.has_filename()) fail(file, "expected a file's name");
    std::error_code code;
    if (file.has_parent_path()) fs::create_directories(file.parent_path(), code);
    if (code) throw std::runtime_error("cannot make the folder " + file.parent_path().string() + ": " + code.message());
    struct stat there {};
    const bool exists = stat(file.c_str(), &there) == 0;
    if (!exists && errno != ENOENT) fail(file, errno);
    if (exists && S_ISDIR(there.st_mode)) fail(file, "it is a folder");
    if (exists && !S_ISREG(there.st_mode)) {
        files_.push_back({file, file, {}, std::move(bytes)});
        return;
    }
    const auto target = end_of_links(file);
    // An owner who wrote-protects a file does not want it replaced.
    if (exists && access(target.c_str(), W_OK) != 0) fail(file, errno);
    // mkstemp makes a file of a name that nothing has. The name is short: that of the target may be the longest
    // allowed.
    auto name = (target.parent_path() / ".dynquant.XXXXXX").string();
    if (!until_done_) until_done_.emplace();
    const int descriptor = mkstemp(name.data());
    if (descriptor < 0) fail(file, errno);
    try {
        files_.push_back({file, target, name, {}});
    } catch (...) {
        close(descriptor);
        unlink(name.c_str());
        throw;
    }
    // The owner stays where that is allowed, as it is to root; else it becomes the caller.
    [[maybe_unused]] const int refused = exists ? fchown(descriptor, there.st_uid, there.st_gid) : 0;
    fchmod(descriptor, (exists ? there.st_mode : default_mode()) & 0777);
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
    until_done_.reset();
}

} // namespace command_line
