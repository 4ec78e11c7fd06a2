#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/memory_pool.hpp>
#include <kinetograph/tools/kinetograph/hand_overs.hpp>
#include <kinetograph/tools/kinetograph/resident_memory.hpp>

namespace kinetograph::cli {
namespace {

constexpr std::uint64_t kBytes = 256;
constexpr graph::BufferDesc kMark{.bytes = kBytes, .domain = graph::MemoryDomain::Shared};
constexpr std::int64_t kWarmUp = 8;  // executions in flight at once, so that pools reach their final size

struct Mark {
    graph::Buffer in, out;
};

graph::Buffer accelerator_pass(graph::FrameGraph& frame, const std::string& name, graph::Buffer in, bool last) {
    return frame
        .add_pass<Mark>(
            name, graph::Lane::Accelerator,
            [&](graph::PassBuilder& pass, Mark& data) {
                if (in) data.in = pass.read(in, graph::Access::KernelRead);
                data.out = pass.create(name + ".mark", kMark, graph::Access::KernelWrite);
                if (last) pass.has_side_effect();
            },
            [](const Mark& data, accel::PassContext& lane) {
                lane.stream().fill(lane.address(data.out), std::byte{1}, kBytes);
            })
        .out;
}

graph::Buffer vulkan_pass(graph::FrameGraph& frame, const std::string& name, graph::Buffer in) {
    return frame
        .add_pass<Mark>(
            name, graph::Lane::Graphics,
            [&](graph::PassBuilder& pass, Mark& data) {
                data.in = pass.read(in, graph::Access::TransferRead);
                data.out = pass.create(name + ".mark", kMark, graph::Access::TransferWrite);
            },
            [](const Mark& data, vulkan::PassContext& context) {
                const vulkan::BufferRange from = context.range(data.in), to = context.range(data.out);
                const VkBufferCopy region{from.offset, to.offset, kBytes};
                context.table().vkCmdCopyBuffer(context.commands(), from.buffer, to.buffer, 1, &region);
            })
        .out;
}

}  // namespace

std::string_view to_string(Route route) {
    return route == Route::AcceleratorOnly ? "accelerator only" : "accelerator > Vulkan > accelerator";
}

Result<std::unique_ptr<HandOvers>> HandOvers::create(interop::Bridge& bridge) {
    std::unique_ptr<HandOvers> made(new HandOvers(bridge));
    KG_CHECK(made->make());
    return made;
}

HandOvers::~HandOvers() = default;

Result<void> HandOvers::make() {
    KG_TRY(accelerator_, accel::AcceleratorLane::create(bridge_.accelerator()));
    KG_TRY(vulkan_, vulkan::VulkanLane::create(bridge_.display()->device(), graph::Lane::Graphics, nullptr,
                                               bridge_.lane_sharing()));
    KG_CHECK(bridge_.connect(*accelerator_, *vulkan_));
    KG_TRY(executor_, graph::Executor::create({.lanes = {accelerator_.get(), vulkan_.get()},
                                               .memory = {{graph::MemoryDomain::Shared, &bridge_.memory()}},
                                               .compile = {.topology = bridge_.lane_topology()}}));
    return {};
}

void HandOvers::declare(Route route) {
    frame_.clear();
    const graph::Buffer made = accelerator_pass(frame_, "make", {}, false);
    const graph::Buffer passed = route == Route::ThereAndBack ? vulkan_pass(frame_, "pass on", made) : made;
    accelerator_pass(frame_, "take", passed, true);
}

Result<graph::Execution> HandOvers::execute() {
    KG_TRY(last_, executor_->execute(frame_));
    ++executions_;
    return last_;
}

Result<HandOverTimes> HandOvers::time(Route route, std::int64_t count) {
    declare(route);
    HandOverTimes times;
    const auto in_a_row = [&](std::int64_t executions) -> Result<void> {
        graph::Execution last;
        for (std::int64_t i = 0; i < executions; ++i) {
            KG_TRY(auto execution, execute());
            last = execution;
        }
        return executor_->wait(last);
    };
    KG_CHECK(in_a_row(kWarmUp));
    for (std::int64_t i = 0; i < count; ++i) {
        const Nanoseconds begin = host_now();
        KG_TRY(auto execution, execute());
        times.submission.add(to_seconds(host_now() - begin));
        KG_CHECK(executor_->wait(execution));
        times.one_by_one.add(to_seconds(host_now() - begin));
    }
    Samples rows;
    for (std::int64_t done = 0; done < count; done += kWarmUp) {
        const Nanoseconds begin = host_now();
        KG_CHECK(in_a_row(kWarmUp));
        rows.add(to_seconds(host_now() - begin) / static_cast<double>(kWarmUp));
    }
    times.batched = rows.median();
    return times;
}

Result<void> HandOvers::run(std::int64_t count) {
    declare(Route::ThereAndBack);
    std::optional<graph::Execution> before;
    for (std::int64_t i = 0; i < count; ++i) {
        KG_TRY(auto execution, execute());
        if (before) KG_CHECK(executor_->wait(*before));
        before = execution;
    }
    return before ? executor_->wait(*before) : Result<void>{};
}

InteropState HandOvers::state() const {
    const auto expected = [&](graph::Lane lane) { return last_.done[lane.index()]; };
    return {.accelerator_bytes = bridge_.accelerator().bytes_allocated(),
            .vulkan_bytes = bridge_.display()->device().memory().bytes_held(),
            .resident_bytes = resident_bytes(),
            .executions = executions_,
            .accelerator = {accelerator_->timeline()->value(), expected(graph::Lane::Accelerator)},
            .vulkan = {vulkan_->completed(), expected(graph::Lane::Graphics)}};
}

}  // namespace kinetograph::cli
