// The table of back ends with one more, whose folder is script/: what generic code does with it.
#include "script/device.hpp"

#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/engine/accel/tensor_map.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <numeric>

namespace kinetograph::accel {
namespace {

constexpr std::uint64_t kInts = 64, kBytes = kInts * sizeof(int);

struct Numbers {
    graph::Buffer in, out;
};

/// A pass that launches the kernel over the buffer.
graph::Buffer add_step(graph::FrameGraph& frame, const std::shared_ptr<Kernel>& kernel, graph::Buffer input) {
    const Numbers& numbers = frame.add_pass<Numbers>(
        kernel->info().name, graph::Lane::Accelerator,
        [&](graph::PassBuilder& pass, Numbers& data) {
            data.in = pass.read(input, graph::Access::KernelRead);
            data.out = pass.create(kernel->info().name + ".out", {kBytes, 64, graph::MemoryDomain::Accelerator},
                                   graph::Access::KernelWrite);
        },
        [kernel](const Numbers& data, PassContext& lane) {
            const script::Params params{reinterpret_cast<const int*>(lane.address(data.in)),
                                        reinterpret_cast<int*>(lane.address(data.out)), kInts};
            lane.stream().launch({.name = kernel->info().name,
                                  .kernel = *kernel,
                                  .grid = {1, 1, 1},
                                  .block = {kInts, 1, 1},
                                  .arguments = bytes_of(params)});
        });
    return numbers.out;
}

Result<std::span<const std::byte>> steps() {
    static constexpr std::string_view kText = "twice * 2\nnext + 1\n";
    return std::as_bytes(std::span(kText));
}

TEST(Backends, AreListedInTheOrderOfTheirFolders) {
    std::vector<std::string_view> names;
    for (const Backend& backend : backends()) names.push_back(backend.name);
    std::vector<std::string_view> wanted{"cpu", "cuda", "hip", "script"};
    if (find_backend("vulkan") != nullptr) wanted.insert(wanted.end() - 1, "vulkan");
    EXPECT_EQ(names, wanted);
    EXPECT_EQ(inspect_accelerators().back().name(), "script:0");
    const auto unknown = open("abacus");
    ASSERT_FALSE(unknown);
    wanted.pop_back();
    EXPECT_EQ(unknown.error().message, fmt::format("lane abacus: there are {} and script", fmt::join(wanted, ", ")));
}

TEST(Backends, OfANewFolderComputeAGraphByAddresses) {
    const auto device = open("script:0").value();
    EXPECT_FALSE(device->info().is_host());
    const auto twice = device->kernels().get("steps", "twice", steps).value();
    const auto next = device->kernels().get("steps", "next", steps).value();
    const auto lane = AcceleratorLane::create(*device).value();
    AcceleratorMemory memory{*device};
    const auto executor = graph::Executor::create({.lanes = {lane.get()},
                                                   .memory = {{graph::MemoryDomain::Accelerator, &memory}},
                                                   .compile = {.topology = graph::LaneTopology::without_vulkan()}})
                              .value();
    std::vector<int> input(kInts), output(kInts);
    std::iota(input.begin(), input.end(), 0);
    graph::FrameGraph frame;
    const graph::BufferDesc ints{kBytes, 64, graph::MemoryDomain::Accelerator};
    const auto at = [](std::vector<int>& of) {
        return graph::Physical{reinterpret_cast<std::uintptr_t>(of.data()), 0, kBytes};
    };
    const graph::Buffer result =
        add_step(frame, next, add_step(frame, twice, frame.import_buffer("input", ints, at(input))));
    const graph::Buffer place = frame.import_buffer("result", ints, at(output));
    const Numbers& kept = frame.add_pass<Numbers>(
        "keep", graph::Lane::Accelerator,
        [&](graph::PassBuilder& pass, Numbers& data) {
            data.in = pass.read(result, graph::Access::KernelRead);
            data.out = pass.write(place, graph::Access::KernelWrite);
        },
        [](const Numbers& data, PassContext& context) {
            context.stream().copy(context.address(data.out), context.address(data.in), kBytes);
        });
    frame.export_contents(kept.out);
    const auto execution = executor->execute(frame);
    ASSERT_TRUE(execution) << execution.error().message;
    ASSERT_TRUE(executor->wait(*execution));
    for (std::uint64_t i = 0; i < kInts; ++i) EXPECT_EQ(output[i], 2 * static_cast<int>(i) + 1);
}

TEST(Backends, AdoptTheCallersDeviceIfTheyCan) {
    script::Machine machine{.name = "the caller's"};
    const auto device = adopt("script", &machine);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ((*device)->info().name, "the caller's");
    ASSERT_TRUE((*device)->kernels().get("steps", "twice", steps));
    EXPECT_EQ(machine.loads, 1);
    const auto refused = adopt("cpu", &machine);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "lane cpu: its devices are opened by name; none can be the caller's");
}

TEST(Backends, KeepEachImageLoadedForTheDevice) {
    script::Machine machine;
    const auto device = adopt("script", &machine).value();
    const auto first = device->kernels().get("steps", "twice", steps).value();
    EXPECT_EQ(device->kernels().get("steps", "twice", steps).value(), first);
    EXPECT_TRUE(device->kernels().get("steps", "next", steps));
    EXPECT_EQ(machine.loads, 1) << "one image";
    const auto missing = device->kernels().get("steps", "thrice", steps);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
    const auto broken = device->kernels().get("broken", "twice times", []() -> Result<std::span<const std::byte>> {
        return std::as_bytes(std::span(std::string_view("twice times")));
    });
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().message, "loading \"broken\": \"twice\" computes nothing");
    EXPECT_EQ(adopt("script", &machine).value()->kernels().get("steps", "twice", steps).value()->info().name, "twice");
    EXPECT_EQ(machine.loads, 3) << "another device loads its own";
}

