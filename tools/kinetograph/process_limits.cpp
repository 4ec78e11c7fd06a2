#include <kinetograph/tools/kinetograph/process_limits.hpp>

#include <execinfo.h>
#include <omp.h>
#include <sys/resource.h>

#include <latch>
#include <thread>
#include <vector>

namespace kinetograph::cli {
namespace {

constexpr rlim_t kLeastStack = 1U << 20U;  // bytes: command lines, drivers and oneDNN's kernels use less than half
constexpr int kOwnThreads = 8;             // of a clip and its profiler, beside OpenMP's

Result<void> check_stack() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kLeastStack)
        return {};
    return fail(ErrorCode::OutOfMemory, "the stack is limited to {} KiB (ulimit -s), {} are needed",
                limit.rlim_cur / 1024, kLeastStack / 1024);
}

/// Starts as many threads as will be needed at a time, which end at once.
Result<void> check_threads() {
    const int wanted = omp_get_max_threads() + kOwnThreads;
    std::latch end(1);
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(wanted));
    try {
        while (static_cast<int>(threads.size()) < wanted) threads.emplace_back([&] { end.wait(); });
    } catch (const std::system_error&) {
    }
    end.count_down();
    for (std::thread& thread : threads) thread.join();
    if (static_cast<int>(threads.size()) == wanted) return {};
    return fail(ErrorCode::OutOfMemory,
                "{} threads can be started, {} are needed: their number (ulimit -u, pids.max) or the memory for their "
                "stacks (ulimit -v) is limited; OMP_NUM_THREADS=1 needs the fewest",
                threads.size(), wanted);
}

}  // namespace

void load_unwinder() {
    void* frame = nullptr;
    ::backtrace(&frame, 1);
}

Result<void> check_process_limits() {
    KG_CHECK(check_stack());
    return check_threads();
}

}  // namespace kinetograph::cli
