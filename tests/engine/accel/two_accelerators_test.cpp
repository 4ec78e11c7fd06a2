// One graph on two accelerators that meet in pinned memory of the host: two CPU devices, and two devices of either
// stand-in.
#include "driver_under_test.hpp"

#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/graph/host_lane.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace kinetograph::accel {
namespace {

using graph::Access;
using graph::Lane;
using graph::MemoryDomain;
constexpr std::uint32_t kNumbers = 512;
constexpr std::uint64_t kNumberBytes = kNumbers * sizeof(float);

struct Operands {
    graph::Buffer in, out;
};

struct Pair {
    std::string name, library;
    Result<std::unique_ptr<Device>> (*open)(std::uint32_t ordinal);
};
std::ostream& operator<<(std::ostream& out, const Pair& pair) { return out << pair.name; }

Result<std::unique_ptr<Device>> open_cpu(std::uint32_t /*ordinal*/) { return cpu::create_device(); }
Result<std::unique_ptr<Device>> open_hip(std::uint32_t ordinal) {
    return hip::create_device({.library = KINETOGRAPH_STANDIN_HIP_LIBRARY, .ordinal = ordinal});
}
Result<std::unique_ptr<Device>> open_cuda(std::uint32_t ordinal) {
    return cuda::create_device({.library = KINETOGRAPH_STANDIN_CUDA_LIBRARY, .ordinal = ordinal});
}

class TwoAccelerators : public testing::TestWithParam<std::tuple<Pair, Batches>> {
  protected:
    struct Side {
        std::unique_ptr<Device> device;
        std::shared_ptr<Kernel> kernel;  ///< null on the CPU
        std::unique_ptr<Stream> loading;
        std::unique_ptr<Memory> numbers;
        std::unique_ptr<AcceleratorMemory> memory;
        std::unique_ptr<AcceleratorLane> lane;
    };
    const Pair& pair = std::get<0>(GetParam());
    standin::Control* const control = pair.library.empty() ? nullptr : control_of(pair.library);
    profile::Recorder recorder;
    std::array<Side, 2> sides;
    std::unique_ptr<PinnedMemory> meeting;
    std::unique_ptr<graph::HostLane> host;
    std::unique_ptr<graph::Executor> executor;

    void SetUp() override {
        if (control != nullptr) control->reset({.devices = 2});
        for (std::uint32_t a = 0; a < 2; ++a) {
            Side& side = sides.at(a);
            side.device = std::move(*pair.open(a));
            if (side.device->info().can_load)
                side.kernel =
                    *(*side.device->load("kernels", standin::placeholder_image()))->kernel("standin_scale_add");
            side.loading = std::move(*side.device->create_stream("loading"));
            side.numbers = std::move(*side.device->allocate("numbers", kNumberBytes));
            side.memory = std::make_unique<AcceleratorMemory>(*side.device);
            side.lane = std::move(
                *AcceleratorLane::create(*side.device, &recorder, std::get<1>(GetParam()), Lane::accelerator(a)));
        }
        meeting = std::make_unique<PinnedMemory>(std::vector{sides[0].device.get(), sides[1].device.get()});
        host = std::make_unique<graph::HostLane>();
        executor = std::move(*graph::Executor::create({.lanes = {sides[0].lane.get(), sides[1].lane.get(), host.get()},
                                                       .memory = {{MemoryDomain::Accelerator, sides[0].memory.get()},
                                                                  {MemoryDomain::accelerator(1), sides[1].memory.get()},
                                                                  {MemoryDomain::Host, meeting.get()}},
                                                       .compile = {.topology = graph::LaneTopology::all(2)}}));
    }
    void TearDown() override {
        executor.reset();
        host.reset();
        for (Side& side : sides) side.lane.reset();
        meeting.reset();
        for (Side& side : sides) side = {};
        if (control == nullptr) return;
        EXPECT_EQ(control->live(), standin::Live{});
        for (const std::string& complaint : control->complaints()) ADD_FAILURE() << complaint;
        control->reset({});
    }