TEST(Backends, SayWhatTheirDevicesLack) {
    const auto device = open("script").value();
    const auto map = encode_tensor_map(*device, "activation", {});
    ASSERT_FALSE(map);
    EXPECT_EQ(map.error().message, "tensor map of \"activation\": a machine of the tests (text) has no tensor maps");
    const auto adopted = device->adopt_stream("theirs", nullptr);
    ASSERT_FALSE(adopted);
    EXPECT_EQ(adopted.error().message,
              "adopting stream \"theirs\": a machine of the tests has no streams of a caller's");
    EXPECT_FALSE(device->is_capturing(nullptr).value());
    EXPECT_TRUE(device->check_address(nullptr));
}

TEST(Backends, ReadSensorsOfTheirOwn) {
    const auto sensors = open_sensors(open("script").value()->info());
    ASSERT_TRUE(sensors) << sensors.error().message;
    EXPECT_EQ((*sensors)->read().front().value, 21.0);
}

TEST(Backends, AreToldWhenAStreamIsGivenUp) {
    const test::KeptOnPurpose kept;
    script::Machine machine;
    const auto device = adopt("script", &machine).value();
    auto lane = AcceleratorLane::create(*device).value();
    auto executor =
        graph::Executor::create(
            {.lanes = {lane.get()}, .memory = {}, .compile = {.topology = graph::LaneTopology::without_vulkan()}})
            .value();
    graph::FrameGraph frame;
    const auto never = device->create_timeline().value();
    std::vector<int> place(kInts);
    const graph::Buffer buffer =
        frame.import_buffer("place", {kBytes, 64, graph::MemoryDomain::Accelerator},
                            {reinterpret_cast<std::uintptr_t>(place.data()), 0, kBytes}, {never, 1});
    const Numbers& numbers = frame.add_pass<Numbers>(
        "fill", graph::Lane::Accelerator,
        [&](graph::PassBuilder& pass, Numbers& data) { data.out = pass.write(buffer, graph::Access::KernelWrite); },
        [](const Numbers& data, PassContext& context) {
            context.stream().fill(context.address(data.out), std::byte{1}, kBytes);
        });
    frame.export_contents(numbers.out);
    ASSERT_TRUE(executor->execute(frame));
    executor.reset();
    lane.reset();
    EXPECT_EQ(machine.given_up.size(), 1U);
}

}  // namespace
}  // namespace kinetograph::accel
