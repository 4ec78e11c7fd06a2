#include <kinetograph/engine/graph/host_lane.hpp>

#include <gtest/gtest.h>
#include <cstring>

#include "host_memory.hpp"

namespace kinetograph::graph {
namespace {

struct Sum {
    History history;
    Buffer result;
};

TEST(Executor, AHistoryCarriesValuesFromOneExecutionToTheNext) {
    HostLane host;
    HostMemory memory;
    auto executor = Executor::create({.lanes = {&host},
                                      .memory = {{MemoryDomain::Host, &memory}},
                                      .compile = {.topology = LaneTopology::cpu_only()}});
    ASSERT_TRUE(executor) << executor.error().message;
    auto history = (*executor)->create_history("fibonacci",
                                               {.value_bytes = sizeof(int), .slots = 3, .domain = MemoryDomain::Host});
    ASSERT_TRUE(history) << history.error().message;

    FrameGraph frame;
    std::vector<int> numbers;
    for (int i = 0; i < 8; ++i) {
        int number = 0;
        frame.clear();
        const History kept = frame.import_history(**history, {.keep = 2, .push = 1});
        const Buffer out =
            frame.import_buffer("out", {.bytes = sizeof number, .domain = MemoryDomain::Host},
                                {.object = reinterpret_cast<std::uintptr_t>(&number), .bytes = sizeof number});
        const Sum& sum = frame.add_pass<Sum>(
            "sum", Lane::Host,
            [&](PassBuilder& pass, Sum& data) {
                pass.read(kept, Access::HostRead);
                data.history = pass.push(kept, Access::HostWrite);
                data.result = pass.write(out, Access::HostWrite);
            },
            [](const Sum& data, HostContext& context) {
                const RingView& ring = context.ring(data.history);
                const auto at = [&](std::int32_t index) {
                    return reinterpret_cast<int*>(ring.storage.object + ring.offset_of(index));
                };
                *at(0) = std::max(1, *at(-1) + *at(-2));
                std::memcpy(context.address(data.result), at(0), sizeof(int));
            });
        frame.export_contents(sum.result);
        const auto execution = (*executor)->execute(frame);
        ASSERT_TRUE(execution) << execution.error().message;
        EXPECT_EQ(execution->reused_plan, i > 0);
        ASSERT_TRUE((*executor)->wait(*execution));
        numbers.push_back(number);
    }
    EXPECT_EQ(numbers, (std::vector<int>{1, 1, 2, 3, 5, 8, 13, 21}));
}

}  // namespace
}  // namespace kinetograph::graph
