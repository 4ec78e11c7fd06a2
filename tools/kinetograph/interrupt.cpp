#include <poll.h>
#include <unistd.h>
#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/tools/kinetograph/interrupt.hpp>

#include <cstdlib>
#include <ctime>
#include <string_view>

namespace kinetograph::cli {
namespace {

sigset_t watched_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU}) {
        struct sigaction action {};
        if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&set, signal);
    }
    return set;
}

/// Bypasses the log, whose lock may be held by a thread blocked on a full pipe; silent if standard error is full too.
void say_last(std::string_view line) {
    pollfd error{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (poll(&error, 1, 0) != 1 || (error.revents & POLLOUT) == 0) return;
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

Interrupt::Interrupt(std::function<std::string()> discard) : signals_(watched_signals()), discard_(std::move(discard)) {
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
    stopped_ = true;
    thread_.join();
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

void Interrupt::watch() {
    const timespec tick{.tv_sec = 0, .tv_nsec = 20'000'000};  // 20 ms: bounds the destructor's wait
    while (!stopped_) {
        if (sigtimedwait(&signals_, nullptr, &tick) < 0) continue;
        const auto said = without_exceptions("interrupted", [this]() -> Result<std::string> { return discard_(); });
        say_last("kinetograph: error: " + (said ? *said : said.error().message) + "\n");
        std::_Exit(1);
    }
}

}  // namespace kinetograph::cli
