// The pool of threads: every task once, callers at once and one within another, what bodies throw, what limits it.
#include <kinetograph/engine/base/workers.hpp>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace kinetograph {
namespace {

using namespace std::chrono_literals;

/// Whether two tasks of one call run at the same time: each waits up to 10 s for the other.
bool two_at_once() {
    std::atomic<int> begun{0}, met{0};
    for_tasks(2, [&](std::int64_t, int) {
        ++begun;
        for (const auto until = std::chrono::steady_clock::now() + 10s; std::chrono::steady_clock::now() < until;) {
            if (begun < 2) continue;
            ++met;
            return;
        }
    });
    return met == 2;
}

/// Of this process's pools.
int count_pool_threads() {
    int count = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "comm");
        std::string name;
        if (std::getline(file, name) && name == "kg worker") ++count;
    }
    return count;
}

TEST(Workers, RunTasksAtOnceWhetherTheyHaveSleptOrNotAlsoInAChildOfFork) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer supports no fork of a program with threads";
#endif
    if (worker_count() < 2) GTEST_SKIP() << "there is one worker";
    for (int round = 0; round < 20; ++round) {
        ASSERT_TRUE(two_at_once()) << round;
        if (round % 2 == 0) std::this_thread::sleep_for(5ms);
    }
    EXPECT_EQ(count_pool_threads(), worker_count() - 1);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(two_at_once() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Workers, AreNoMoreThanTheEnvironmentSaysIfThatIsANumberNorThanTheProcessMayUse) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto count_with = [](const char* text) {
        ::setenv("OMP_NUM_THREADS", text, 1);
        std::_Exit(worker_count());
    };
    EXPECT_EXIT(count_with("1"), ::testing::ExitedWithCode(1), "");
    const auto count_on_one_processor = [] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(::sched_getcpu(), &one);
        std::_Exit(::sched_setaffinity(0, sizeof one, &one) == 0 ? worker_count() : 0);
    };
    EXPECT_EXIT(count_on_one_processor(), ::testing::ExitedWithCode(1), "");
    if (std::getenv("OMP_NUM_THREADS") != nullptr) return;  // worker_count() is settled
    const ::testing::ExitedWithCode all(worker_count() & 0xff);
    for (const char* none : {"0", "-1", "", "two"}) EXPECT_EXIT(count_with(none), all, "") << none;
}

TEST(Workers, RunEveryTaskOnceWithAWorkersNumberThatNoOtherHasMeanwhile) {
    constexpr std::int64_t kTasks = 10'000;
    std::vector<std::atomic<int>> runs(kTasks), busy(static_cast<std::size_t>(worker_count()));
    std::atomic<int> shared{0};
    for_tasks(kTasks, [&](std::int64_t task, int worker) {
        shared += busy[static_cast<std::size_t>(worker)].fetch_add(1);
        ++runs[static_cast<std::size_t>(task)];
        busy[static_cast<std::size_t>(worker)].fetch_sub(1);
    });
    EXPECT_EQ(shared, 0);
    for (const auto& count : runs) ASSERT_EQ(count, 1);
    for_tasks(0, [](std::int64_t, int) { FAIL() << "there is no task"; });
}

TEST(Workers, ServeSeveralCallersAndCallsWithinABody) {
    std::atomic<std::int64_t> sum{0};
    const auto call = [&] {
        for (int i = 0; i < 200; ++i)
            for_tasks(3, [&](std::int64_t, int) { for_tasks(4, [&](std::int64_t task, int) { sum += task; }); });
    };
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) callers.emplace_back(call);
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(sum, 4 * 200 * 3 * (0 + 1 + 2 + 3));
}

TEST(Workers, ThrowWhatABodyThrewAndGoOnWithTheNextCall) {
    std::atomic<int> ended{0};
    const auto throwing = [&](std::int64_t task, int) {
        if (task == 5) throw std::runtime_error("task 5");
        std::this_thread::sleep_for(100us);  // so that tasks are left when the exception has come
        ++ended;
    };
    EXPECT_THROW(for_tasks(1000, throwing), std::runtime_error);
    EXPECT_LT(ended, 999);
    std::atomic<int> after{0};
    for_tasks(100, [&](std::int64_t, int) { ++after; });
    EXPECT_EQ(after, 100);
}

TEST(Workers, CoverItemsByBlocksOfWhichTheLastMayBeShort) {
    std::vector<std::atomic<int>> items(1003);
    for_blocks(1003, 100, [&](std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count; ++i) ++items[static_cast<std::size_t>(i)];
    });
    for (const auto& count : items) ASSERT_EQ(count, 1);
}

TEST(Workers, AreNoMoreThanACgroupsQuotaAllows) {
    EXPECT_EQ(processors_of_quota("150000 100000"), 1.5);
    EXPECT_EQ(processors_of_quota("50000 100000\n"), 0.5);
    for (const char* none : {"max 100000", "", "150000", "150000 0", "x 1", "150000:100000", "0 100000"})
        EXPECT_EQ(processors_of_quota(none), std::nullopt) << none;
    EXPECT_GE(worker_count(), 1);
}

}  // namespace
}  // namespace kinetograph
