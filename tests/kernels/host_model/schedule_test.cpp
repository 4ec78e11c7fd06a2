#include <algorithm>
#include <atomic>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/cluster.hpp>
#include <kinetograph/kernels/isa/cp_async.hpp>
#include <kinetograph/kernels/isa/shuffle.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <numeric>
#include <vector>

#include "model_run.hpp"

/// The orderly schedule: the same results and the same faults, in less time.
namespace kinetograph::isa {
namespace {

using host_model::Schedule;

constexpr uint32_t kThreads = 64, kBlocks = 24;

struct Shared {
    alignas(16) uint32_t words[kThreads];
};

constexpr Launch kOrderly{
    .grid = {kBlocks, 1, 1}, .threads = kThreads, .shared_bytes = sizeof(Shared), .schedule = Schedule::Orderly};

/// Every block adds up its 64 numbers: by cp.async, a barrier, shuffles, another barrier.
void add_up(const std::vector<uint32_t>& numbers, std::vector<float>& sums) {
    auto& shared = shared_as<Shared>();
    const uint32_t block = block_index().x, thread = thread_index();
    if (thread < kThreads / 4) {
        cp_async::copy<16>(shared_address(shared.words + thread * 4), numbers.data() + block * kThreads + thread * 4,
                           16);
    }
    cp_async::commit();
    cp_async::wait<0>();
    sync_cta();
    auto sum = static_cast<float>(load_shared(shared.words + thread));
    for (uint32_t mask = 1; mask < 32; mask *= 2) sum += shuffle_xor(sum, mask);
    sync_cta();
    if (lane_index() == 0) sums[block * 2 + thread / 32] = sum;
}

struct Numbers {
    std::vector<uint32_t> numbers = std::vector<uint32_t>(kBlocks * kThreads + 4);
    std::vector<float> sums = std::vector<float>(kBlocks * 2);
    Numbers() { std::iota(numbers.begin(), numbers.end(), 0u); }
    host_model::Outcome run(const Launch& launch) {
        return host_model::run(launch, [this] { add_up(numbers, sums); });
    }
    /// The sum of 32 numbers from `first`.
    static float expected(size_t first) { return static_cast<float>(32 * first + 31 * 16); }
};

TEST(OrderlySchedule, GivesTheResultsOfEveryOtherInFewerSteps) {
    Numbers numbers;
    const auto outcome = numbers.run(kOrderly);
    ASSERT_EQ(outcome.fault.value_or(""), "");
    for (size_t i = 0; i < numbers.sums.size(); ++i) EXPECT_EQ(numbers.sums[i], Numbers::expected(32 * i));
    Launch adversarial = kOrderly;
    adversarial.schedule = Schedule::Adversarial;
    EXPECT_LT(outcome.steps, numbers.run(adversarial).steps);
}

TEST(OrderlySchedule, SharesTheGridAmongThreadsOfTheHost) {
    Launch launch = kOrderly;
    launch.host_threads = 3;
    Numbers numbers;
    const auto alone = Numbers().run(kOrderly), together = numbers.run(launch);
    ASSERT_EQ(together.fault.value_or(""), "");
    for (size_t i = 0; i < numbers.sums.size(); ++i) EXPECT_EQ(numbers.sums[i], Numbers::expected(32 * i));
    EXPECT_EQ(together.steps, alone.steps);
    EXPECT_EQ(together.landed, alone.landed);
}

TEST(OrderlySchedule, RunsEveryClusterOnceOnHoweverManyThreads) {
    for (const uint32_t host_threads : {1u, 2u, 5u, 0u}) {
        std::vector<std::atomic<int>> runs(24);
        const Launch launch{.grid = {4, 3, 2},
                            .cluster = {2, 1, 1},
                            .threads = 32,
                            .schedule = Schedule::Orderly,
                            .host_threads = host_threads};
        const auto outcome = host_model::run(launch, [&runs] {
            const Index3 block = block_index();
            EXPECT_EQ(cluster_rank(), block.x % 2);
            if (lane_index() == 0) ++runs[(block.z * 3 + block.y) * 4 + block.x];
        });
        EXPECT_EQ(outcome.fault.value_or(""), "");
        EXPECT_TRUE(std::ranges::all_of(runs, [](const auto& count) { return count == 1; })) << host_threads;
    }
}

TEST(OrderlySchedule, StillFindsAMissingBarrierAndADeadlock) {
    for (const uint32_t host_threads : {1u, 2u}) {
        Launch launch = kOrderly;
        launch.host_threads = host_threads;
        const auto race = host_model::run(launch, [] {
            auto& shared = shared_as<Shared>();
            store_shared(shared.words + thread_index(), 1u);
            (void)load_shared(shared.words + (thread_index() + 1) % kThreads);
        });
        EXPECT_NE(race.fault.value_or("").find("with no barrier since"), std::string::npos) << race.fault.value_or("");
        const auto deadlock = host_model::run(launch, [] {
            if (thread_index() != 5) sync_cta();
        });
        EXPECT_NE(deadlock.fault.value_or("").find("1 of 64 threads have not come"), std::string::npos)
            << deadlock.fault.value_or("");
    }
}

}  // namespace
}  // namespace kinetograph::isa
