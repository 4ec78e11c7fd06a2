#include <spdlog/spdlog.h>
#include <kinetograph/tools/kinetograph/interrupt.hpp>

#include <csignal>
#include <cstdlib>
#include <ctime>

namespace kinetograph::cli {
namespace {

sigset_t watched_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

}  // namespace

Interrupt::Interrupt(std::function<void()> discard) : discard_(std::move(discard)) {
    const sigset_t set = watched_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    thread_ = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
    stopped_ = true;
    thread_.join();
    const sigset_t set = watched_signals();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupt::watch() {
    const sigset_t set = watched_signals();
    const timespec tick{.tv_sec = 0, .tv_nsec = 20'000'000};  // 20 ms: how long the destructor may wait
    while (!stopped_) {
        if (sigtimedwait(&set, nullptr, &tick) < 0) continue;
        discard_();
        spdlog::error("interrupted; unfinished outputs were discarded");
        std::_Exit(1);
    }
}

}  // namespace kinetograph::cli
