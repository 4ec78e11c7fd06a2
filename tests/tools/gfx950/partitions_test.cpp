// What a device says of its compute units decides on grids. Needs no compiler for gfx950.
#include <gtest/gtest.h>

#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/engine/accel/hip/device.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <dlfcn.h>

namespace kinetograph::gfx950 {
namespace {

/// Of a stand-in that poses as a device of so many compute units, as plans are asked for it.
conv::Chip chip_of_device(std::uint32_t compute_units) {
    void* handle = ::dlopen(KINETOGRAPH_STANDIN_HIP_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    auto* symbol = ::dlsym(handle, standin::kControlSymbol);
    reinterpret_cast<standin::ControlFunction>(symbol)()->reset({.compute_units = compute_units});
    const auto device = accel::hip::create_device({.library = KINETOGRAPH_STANDIN_HIP_LIBRARY});
    EXPECT_TRUE(device) << device.error().message;
    return device ? conv::chip_of((*device)->info()) : conv::Chip{};
}

conv::ConvProblem layer(std::int64_t h, std::int64_t w, std::int64_t channels) {
    conv::ConvProblem problem;
    problem.d = 3;
    problem.h = h;
    problem.w = w;
    problem.c_in = channels;
    problem.filter = {channels, 3, 3, 3};
    problem.pad = {0, 0, 1, 1, 1, 1};
    return problem;
}

conv::ConvLaunch launch_of(const conv::ConvProblem& problem, const conv::Chip& chip) {
    static std::byte memory[64];
    const std::vector<const std::byte*> input(static_cast<std::size_t>(problem.frames_in()), memory);
    const std::vector<std::byte*> output(static_cast<std::size_t>(problem.frames_out()), memory);
    const auto steps = plan_four_wave(problem, chip).steps({input, output, {}, memory, {}}, {}, {});
    return std::get<conv::ConvLaunch>(steps.front());
}

/// The grid of the kernel that multiplies: workgroups of queries, parts of the keys.
std::array<std::uint32_t, 3> attention_grid(const conv::Chip& chip) {
    static std::byte memory[64];
    const conv::OpPlan plan =
        std::get<conv::OpMethodOf<conv::AttentionProblem>>(operators().front()).plan({14080, 384}, chip);
    const std::vector<const std::byte*> qkv{memory};
    const std::vector<std::byte*> output{memory};
    return std::get<conv::ConvLaunch>(plan.steps({qkv, output, memory}, {}).at(1)).grid;
}

struct Partition {
    std::uint32_t compute_units, xcds;
    std::uint32_t parts;       ///< of K, of 384 channels at 88 x 160
    std::uint32_t chunk;       ///< of neighbouring tiles for an XCD, of 192 channels at 352 x 640
    std::uint32_t key_splits;  ///< of attention over 88 x 160 tokens
};

TEST(HipPartitions, DecideOnGridsByTheirComputeUnitsAndXcds) {
    for (const Partition& wanted : {Partition{256, 8, 1, 32, 2}, {128, 4, 1, 32, 1}, {32, 1, 1, 32, 2}}) {
        SCOPED_TRACE(wanted.compute_units);
        const conv::Chip chip = chip_of_device(wanted.compute_units);
        EXPECT_EQ(chip.compute_units, wanted.compute_units);
        const auto split = launch_of(layer(88, 160, 384), chip);
        const auto params = split.arguments.as<FourWaveConvParams>();
        EXPECT_EQ(params.splits, wanted.parts);
        EXPECT_EQ(split.grid[0], params.tiles_m * params.tiles_n * wanted.parts);
        const auto large = launch_of(layer(352, 640, 192), chip).arguments.as<FourWaveConvParams>();
        EXPECT_EQ(large.xcds, wanted.xcds);
        EXPECT_EQ(large.xcd_chunk, wanted.chunk);
        EXPECT_EQ(attention_grid(chip), (std::array<std::uint32_t, 3>{110, wanted.key_splits, 1}));
    }
}

}  // namespace
}  // namespace kinetograph::gfx950
