#include <gtest/gtest.h>

#include <kinetograph/kernels/hip/gfx950/four_wave_conv_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_order.hpp>
#include <kinetograph/kernels/hip/gfx950/gates.hpp>
#include <kinetograph/kernels/host_model/kernel_registry.hpp>
#include <kinetograph/kernels/isa/amd/small_floats.hpp>
#include <numeric>
#include <set>
#include <tuple>

#include "conv_case.hpp"

namespace kinetograph::gfx950 {
namespace {

using Problem = ConvProblem;

Problem layer(int64_t h, int64_t w, int64_t c_in, int64_t c_out, int64_t frames = 1) {
    return {.d = frames,
            .h = h,
            .w = w,
            .c_in = c_in,
            .filter = {c_out, 1, 3, 3},
            .stride = {},
            .dilation = {},
            .pad = {.top = 1, .bottom = 1, .left = 1, .right = 1}};
}

/// The fastest of the compiled loops for the products of `tile`, clocks of two k blocks.
double fastest_trip(const ConvTile& tile, uint32_t lds_read_bytes) {
    struct {
        uint32_t bm, bn, bk;
        int64_t workgroups, trip, stated;
    } constexpr kLoops[] = {
#define KG_COST_16(bm, bn, bk, loader, workgroups, trip, alone, stated, stated_alone, around) \
    {bm, bn, bk, workgroups, trip, stated},
#define KG_COST_8(...)
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_costs.inc>
#undef KG_COST_16
#undef KG_COST_8
    };
    double least = 1e9;
    for (const auto& loop : kLoops) {
        if (tile.bn % loop.bn != 0) continue;
        const double share = static_cast<double>(tile.bm * tile.bn * tile.bk) /
                             static_cast<double>(loop.workgroups * loop.bm * loop.bn * loop.bk);
        least = std::min(least, share * static_cast<double>(lds_read_bytes == kLdsReadBytes ? loop.trip : loop.stated));
    }
    return least;
}

/// A ping-pong of two groups of four waves, clocks of two k blocks: in each of eight phases one group multiplies half a
/// k block while the other reads its operands and loads; then all meet. Clocks of LDS latency and barrier are those of
/// tools/gfx950/estimate.py.
double ping_pong_trip(const ConvTile& tile, uint32_t waves_m, uint32_t waves_n, uint32_t lds_read_bytes) {
    constexpr double kLdsLatency = 64, kBarrier = 24, kLdsWriteBytes = 128, kPhases = 4;  // of a k block
    const double row = 2.0 * tile.bk;
    const double reads = row * (waves_n * tile.bm + waves_m * tile.bn), writes = row * (tile.bm + tile.bn);
    const double products = 2.0 * tile.bm * tile.bn * tile.bk / 4096;
    const double lds = reads / lds_read_bytes + writes / kLdsWriteBytes;
    return 2 * kPhases * (std::max(products / kPhases, lds / kPhases + kLdsLatency) + kBarrier);
}

/// Why no plan has a ping-pong of eight waves: for the tiles of Wan 2.1 it is faster at neither rate of LDS, and for
/// 256 columns by 4 % at most where LDS has the rate that AMD states.
TEST(FourWaveConv, WouldNotBeFasterAsAPingPongOfEightWaves) {
    for (const ConvTile tile : {ConvTile{128, 192, 64}, ConvTile{256, 192, 64}, ConvTile{256, 256, 64}})
        for (const uint32_t rate : {kLdsReadBytes, kStatedLdsReadBytes})
            for (const uint32_t waves_m : {1u, 2u, 4u, 8u})
                EXPECT_GT(ping_pong_trip(tile, waves_m, 8 / waves_m, rate),
                          fastest_trip(tile, rate) * (tile.bn == 256 && rate == kStatedLdsReadBytes ? 0.96 : 1))
                    << tile.bm << " x " << tile.bn << ", " << waves_m << " waves along pixels, LDS " << rate;
}

/// A faster LDS takes other tiles: two workgroups whose waves fill each other's gaps.
TEST(FourWaveConv, TakesTheTilesThatAreFastestAtTheRateOfLds) {
    const auto tile = [](int64_t channels, uint32_t rate) {
        const ConvTile chosen =
            choose_kernel_for_packing(of_frames(layer(352, 640, channels, channels), 32), mi355x(rate)).kernel->tile;
        return std::to_string(chosen.bm) + "x" + std::to_string(chosen.bn) + "x" + std::to_string(chosen.bk);
    };
    EXPECT_EQ(tile(192, kLdsReadBytes), "256x192x64");
    EXPECT_EQ(tile(192, kStatedLdsReadBytes), "128x192x64");
    conv::Chip asked = mi355x();
    asked.shared_bytes_per_clock = 0;  // as a device's own: the model's assumption
    EXPECT_EQ(lds_read_bytes(asked), kLdsReadBytes);
}

TEST(FastDivisor, IsExactForEveryDivisorAtTheEdgesOfItsQuotients) {
    for (uint32_t divisor = 1; divisor < 3000; ++divisor) {
        const FastDivisor by = FastDivisor::of(divisor);
        for (const uint32_t multiple : {1u, 2u, 77u, 0x7fffffffu / divisor}) {
            const uint32_t dividend = multiple * divisor;
            ASSERT_EQ(by.quotient(dividend), multiple) << dividend << " / " << divisor;
            ASSERT_EQ(by.quotient(dividend - 1), multiple - 1) << dividend - 1 << " / " << divisor;
        }
        ASSERT_EQ(by.quotient(0x7fffffffu), 0x7fffffffu / divisor);
    }
    EXPECT_EQ(FastDivisor::of(0x7fffffffu).quotient(0x7ffffffeu), 0u);
}

constexpr uint32_t kXcds = 8;

TEST(ConvOrder, TheRemapToXcdsIsABijectionThatKeepsNeighboursTogether) {
    for (const uint32_t count : {1024u, 1031u, 2048u, 5000u}) {
        std::set<uint32_t> tiles;
        for (uint32_t i = 0; i < count; ++i) tiles.insert(remap_to_xcd(i, count, kXcds, 32));
        EXPECT_EQ(tiles.size(), count);
        EXPECT_EQ(*tiles.rbegin(), count - 1);
    }
    for (uint32_t local = 0; local < 32; ++local)
        EXPECT_EQ(remap_to_xcd(local * kXcds + 3, 1024, kXcds, 32), 3 * 32 + local);
    EXPECT_EQ(remap_to_xcd(17, 100, kXcds, 0), 17u);
}

TEST(ConvOrder, EveryTileIsComputedOnceInGroupsOfRows) {
    for (const uint32_t group : {1u, 4u, 8u}) {
        std::set<std::tuple<uint32_t, uint32_t, uint32_t>> tiles;
        for (uint32_t i = 0; i < 2 * 13 * 3; ++i) {
            const TilePlace place = tile_place(i, 13, 3, group);
            EXPECT_LT(place.m, 13u);
            EXPECT_LT(place.n, 3u);
            tiles.insert({place.frame, place.m, place.n});
        }
        EXPECT_EQ(tiles.size(), 2u * 13 * 3);
    }
    EXPECT_EQ(tile_place(8, 13, 3, 8).n, 1u);  // eight rows of the first column, then the second column
}

/// "128x128x64_uniform"
std::string chosen(const Problem& problem) {
    return std::string(choose_kernel(problem, mi355x()).kernel->name.substr(std::string_view("kg_conv_bf16_").size()));
}

TEST(ConvKernels, ManyPixelsTakeTheKernelWhoseLoopKeepsTheMatrixUnitsBusiest) {
    EXPECT_EQ(chosen(layer(480, 832, 256, 256)), "256x256x64_uniform");
    EXPECT_EQ(chosen(layer(480, 832, 384, 384)), "256x192x64_uniform");  // two tiles of 192 discard no products
    EXPECT_EQ(chosen(of_frames(layer(480, 832, 192, 192), 32)), "256x192x64_uniform");
    EXPECT_EQ(chosen(layer(480, 832, 96, 96)), "256x96x32_uniform");
    EXPECT_EQ(chosen(layer(480, 832, 96, 3)), "256x32x32_uniform");
    EXPECT_EQ(chosen(layer(480, 832, 100, 96)), "128x128x32_pieces");
    EXPECT_EQ(chosen(layer(480, 832, 3, 96)), "128x128x32_elements");
}

TEST(ConvKernels, PixelsOfFewChannelsArePaddedTapByTapWhereThatTakesLessTime) {
    EXPECT_EQ(chosen(layer(704, 1280, 24, 24)), "256x32x32_padded");
    EXPECT_EQ(chosen(layer(704, 1280, 24, 3)), "256x32x32_padded");
    EXPECT_EQ(chosen(layer(352, 640, 48, 48)), "256x64x32_padded");
    EXPECT_EQ(chosen(layer(352, 640, 48, 96)), "256x96x32_padded");
    EXPECT_EQ(chosen(layer(352, 640, 64, 48)), "256x64x32_uniform");
    EXPECT_EQ(chosen(layer(352, 640, 80, 512)), "128x192x64_chunks");
}

TEST(ConvKernels, FewPixelsTakeSmallTilesThatReachMoreComputeUnits) {
    EXPECT_EQ(chosen(layer(16, 32, 384, 384)), "64x64x64_uniform");
    EXPECT_EQ(choose_kernel(layer(8, 8, 64, 3), mi355x()).kernel->tile.bm, 64u);
}

/// Parts of K, with the kernels of one packing.
uint32_t parts(Problem problem, int64_t frames, const conv::Chip& chip = mi355x()) {
    set_time(problem, 3, frames);
    return choose_kernel_for_packing(problem, chip).splits;
}

TEST(ConvKernels, KIsSplitWhereAFrameHasFewerWorkgroupsThanThereAreComputeUnits) {
    EXPECT_EQ(parts(layer(30, 52, 384, 384), 1), 3u);
    EXPECT_EQ(parts(layer(60, 104, 384, 384), 1), 2u);
    EXPECT_EQ(parts(layer(88, 160, 384, 384), 1), 1u);
    EXPECT_EQ(parts(layer(240, 416, 192, 192), 1), 1u);
    EXPECT_EQ(parts(layer(60, 104, 384, 384), 4), parts(layer(60, 104, 384, 384), 1));  // nor does the order of sums
    EXPECT_EQ(parts(layer(60, 104, 384, 380), 1), 1u);  // the join reads eight channels at a time
    Problem normed = layer(60, 104, 192, 192);
    normed.norm = Norm::Beside;
    EXPECT_EQ(parts(normed, 1), 1u);
    EXPECT_EQ(choose_kernel_for_packing(layer(60, 104, 384, 384), mi355x(), Splitting::Never).splits, 1u);
}

/// A frame alone has too few workgroups, 42 of them enough for many rounds: what parts would cost them decides.
TEST(ConvKernels, KIsNotSplitWhereManyFramesLoseMoreThanOneGains) {
    Problem problem = layer(60, 104, 192, 192);
    problem.upsample = true;
    EXPECT_EQ(parts(problem, 1), 1u);
    EXPECT_EQ(parts(problem, 42), 1u);
}

TEST(ConvKernels, ALastRoundOfOneWorkgroupAUnitIsFasterThanAFullOne) {
    Problem problem = layer(128, 128, 128, 128);
    const ConvChoice choice = choose_kernel_of_tile(problem, mi355x(), {128, 128, 64}, 1);
    const double one = estimated_seconds(problem, choice, mi355x());  // 128 tiles
    problem.d = 3;                                                    // 384: two a unit on half of them
    EXPECT_GT(estimated_seconds(problem, choice, mi355x()), 1.5 * one);
    problem.d = 4;  // 512
    EXPECT_DOUBLE_EQ(estimated_seconds(problem, choice, mi355x()),
                     estimated_seconds(of_frames(problem, 3), choice, mi355x()));
}

TEST(ConvKernels, APartitionOfTheChipHasItsOwnNumberOfComputeUnitsAndXcds) {
    conv::Chip part = mi355x();
    for (const auto& [units, xcds] : {std::pair{256U, 8U}, {128U, 4U}, {32U, 1U}, {20U, 1U}}) {
        part.compute_units = units;
        const Problem problem = layer(1080, 1920, 64, 64);
        const FourWaveConvPlan plan = *plan_four_wave_conv(problem, {}, part).plan;
        std::vector<const void*> input(1);
        std::vector<void*> output(1);
        ConvAddresses addresses;
        addresses.input = input;
        addresses.output = output;
        const auto launched = launches(plan, addresses);
        EXPECT_EQ(launched.front().params.xcds, xcds) << units;
        EXPECT_GT(launched.front().params.xcd_chunk, 0u) << units;
    }
    EXPECT_EQ(parts(layer(60, 104, 384, 384), 1, part), 1u);  // 20 units are busy with one frame
}

TEST(ConvKernels, EveryOneHasACostOfItsOwn) {
    for (const ConvKernel& kernel : kConvKernels) {
        const int64_t c_in = kernel.path == ConvPath::Elements ? 3 : kernel.path == ConvPath::Padded ? 48 : 128;
        Problem problem = layer(480, 832, c_in, 96);
        set_element(problem, kernel.element);
        ASSERT_NE(choose_kernel(problem, mi355x(), kernel.path).kernel, nullptr) << kernel.name;
        EXPECT_EQ(choose_kernel(problem, mi355x(), kernel.path).kernel->path, kernel.path);
    }
}

TEST(ConvTiles, ANormTakesATileOfAllChannels) {
    Problem problem = layer(16, 32, 64, 192);
    problem.norm = Norm::Beside;
    EXPECT_EQ(choose_kernel(problem, mi355x()).kernel->tile.bn, 192u);
    problem.filter.k = 300;
    EXPECT_EQ(choose_kernel(problem, mi355x()).kernel, nullptr);
    problem.filter.k = 192;
    const ConvPlanResult planned = plan_four_wave_conv(problem, {.tile = ConvTile{128, 128, 64}});
    EXPECT_EQ(planned.error, "a tile of 128x128x64 does not hold the 192 channels that the norm goes over");
}

/// Addresses of `frames` frames whose taps are `pitch` bytes from those of the frame before.
TEST(ConvLaunch, FramesAtOneDistanceAreOneFrameOfAllPixels) {
    Problem problem = layer(7, 7, 64, 64);
    set_time(problem, 2, 16);
    problem.pad.front = 0;  // 15 frames of two taps
    const FourWaveConvPlan plan = *plan_four_wave_conv(problem, {.tile = ConvTile{64, 64, 64}}).plan;
    static char memory[16 * 8192];
    std::vector<const void*> input;
    std::vector<void*> output;
    for (int i = 0; i < 15; ++i) {
        input.insert(input.end(), {memory + i * 8192, memory + (i + 1) * 8192});
        output.push_back(memory + i * 6272);
    }
    ConvAddresses addresses;
    addresses.input = input;
    addresses.output = output;
    const auto workgroups = [&] {
        const auto made = launches(plan, addresses);
        EXPECT_EQ(made.size(), 1u);
        return made.front().workgroups;
    };
    EXPECT_EQ(workgroups(), 12u);  // 15 * 49 pixels
    const auto one = launches(plan, addresses).front().params;
    EXPECT_EQ(one.image_pitch, 8192u);
    EXPECT_EQ(one.input_bytes, 14 * 8192 + 6272u);
    EXPECT_EQ(one.output_bytes, 15 * 6272u);
    input[7] = nullptr;
    EXPECT_EQ(workgroups(), 15u) << "a tap in the padding";
    input[7] = memory;
    EXPECT_EQ(workgroups(), 15u) << "another distance";
    input[7] = memory + 4 * 8192;
    EXPECT_EQ(workgroups(), 12u);
    output[3] = memory;
    EXPECT_EQ(workgroups(), 15u) << "outputs with gaps";
}

TEST(ConvTiles, ThePathIsTheWidestAccessThatCrossesNoPixel) {
    const auto path = [](Element element, int64_t c_in) {
        Problem problem = layer(8, 8, c_in, 64);
        set_element(problem, element);
        return path_of(problem);
    };
    EXPECT_EQ(path(Element::BF16, 96), ConvPath::Uniform);
    EXPECT_EQ(path(Element::BF16, 16), ConvPath::Chunks);
    EXPECT_EQ(path(Element::BF16, 100), ConvPath::Pieces);
    EXPECT_EQ(path(Element::BF16, 3), ConvPath::Elements);
    EXPECT_EQ(path(Element::F8E4M3, 96), ConvPath::Chunks);
    EXPECT_EQ(path(Element::F8E4M3, 100), ConvPath::Pieces);
    EXPECT_EQ(path(Element::F8E4M3, 3), ConvPath::Elements);
}

TEST(ConvTiles, EveryKernelIsRegisteredUnderItsName) {
    for (const ConvKernel& kernel : kConvKernels) {
        const host_model::ModelKernel* const found = host_model::find_model_kernel(kernel.name);
        ASSERT_NE(found, nullptr) << kernel.name;
        EXPECT_EQ(found->parameter_bytes, sizeof(FourWaveConvParams));
        EXPECT_EQ(found->threads, 256u);
    }
}

TEST(ConvTiles, EveryPathHasAKernelOfEveryChosenTile) {
    for (const Element element : {Element::BF16, Element::F16, Element::F8E4M3}) {
        for (const int64_t c_in : {3, 16, 20, 36, 96, 128}) {
            for (const int64_t size : {8, 100, 800}) {
                for (const int64_t c_out : {3, 96, 200, 384}) {
                    Problem problem = layer(size, size, c_in, c_out);
                    set_element(problem, element);
                    EXPECT_EQ(plan_four_wave_conv(problem).error, "") << c_in << " " << size << " " << c_out;
                }
            }
        }
    }
}

/// Every gate fails alone, with its reason.
void expect_declined(const Problem& problem, const std::string& reason) {
    EXPECT_EQ(launch_reasons(problem), reason);
    EXPECT_EQ(plan_four_wave_conv(problem).error, "FourWaveConv " + reason);
}

TEST(ConvGates, GroupsAreDeclined) {
    Problem problem = layer(8, 8, 64, 64);
    problem.groups = 2;
    expect_declined(problem, "wants groups 1, met 2");
}

TEST(ConvGates, AFrameBeyondOneDescriptorIsDeclined) {
    expect_declined(layer(8192, 8192, 64, 8),
                    "wants an input frame of less than the 4 GiB that a buffer descriptor spans, met 8589934592 bytes");
    expect_declined(
        layer(8192, 8192, 8, 64),
        "wants an output frame of less than the 4 GiB that a buffer descriptor spans, met 8589934592 bytes");
}

TEST(ConvGates, AFilterBeyondOneDescriptorIsDeclined) {
    const Problem problem = layer(4, 4, 32768, 8192);
    expect_declined(
        problem, "wants a packed filter of less than the 4 GiB that a buffer descriptor spans, met 4831838208 bytes");
}

TEST(ConvGates, MoreTemporalTapsThanALaunchNamesAreDeclined) {
    Problem problem = layer(8, 8, 64, 64);
    set_time(problem, 65, 1);
    expect_declined(problem, "wants temporal taps of at most the 64 frames that a launch names, met 65");
}

TEST(ConvGates, ANormOverMoreChannelsThanATileIsDeclined) {
    Problem problem = layer(8, 8, 64, 200);
    problem.norm = Norm::Beside;
    expect_declined(
        problem,
        "wants at most as many output channels under a norm as a tile holds of a pixel's, met 200; a tile holds 192");
    problem.filter.k = 130;
    expect_declined(problem, "wants a multiple of 8 output channels under a norm, or at most 128, met 130");
}

TEST(ConvGates, Float32OutputsHaveNeitherNormNorSource) {
    Problem problem = layer(8, 8, 64, 64);
    problem.output = problem.normed = Element::F32;
    problem.norm = Norm::Beside;
    expect_declined(problem, "wants a norm of rounded outputs, met F32");
    problem.norm = Norm::None;
    problem.residual = true;
    expect_declined(problem, "wants a source of 16 bits, which is prefetched into registers, met F32");
}

TEST(ConvGates, SizesBelowOneAreDeclined) {
    Problem problem = layer(8, 8, 64, 64);
    problem.stride.h = 0;
    expect_declined(problem,
                    "wants channels, taps, strides and dilations of at least 1, met 64, 1,3,3, 1,0,1 and 1,1,1");
}

TEST(ConvOverride, ATileWithoutAKernelIsRefusedByName) {
    EXPECT_EQ(plan_four_wave_conv(layer(8, 8, 64, 64), {.tile = ConvTile{256, 512, 64}}).error,
              "FourWaveConv has no kernel of tile 256x512x64 for this type and path");
    EXPECT_EQ(plan_four_wave_conv(layer(8, 8, 96, 64), {.tile = ConvTile{128, 128, 64}}).error,
              "kg_conv_bf16_128x128x64_uniform does not take 96 input channels");
}

TEST(ConvOverride, WideTilesTakeMultiplesOfEightChannels) {
    EXPECT_EQ(plan_four_wave_conv(layer(8, 8, 64, 60), {.tile = ConvTile{256, 192, 64}}).error,
              "a tile of 256x192x64 takes multiples of 8 output channels, not 60");
}

TEST(ConvOverride, PartsOfKStoreSumsOnly) {
    EXPECT_EQ(plan_four_wave_conv(layer(8, 8, 64, 64), {.splits = 2}).error,
              "parts of K store float32 sums, which another pass adds, scales and activates");
}

TEST(ConvFilter, ThreeOrdersOfAxesPackToTheSameRowsPaddedByZeros) {
    Problem problem = layer(8, 8, 5, 3);
    set_time(problem, 2, 1);
    const FourWaveConvPlan plan = *plan_four_wave_conv(problem).plan;
    std::vector<float> kcqrs(3 * 5 * 2 * 9), kqrsc(kcqrs.size()), qrsck(kcqrs.size());
    std::iota(kcqrs.begin(), kcqrs.end(), 1.0f);
    for (size_t k = 0; k < 3; ++k) {
        for (size_t c = 0; c < 5; ++c) {
            for (size_t tap = 0; tap < 18; ++tap) {
                const float value = kcqrs[(k * 5 + c) * 18 + tap];
                kqrsc[(k * 18 + tap) * 5 + c] = value;
                qrsck[(tap * 5 + c) * 3 + k] = value;
            }
        }
    }
    const auto packed = pack_filter(problem, *plan.kernel, kcqrs);
    EXPECT_EQ(packed, pack_filter(problem, *plan.kernel, kqrsc, FilterOrder::Kqrsc));
    EXPECT_EQ(packed, pack_filter(problem, *plan.kernel, qrsck, FilterOrder::Qrsck));
    EXPECT_EQ(plan.params.filter_pitch % 512, 0u);
    const auto element = [&](size_t k, size_t index) {
        const std::byte* at = packed.data() + k * plan.params.filter_pitch + index * 2;
        return isa::amd::from_bf16(static_cast<uint32_t>(at[0]) | static_cast<uint32_t>(at[1]) << 8);
    };
    EXPECT_EQ(element(1, 0), kqrsc[90]);
    EXPECT_EQ(element(1, 44), kqrsc[90 + 44]);
    EXPECT_EQ(element(1, 45), 0.0f);            // 45 of 64 elements of the first temporal tap
    EXPECT_EQ(element(1, 64), kqrsc[90 + 45]);  // the second
    EXPECT_EQ(element(1, 255), 0.0f);
}

TEST(SmallFloats, EveryFiniteValueSurvivesItsRoundTrip) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        if ((bits & 0x7c00) != 0x7c00) {
            ASSERT_EQ(isa::amd::to_f16(isa::amd::from_f16(bits)), bits);
        }
        if ((bits & 0x7f80) != 0x7f80) {
            ASSERT_EQ(isa::amd::to_bf16(isa::amd::from_bf16(bits)), bits);
        }
        if (bits < 256 && (bits & 0x7f) != 0x7f) {
            ASSERT_EQ(isa::amd::to_f8e4m3(isa::amd::from_f8e4m3(bits)), bits);
        }
    }
    EXPECT_EQ(isa::amd::to_f8e4m3(1e9f), 0x7eu);
    EXPECT_EQ(isa::amd::to_f8e4m3(-460.0f), 0xfeu);
    EXPECT_EQ(isa::amd::to_f8e4m3(0x1p-10f), 0u);   // half of the smallest: to even
    EXPECT_EQ(isa::amd::to_f8e4m3(0x1.8p-9f), 2u);  // to even, upwards
    EXPECT_EQ(isa::amd::to_f16(65520.0f), 0x7c00u);
    EXPECT_EQ(isa::amd::to_bf16(1.00390625f), 0x3f80u);
}

}  // namespace
}  // namespace kinetograph::gfx950
