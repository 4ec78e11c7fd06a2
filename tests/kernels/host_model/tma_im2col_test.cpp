#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

#include "model_run.hpp"
#include "tensor_fixture.hpp"

namespace kinetograph::isa {
namespace {

struct Shared {
    alignas(1024) uint8_t tile[128 * 1024];
    mbarrier::Barrier full;
};

/// One spatial axis of a convolution, described as in a layer rather than in a tensor map.
struct Axis {
    int32_t filter = 1, stride = 1, dilation = 1, pad_front = 0, pad_back = 0;
};

/// An im2col map of a convolution; axes in w, h, d order. lower = -front, upper = back - (filter - 1) * dilation.
struct Layer {
    uint32_t rank;
    std::array<uint64_t, 5> size;
    std::vector<Axis> axes;

    TensorMapDesc map(CodedTensor& tensor, Swizzle swizzle, uint32_t channels, uint32_t pixels) const {
        TensorMapDesc desc = tensor.map(MapMode::Im2col, swizzle);
        for (size_t axis = 0; axis < axes.size(); ++axis) {
            desc.lower_corner[axis] = -axes[axis].pad_front;
            desc.upper_corner[axis] = axes[axis].pad_back - (axes[axis].filter - 1) * axes[axis].dilation;
            desc.element_stride[axis + 1] = static_cast<uint32_t>(axes[axis].stride);
        }
        desc.channels_per_pixel = channels;
        desc.pixels_per_column = pixels;
        return desc;
    }
    int64_t outputs(size_t axis) const {
        const Axis& a = axes[axis];
        return (static_cast<int64_t>(size[axis + 1]) + a.pad_front + a.pad_back - (a.filter - 1) * a.dilation - 1) /
                   a.stride +
               1;
    }
    /// The input position read by tap `tap` of output pixel `pixel` (linear, w fastest, n last).
    std::vector<int64_t> input(int64_t pixel, const std::vector<int64_t>& tap, int64_t channel) const {
        std::vector<int64_t> place{channel};
        for (size_t axis = 0; axis < axes.size(); ++axis) {
            const Axis& a = axes[axis];
            place.push_back(pixel % outputs(axis) * a.stride - a.pad_front + tap[axis] * a.dilation);
            pixel /= outputs(axis);
        }
        place.push_back(pixel);
        return place;
    }
};

template <int kRank>
void load_column(const Launch& launch, const TensorMapDesc& desc, const std::vector<int64_t>& base,
                 const std::vector<int64_t>& offset, const std::function<void(const uint8_t*)>& judge) {
    const TensorMap map = host_model::model_map(desc);
    tma::Coordinates<kRank> c{};
    tma::TapOffsets<kRank> tap{};
    for (int axis = 0; axis < kRank; ++axis) c.at[axis] = static_cast<int32_t>(base[axis]);
    for (int axis = 0; axis < kRank - 2; ++axis) tap.at[axis] = static_cast<uint16_t>(offset[axis]);
    const auto outcome = host_model::run(launch, [&] {
        auto& shared = shared_as<Shared>();
        if (thread_index() == 0) {
            mbarrier::init(shared.full, 1);
            fence_barrier_init();
            mbarrier::arrive_expect(shared.full, box_bytes(desc));
            tma::load_im2col<kRank>(shared.tile, map, c, tap, shared.full);
            mbarrier::wait(shared.full, 0);
            judge(shared.tile);
        }
    });
    ASSERT_EQ(outcome.fault.value_or(""), "");
}

/// Every tap of `pixels` output pixels from `first` on equals the plain formula.
template <int kRank>
void judge_layer(const Layer& layer, Swizzle swizzle, uint32_t channels, uint32_t pixels, int64_t first,
                 int64_t channel) {
    CodedTensor tensor(layer.rank, layer.size);
    const TensorMapDesc desc = layer.map(tensor, swizzle, channels, pixels);
    ASSERT_EQ(broken_limit(desc), std::nullopt);
    ASSERT_EQ(box_bytes(desc), pixels * channels * 2);
    Launch launch{.threads = 32, .shared_bytes = sizeof(Shared)};
    int64_t taps = 1;
    for (const Axis& axis : layer.axes) taps *= axis.filter;
    for (int64_t tap = 0; tap < taps; ++tap, ++launch.seed) {
        std::vector<int64_t> at, offset;
        int64_t rest = tap;
        for (const Axis& axis : layer.axes) {
            at.push_back(rest % axis.filter);
            offset.push_back(at.back() * axis.dilation);
            rest /= axis.filter;
        }
        const std::vector<int64_t> base = layer.input(first, std::vector<int64_t>(at.size(), 0), channel);
        load_column<kRank>(launch, desc, base, offset, [&](const uint8_t* tile) {
            for (uint32_t i = 0; i < pixels * channels; ++i) {
                const auto place = layer.input(first + i / channels, at, channel + i % channels);
                ASSERT_EQ(element_of(tile, swizzle, i), tensor.at(place)) << "tap " << tap << " element " << i;
            }
        });
    }
}

TEST(Im2col, CausalThreeByThreeByThreeReadsAll27TapsAcrossFramesAndImages) {
    const Axis same{.filter = 3, .pad_front = 1, .pad_back = 1}, causal{.filter = 3, .pad_front = 2};
    const Layer layer{5, {64, 6, 5, 4, 2}, {same, same, causal}};
    CodedTensor tensor(5, layer.size);
    const TensorMapDesc desc = layer.map(tensor, Swizzle::Span128, 64, 128);
    EXPECT_EQ(desc.lower_corner, (std::array{-1, -1, -2}));
    EXPECT_EQ(desc.upper_corner, (std::array{-1, -1, -2}));
    judge_layer<5>(layer, Swizzle::Span128, 64, 128, 37, 0);
}

TEST(Im2col, StrideTwoWithSymmetricAndWithTrailingPad) {
    const Axis symmetric{.filter = 3, .stride = 2, .pad_front = 1, .pad_back = 1};
    const Axis trailing{.filter = 3, .stride = 2, .pad_back = 1};
    judge_layer<4>({4, {32, 11, 9, 3, 1}, {symmetric, symmetric}}, Swizzle::Span64, 32, 64, 7, 0);
    judge_layer<4>({4, {32, 10, 8, 3, 1}, {trailing, trailing}}, Swizzle::Span64, 32, 40, 0, 0);
}

TEST(Im2col, DilationIsAnOffset) {
    const Axis dilated{.filter = 3, .dilation = 2, .pad_front = 2, .pad_back = 2};
    judge_layer<4>({4, {16, 9, 7, 2, 1}, {dilated, dilated}}, Swizzle::Span32, 16, 50, 11, 0);
}

TEST(Im2col, OneSpatialAxisAndUnswizzledRows) {
    judge_layer<3>({3, {96, 13, 4, 1, 1}, {Axis{.filter = 5, .pad_front = 4}}}, Swizzle::None, 96, 30, 3, 0);
}

TEST(Im2col, AColumnHoldsUpTo1024Pixels) {
    const Axis same{.filter = 3, .pad_front = 1, .pad_back = 1};
    judge_layer<4>({4, {64, 20, 18, 3, 1}, {same, same}}, Swizzle::Span128, 64, 1024, 0, 0);
}

TEST(Im2col, ImagesPastTheLastOneAndChannelsPastTheLastOneAreZeroAndCount) {
    const Axis same{.filter = 3, .pad_front = 1, .pad_back = 1};
    judge_layer<4>({4, {96, 5, 4, 2, 1}, {same, same}}, Swizzle::Span128, 64, 64, 0, 64);  // channels 64..127 of 96
    judge_layer<4>({4, {32, 5, 4, 2, 1}, {same, same}}, Swizzle::Span64, 32, 64, 30,
                   0);  // 30 pixels further, 10 are left
    judge_layer<4>({4, {32, 5, 4, 2, 1}, {same, same}}, Swizzle::Span64, 32, 16, 40, 32);  // nothing is left at all
    judge_layer<4>({4, {32, 5, 4, 2, 1}, {same, same}}, Swizzle::Span64, 32, 16, 0, -32);
}

TEST(Im2col, ABaseOffTheStrideGridKeepsItsPhaseForTheFirstRowOnly) {
    CodedTensor tensor(4, {16, 8, 6, 1});
    const Layer layer{
        4, tensor.size, {Axis{.filter = 3, .stride = 2, .pad_front = 1, .pad_back = 1}, Axis{.filter = 1}}};
    const TensorMapDesc desc = layer.map(tensor, Swizzle::Span32, 16, 8);
    load_column<4>({.threads = 32, .shared_bytes = sizeof(Shared)}, desc, {0, 0, 0, 0}, {0, 0},
                   [&](const uint8_t* tile) {
                       const int64_t w[8] = {0, 2, 4, 6, -1, 1, 3, 5};  // hi of w is 8 - 1 - 1 = 6
                       for (uint32_t i = 0; i < 8 * 16; ++i) {
                           EXPECT_EQ(element_of(tile, Swizzle::Span32, i), tensor.at({i % 16, w[i / 16], i / 64, 0}));
                       }
                   });
}

TEST(Im2col, OffsetsMayReachFarOutsideTheTensor) {
    CodedTensor tensor(4, {16, 8, 6, 1});
    const TensorMapDesc desc = Layer{4, tensor.size, {Axis{}, Axis{}}}.map(tensor, Swizzle::Span32, 16, 8);
    load_column<4>({.threads = 32, .shared_bytes = sizeof(Shared)}, desc, {0, 0, 0, 0}, {255, 255},
                   [](const uint8_t* tile) {
                       for (uint32_t i = 0; i < 8 * 16; ++i) EXPECT_EQ(element_of(tile, Swizzle::Span32, i), 0);
                   });
}

class Im2colBase : public testing::TestWithParam<std::array<int32_t, 3>> {};
INSTANTIATE_TEST_SUITE_P(Outside, Im2colBase,
                         testing::Values(std::array{-2, 0, 0}, std::array{5, 0, 0}, std::array{0, 5, 0},
                                         std::array{0, 0, -3}, std::array{0, 0, 2}));

TEST_P(Im2colBase, OutsideTheBoundingBoxIsAnIllegalInstruction) {
    const Axis same{.filter = 3, .pad_front = 1, .pad_back = 1}, causal{.filter = 3, .pad_front = 2};
    CodedTensor tensor(5, {16, 6, 6, 4, 1});
    const TensorMapDesc desc = Layer{5, tensor.size, {same, same, causal}}.map(tensor, Swizzle::Span32, 16, 8);
    const TensorMap map = host_model::model_map(desc);
    const auto& [w, h, d] = GetParam();
    expect_fault({.threads = 32, .shared_bytes = sizeof(Shared)}, "illegal instruction on the chip",
                 [&, w = w, h = h, d = d] {
                     auto& shared = shared_as<Shared>();
                     if (thread_index() != 0) return;
                     mbarrier::init(shared.full, 1);
                     fence_barrier_init();
                     mbarrier::arrive_expect(shared.full, box_bytes(desc));
                     tma::load_im2col<5>(shared.tile, map, {{0, w, h, d, 0}}, {{0, 0, 0}}, shared.full);
                 });
}

}  // namespace
}  // namespace kinetograph::isa
