// tools/command_line: what every command line of this tree does alike: it writes files, and ends. May include: nothing
// of this tree.
#pragma once

#include <array>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace command_line {

/// While one lives, signals that ask the program to end wait for its destructor, which raises the last of them.
class postponed_end {
  public:
    postponed_end();
    ~postponed_end();
    postponed_end(const postponed_end &) = delete;
    postponed_end &operator=(const postponed_end &) = delete;

  private:
    static constexpr std::array signals {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    std::array<struct sigaction, signals.size()> before_;
};

/// Writes a set of files, of which none appears incomplete. A file gets a temporary name in its folder, which commit()
/// changes to the wanted one; a link to a file stays, and the file that it names is replaced, with its mode and owner.
/// What is there and is neither a file nor a folder, such as a device or a pipe, gets the bytes by commit(), before any
/// file is replaced. Both functions throw std::runtime_error with one line: the file and the reason. Where a rename
/// fails, as over a mounted file, those before it are in place. A signal that asks the program to end ends it when no
/// temporary file is left; one that kills it leaves them.
class new_files {
  public:
    new_files() = default;
    new_files(const new_files &) = delete;
    new_files &operator=(const new_files &) = delete;
    ~new_files(); // removes what was not committed

    /// Makes missing folders.
    void write(const std::filesystem::path &file, std::string bytes);
    void commit();

  private:
    struct pending {
        std::filesystem::path named;     // as the caller says it
        std::filesystem::path target;    // the file that is replaced
        std::filesystem::path temporary; // empty: the bytes go to what is there
        std::string bytes;               // of that
    };
    std::optional<postponed_end> until_done_; // while there are temporary files
    std::vector<pending> files_;
};

} // namespace command_line
