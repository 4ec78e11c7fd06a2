#include "program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <stdexcept>
#include <thread>

namespace kinetograph::test {
namespace {

void redirect(int descriptor, const std::filesystem::path& path, int flags) {
    const int file = open(path.c_str(), flags, 0600);
    if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
    close(file);
}

/// "NAME=value" sets, "NAME" removes.
void change_environment(const std::string& entry) {
    const auto equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    if (equals == std::string::npos) {
        unsetenv(name.c_str());
    } else {
        setenv(name.c_str(), entry.substr(equals + 1).c_str(), 1);
    }
}

/// The choice of `--lane auto` must not depend on the machine that runs the tests.
constexpr std::array kNoGpu{"KINETOGRAPH_CUDA_LIBRARY=/nowhere/libcuda.so.1",
                            "KINETOGRAPH_HIP_LIBRARY=/nowhere/libamdhip64.so.7"};

}  // namespace

std::string read_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

namespace {

class Pipe {
  public:
    Pipe() {
        if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        for (const int end : ends_) close(end);
    }
    int write_end() const { return ends_[1]; }
    bool is_full() const {
        pollfd room{.fd = ends_[1], .events = POLLOUT, .revents = 0};
        return poll(&room, 1, 0) == 0;
    }

  private:
    std::array<int, 2> ends_{};
};

bool has_ended(pid_t child) {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

void interrupt(pid_t child, const std::function<bool()>& when, int signal) {
    for (; !when(); std::this_thread::sleep_for(std::chrono::milliseconds(5)))
        if (has_ended(child)) return;
    kill(child, signal);
    for (int i = 0; i < 4000; ++i) {
        if (has_ended(child)) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill(child, SIGKILL);
}

}  // namespace

ProgramResult run_program(const std::string& program, const std::vector<std::string>& arguments,
                          const ProgramOptions& options) {
    const TemporaryFolder folder;
    const auto out = folder.path() / "out", messages = folder.path() / "messages";
    const Pipe pipe;
    const pid_t child = fork();
    if (child == 0) {
        redirect(STDIN_FILENO, options.input, O_RDONLY);
        redirect(STDOUT_FILENO, out, O_CREAT | O_WRONLY);
        redirect(STDERR_FILENO, messages, O_CREAT | O_WRONLY);
        if (options.unread_output) dup2(pipe.write_end(), STDOUT_FILENO);
        if (!options.append_to.empty()) redirect(STDOUT_FILENO, options.append_to, O_WRONLY | O_APPEND);
        if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(126);
        for (const char* entry : kNoGpu) change_environment(entry);
        for (const std::string& entry : options.environment) change_environment(entry);
        std::vector<char*> argv{const_cast<char*>(program.c_str())};
        for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
        argv.push_back(nullptr);
        for (const int descriptor : options.closed) close(descriptor);
        for (const auto& [resource, most] : options.limits) {
            const rlimit limit{most, most};
            setrlimit(static_cast<__rlimit_resource>(resource), &limit);
        }
        execv(program.c_str(), argv.data());
        _exit(127);
    }
    if (options.unread_output)
        interrupt(
            child, [&pipe] { return pipe.is_full(); }, options.signal);
    else if (options.interrupt_when)
        interrupt(child, options.interrupt_when, options.signal);
    int status = 0;
    waitpid(child, &status, 0);
    const std::chrono::duration<double> silent =
        std::filesystem::file_time_type::clock::now() - std::filesystem::last_write_time(messages);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(out), read_text(messages),
            silent.count()};
}

}  // namespace kinetograph::test
