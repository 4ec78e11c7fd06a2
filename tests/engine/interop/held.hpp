// Held: resources of the process that must not grow: descriptors, threads, objects of Vulkan and of a stand-in driver.
#pragma once

#include <kinetograph/tests/engine/vulkan/faults.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <ostream>
#include <thread>

namespace kinetograph::interop::testing {

struct Held {
    std::ptrdiff_t files = 0, threads = 0;
    int vulkan_objects = 0;   ///< of devices of faulty_loader()
    standin::Live driver{};   ///< of a stand-in
    std::uint64_t bytes = 0;  ///< of memory, as the test counts it
    friend bool operator==(const Held&, const Held&) = default;

    static std::ptrdiff_t entries(const char* folder) {
        return std::distance(std::filesystem::directory_iterator(folder), {});
    }
};
inline std::ostream& operator<<(std::ostream& out, const Held& held) {
    const standin::Live& driver = held.driver;
    return out << held.files << " descriptors, " << held.threads << " threads, " << held.vulkan_objects
               << " objects of Vulkan, " << held.bytes << " bytes; of the driver " << driver.streams << " streams, "
               << driver.events << " events, " << driver.pinned_allocations << " pinned and "
               << driver.device_allocations << " device allocations, " << driver.registrations << " registrations, "
               << driver.imports << " imports, " << driver.semaphores << " semaphores, " << driver.contexts
               << " contexts";
}

/// The sources of those numbers.
struct Holders {
    const standin::Control* driver = nullptr;
    std::function<std::uint64_t()> bytes{};

    Held now() const {
        return {.files = Held::entries("/proc/self/fd"),
                .threads = Held::entries("/proc/self/task"),
                .vulkan_objects = vulkan::testing::faults().alive,
                .driver = driver != nullptr ? driver->live() : standin::Live{},
                .bytes = bytes ? bytes() : 0};
    }
    /// Waits for up to ten seconds: the system lists a thread for a moment after it was joined.
    void expect(const Held& wanted) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (now() != wanted && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        EXPECT_EQ(now(), wanted);
    }
};

/// KINETOGRAPH_SOAK_ROUNDS (default 200), divided by `times` for rounds that cost that many times as much; at least 2.
inline int soak_rounds(int times = 1) {
    const char* given = std::getenv("KINETOGRAPH_SOAK_ROUNDS");
    return std::max(2, (given != nullptr ? std::atoi(given) : 200) / times);
}

/// Expects that after `warm_up` rounds, `rounds` more leave nothing behind.
template <class Round>
void expect_nothing_grows(const Holders& holders, int warm_up, int rounds, Round round) {
    for (int i = 0; i < warm_up; ++i) ASSERT_NO_FATAL_FAILURE(round());
    const Held before = holders.now();
    for (int i = 0; i < rounds; ++i) ASSERT_NO_FATAL_FAILURE(round());
    holders.expect(before);
}

}  // namespace kinetograph::interop::testing