    /// out = scale * in + offset, on the device of the pass's lane.
    void enqueue(PassContext& context, const Side& side, const Operands& data, float scale, float offset) const {
        const auto* in = reinterpret_cast<const float*>(context.address(data.in));
        auto* out = reinterpret_cast<float*>(context.address(data.out));
        if (side.kernel == nullptr) {
            context.stream().enqueue(context.pass_name(), [=]() -> Result<void> {
                std::transform(in, in + kNumbers, out, [=](float value) { return scale * value + offset; });
                return {};
            });
            return;
        }
        const standin::ScaleAddParams params{in, out, kNumbers, scale, offset};
        context.stream().launch({.name = context.pass_name(),
                                 .kernel = *side.kernel,
                                 .grid = {2},
                                 .block = {256},
                                 .arguments = bytes_of(params)});
    }
    graph::Buffer scale(graph::FrameGraph& frame, std::string_view name, std::uint32_t a, graph::Buffer in,
                        MemoryDomain domain, float scale, float offset) {
        return frame
            .add_pass<Operands>(
                name, Lane::accelerator(a),
                [&](graph::PassBuilder& pass, Operands& data) {
                    data.in = pass.read(in, Access::KernelRead);
                    data.out =
                        pass.create(std::string(name) + ".out", {kNumberBytes, 256, domain}, Access::KernelWrite);
                },
                [this, a, scale, offset](const Operands& data, PassContext& context) {
                    enqueue(context, sides.at(a), data, scale, offset);
                })
            .out;
    }
    graph::Buffer import(graph::FrameGraph& frame, std::uint32_t a) const {
        const Memory& numbers = *sides.at(a).numbers;
        return frame.import_buffer("numbers", {kNumberBytes, 256, MemoryDomain::accelerator(a)},
                                   {reinterpret_cast<std::uintptr_t>(numbers.data()), 0, kNumberBytes});
    }
    void write_numbers(float value) {
        const std::vector<float> values(kNumbers, value);
        ASSERT_TRUE(sides[0].loading->upload(sides[0].numbers->data(), std::as_bytes(std::span(values))));
    }
};

TEST_P(TwoAccelerators, PassValuesToEachOtherAndToTheHostInOneGraph) {
    std::vector<float> seen;
    for (int step = 0; step < 5; ++step) {
        write_numbers(static_cast<float>(step));
        graph::FrameGraph frame;
        const auto across = scale(frame, "first", 0, import(frame, 0), MemoryDomain::Host, 2, 1);
        const auto own = scale(frame, "second", 1, across, MemoryDomain::accelerator(1), 3, 0);
        const auto back = scale(frame, "third", 1, own, MemoryDomain::Host, 1, 100);
        const auto home = scale(frame, "fourth", 0, back, MemoryDomain::Host, 1, 1000);
        frame.add_pass<Operands>(
            "look", Lane::Host,
            [&](graph::PassBuilder& pass, Operands& data) {
                data.in = pass.read(home, Access::HostRead);
                pass.has_side_effect();
            },
            [&seen](const Operands& data, graph::HostContext& context) {
                std::array<float, kNumbers> values{};
                std::memcpy(values.data(), context.address(data.in), kNumberBytes);
                EXPECT_EQ(std::ranges::count(values, values.front()), kNumbers);
                seen.push_back(values.front());
            });
        const auto execution = executor->execute(frame);
        ASSERT_TRUE(execution) << message_of(execution);
        const auto waited = executor->wait(*execution);
        ASSERT_TRUE(waited) << message_of(waited);
        EXPECT_EQ(execution->done[Lane::Accelerator.index()], 2U * (step + 1U));
        EXPECT_EQ(execution->done[Lane::accelerator(1).index()], step + 1U);
    }
    EXPECT_EQ(seen, (std::vector<float>{1103, 1109, 1115, 1121, 1127}));
    EXPECT_EQ(executor->plan()->hand_over_cost, 3 * Nanoseconds{50'000}) << "there, back, and to the host";
    EXPECT_EQ(executor->bytes_held()[MemoryDomain::accelerator(1).index()], kNumberBytes);
}

TEST_P(TwoAccelerators, AreToldApartInSpansAndLaneStates) {
    write_numbers(1);
    graph::FrameGraph frame;
    const auto across = scale(frame, "first", 0, import(frame, 0), MemoryDomain::Host, 2, 1);
    frame.export_contents(scale(frame, "second", 1, across, MemoryDomain::accelerator(1), 3, 0));
    for (int step = 0; step < 2; ++step) ASSERT_TRUE(executor->wait(*executor->execute(frame)));
    std::map<std::string, std::string> tracks;
    for (const auto& span : recorder.spans()) tracks[std::string(span.name)] = span.track;
    if (std::get<1>(GetParam()) == Batches::Eager) {
        EXPECT_EQ(tracks, (std::map<std::string, std::string>{{"first", "accelerator"}, {"second", "accelerator1"}}));
    }
    const auto states = executor->lane_states();
    ASSERT_EQ(states.size(), 3U);
    EXPECT_EQ(describe(states[0]), "lane accelerator: submitted 2, reached 2");
    EXPECT_EQ(describe(states[2]), "lane accelerator1: submitted 2, reached 2");
}

std::string name_of_pair(const testing::TestParamInfo<std::tuple<Pair, Batches>>& info) {
    return std::get<0>(info.param).name + (std::get<1>(info.param) == Batches::Eager ? "Eager" : "Replayed");
}
const Pair kCpus{"Cpu", "", &open_cpu};
const Pair kHips{"Hip", KINETOGRAPH_STANDIN_HIP_LIBRARY, &open_hip};
const Pair kCudas{"Cuda", KINETOGRAPH_STANDIN_CUDA_LIBRARY, &open_cuda};
INSTANTIATE_TEST_SUITE_P(Of, TwoAccelerators,
                         testing::Combine(testing::Values(kCpus, kHips, kCudas),
                                          testing::Values(Batches::Eager, Batches::Replayed)),
                         name_of_pair);

TEST_P(TwoAccelerators, ReachEachOthersMemoryOrSayThatTheyDoNot) {
    for (int time = 0; time < 2; ++time) {
        const auto reached = sides[0].device->reach(*sides[1].device);
        EXPECT_TRUE(reached) << message_of(reached);
    }
    const bool sees = sides[0].lane->stream().sees(*sides[1].lane->timeline());
    EXPECT_EQ(sees, pair.name != "Hip") << "whose counters are a device's own";
    if (control == nullptr) return;
    TearDown();
    control->reset({.devices = 2, .reaches_peers = false});
    const auto first = pair.open(0), second = pair.open(1);
    const auto refused = (*first)->reach(**second);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_NE(refused.error().message.find("device 0 does not reach the memory of device 1"), std::string::npos)
        << refused.error().message;
}

TEST(PinnedMemories, NeedOneAddressOnEveryDevice) {
    const auto hip = open_hip(0), cuda = open_cuda(0);
    ASSERT_TRUE(hip && cuda);
    PinnedMemory memory({hip->get(), cuda->get()});
    const auto refused = memory.reserve(kNumberBytes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "\"transient arena\": Stand-in MI355X and Stand-in H200 do not see pinned memory at one address");
}

}  // namespace
}  // namespace kinetograph::accel
