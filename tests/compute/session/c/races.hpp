// What tests share that let threads make calls of kinetograph.h in drawn order.
#pragma once

#include "c_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <random>
#include <thread>
#include <utility>

namespace kinetograph::c::testing {

constexpr std::uint64_t kShort = 2'000'000;

/// Four threads make drawn `calls` for KINETOGRAPH_CHAOS_SECONDS (3), or until a test fails.
inline void race(const std::vector<std::function<void()>>& calls) {
    const char* const given = std::getenv("KINETOGRAPH_CHAOS_SECONDS");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(given != nullptr ? std::atoi(given) : 3);
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 4; ++seed)
        threads.emplace_back([&calls, end, seed] {
            std::mt19937 draw(seed);
            while (std::chrono::steady_clock::now() < end && !::testing::Test::HasFailure())
                calls[draw() % calls.size()]();
        });
    for (std::thread& thread : threads) thread.join();
}

/// What a call of any thread may return beside KG_OK, `others` included: time-outs, the end by a cancel, another
/// thread's turn, and what a parked, rewound, cancelled or destroyed object refuses.
inline void expect_status(kg_result result, const char* call, std::initializer_list<kg_result> others = {}) {
    constexpr kg_result kAllowed[] = {
        KG_OK, KG_TIMEOUT, KG_END, KG_ERROR_CANCELLED, KG_ERROR_BUSY, KG_ERROR_INVALID_ARGUMENT};
    EXPECT_TRUE(std::ranges::count(kAllowed, result) + std::ranges::count(others, result) == 1)
        << call << ": " << result << ": " << kg_last_error();
    if (result < 0) {
        EXPECT_STRNE(kg_last_error(), "") << call;
    }
}

/// A handle that threads use while others put a new one in its place and destroy it.
template <class Handle>
class Slot {
  public:
    Slot() = default;
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() { put(nullptr); }

    Handle* get() const { return current_; }
    void put(Handle* made) { const Owned<Handle> old(current_.exchange(made)); }
    /// Of kg_X_create and the like: makes one by `create`, which gets the place for the handle.
    template <class Create>
    void renew(const char* call, const Create& create, std::initializer_list<kg_result> others = {}) {
        Handle* made = nullptr;
        expect_status(create(&made), call, others);
        if (made != nullptr) put(made);
    }

  private:
    std::atomic<Handle*> current_ = nullptr;
};

}  // namespace kinetograph::c::testing
