// Runs a built program as a script would: arguments in; exit code, standard output and messages out.
#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace kinetograph::test {

struct ProgramResult {
    int exit_code = 0;  ///< 128 + signal if a signal ended it
    std::string out;    ///< standard output
    std::string messages;
    double seconds_after_messages = 0;  ///< that it took to end after the newest message
};

struct ProgramOptions {
    std::filesystem::path input = "/dev/null";  ///< standard input
    std::vector<std::string> environment = {};  ///< "NAME=value", or "NAME" to remove it
    std::function<bool()> interrupt_when = {};  ///< polled until true or it has ended; then `signal` is sent
    int signal = SIGINT;                        ///< followed by SIGKILL if the program has not ended after 20 s
    bool unread_output = false;  ///< standard output is a pipe without a reader; `signal` is sent once it is full
    std::filesystem::path append_to = {};  ///< standard output goes to the end of this file; empty: to `out`
    std::filesystem::path folder = {};     ///< it runs in; empty: the test's
    std::vector<int> closed = {};          ///< descriptors that it starts without
    std::vector<std::pair<int, std::uint64_t>> limits = {};  ///< setrlimit(2): RLIMIT_..., and how much
};

std::string read_text(const std::filesystem::path& path);

/// Hides the GPUs of this machine, unless `options` name a driver.
ProgramResult run_program(const std::string& program, const std::vector<std::string>& arguments,
                          const ProgramOptions& options = {});

#ifdef KINETOGRAPH_PROGRAM
/// The program of this build.
inline ProgramResult run_program(const std::vector<std::string>& arguments, const ProgramOptions& options = {}) {
    return run_program(KINETOGRAPH_PROGRAM, arguments, options);
}
#endif

}  // namespace kinetograph::test
