#include <gtest/gtest.h>

#include <algorithm>
#include <kinetograph/kernels/cuda/sm90/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm90/volume_passes.hpp>
#include <kinetograph/kernels/cuda/sm90/volume_plan.hpp>
#include <limits>

#include <kinetograph/tests/kernels/cuda/sm80/random_case.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm90 {
namespace {

using sm80::causal3d;

constexpr ConvConfig kProducts[] = {
    tile_config(Element::F16, 48, 2, 1, 1, 32), tile_config(Element::F16, 96, 4, 1, 1, 32),
    tile_config(Element::F16, 128, 3, 1, 1, 64), tile_config(Element::F16, 192, 2, 1, 1, 64),
    tile_config(Element::F16, 128, 2, 1, 1, 64, Epilogues::Overlap)};

template <class Params>
const Params& params_of(const ConvLaunch& launch) {
    return *reinterpret_cast<const Params*>(launch.arguments.storage.data());
}

void multiply(const ConvConfig& config, const ConvParams& params) {
    if (config == kProducts[0]) ConvKernel<kProducts[0]>::run(params);
    if (config == kProducts[1]) ConvKernel<kProducts[1]>::run(params);
    if (config == kProducts[2]) ConvKernel<kProducts[2]>::run(params);
    if (config == kProducts[3]) ConvKernel<kProducts[3]>::run(params);
    if (config == kProducts[4]) ConvKernel<kProducts[4]>::run(params);
}

/// A case computed with that tile, or the chosen one. The workspace is poisoned with NaN and has room for so many bytes
/// of operands and products.
class VolumeModel {
  public:
    explicit VolumeModel(ConvCase conv, const ConvConfig* tile = nullptr, int64_t bytes = kVolumeBytes)
        : conv_([&] {
              conv.winograd = sm80::Winograd::Volume;
              return conv;
          }()),
          numbers_(conv_),
          division_(volume_division(conv_.problem(), bytes)),
          config_(tile != nullptr ? *tile : choose_volume_config(conv_.problem(), chip_of_sms(3)).config),
          workspace_(volume_workspace_bytes(conv_.problem(), division_) / sizeof(Line),
                     Line{{std::numeric_limits<float>::quiet_NaN()}}),
          addresses_(numbers_.addresses()),
          model_(pack_volume(conv_.problem(), numbers_.parameters()),
                 [&](const conv::ParameterAddresses& parameters, const conv::EncodeMap& encode) {
                     conv::ConvTensors tensors = addresses_.tensors();
                     tensors.workspace = reinterpret_cast<std::byte*>(workspace_.data());
                     return volume_launches(config_, division_, conv_.problem(), tensors, parameters, 3, encode);
                 }) {}

    template <ConvFault kInput = ConvFault::None, ConvFault kOutput = ConvFault::None>
    std::string disagreement(uint64_t schedules = kSchedules) {
        return numbers_.judge_runs("winograd-volume", schedules, [&](uint64_t seed) {
            return model_.run_each(seed, [&](const ConvLaunch& launch) {
                if (launch.kernel == 0) VolumeInputKernel<kInput>::run(params_of<VolumeInputParams>(launch));
                if (launch.kernel == 1) multiply(config_, params_of<ConvParams>(launch));
                if (launch.kernel == 2) VolumeOutputKernel<kOutput>::run(params_of<VolumeOutputParams>(launch));
            });
        });
    }
    size_t launches() const { return model_.launches(); }

  private:
    struct alignas(256) Line {
        float at[64];
    };
    ConvCase conv_;
    ConvNumbers numbers_;
    VolumeDivision division_;
    ConvConfig config_;
    std::vector<Line> workspace_;
    TensorAddresses addresses_;
    ModelConv model_;
};

TEST(Volume, EveryTileOfTheProductsAgreesWithFp64) {
    for (const ConvConfig& tile : kProducts) {
        ConvCase conv{causal3d(4, 9, 11, tile.channels == 32 ? 40 : 64, tile.bn - 8, 3, 3)};
        conv.shape.pad.front = 0;  // two frames out of four
        conv.residual = true;
        conv.epilogue.norm = Norm::Beside;
        EXPECT_EQ(VolumeModel(conv, &tile).disagreement(1), "") << tile.bn;
    }
}

TEST(Volume, PositionsFramesAndTapsAreNotSwapped) {
    ConvCase conv{causal3d(4, 9, 10, 32, 96, 3, 3)};
    conv.numbers = Numbers::Coded;
    EXPECT_EQ(VolumeModel(conv).disagreement(), "");
}

TEST(Volume, FramesOfPaddingAreZerosBeforeAndAfter) {
    ConvCase conv{causal3d(2, 6, 7, 32, 32, 3, 3)};
    EXPECT_EQ(VolumeModel(conv).disagreement(1), "");
    conv.shape.pad.back = 2;
    EXPECT_EQ(VolumeModel(conv).disagreement(1), "");
}

TEST(Volume, SamplesDoNotShareAPair) {
    ConvCase conv{causal3d(2, 6, 6, 32, 32, 3, 3)};
    conv.shape.n = 2;
    EXPECT_EQ(VolumeModel(conv).disagreement(1), "");
}

TEST(Volume, EveryPartOfTheEpilogueIsThere) {
    for (const Norm norm : {Norm::None, Norm::Beside, Norm::Instead}) {
        for (const bool relu : {false, true}) {
            ConvCase conv{causal3d(4, 5, 6, 16, 72, 3, 3)};
            conv.residual = true;
            conv.epilogue = {.silu = !relu, .beta = 0.5F, .norm = norm, .relu = relu, .negative_slope = 0.2F};
            EXPECT_EQ(VolumeModel(conv).disagreement(1), "") << static_cast<int>(norm) << relu;
        }
    }
}

/// Cells of one picture in two launches, which use the workspace in turn.
TEST(Volume, APictureIsDividedIfItsOperandsAndProductsDoNotFit) {
    ConvCase conv{causal3d(2, 29, 30, 16, 24, 3, 3)};
    conv.shape.pad.front = 2;
    VolumeModel divided(conv, nullptr, 192 * 128 * 40);
    EXPECT_EQ(divided.launches(), 2u * 3u);
    EXPECT_EQ(divided.disagreement(), "");
    EXPECT_EQ(VolumeModel(conv).launches(), 3u);
    const VolumeDivision large = volume_division(causal3d(4, 176, 320, 512, 512, 3, 3));
    EXPECT_EQ(large.cells, 88 * 160);
    EXPECT_EQ(large.together, 7104);  // two launches of whole tiles of 192
    EXPECT_LE(volume_workspace_bytes(causal3d(4, 176, 320, 512, 512, 3, 3), large),
              static_cast<uint64_t>(kVolumeBytes));
}

/// Filters far from 1 are scaled before they become fp16, whose least normal number is 6e-5.
TEST(Volume, SmallAndLargeFiltersKeepTheirBits) {
    const ConvProblem p = causal3d(2, 4, 4, 8, 8, 3, 3);
    for (const float size : {1e-9F, 1.0F, 3e7F}) {
        std::vector<float> filter(8 * 8 * 27, 0.0F);
        for (size_t i = 0; i < filter.size(); ++i) filter[i] = size * (static_cast<float>(i % 7) - 3);
        const auto packed = pack_volume(p, {.filter = filter, .bias = {}});
        ASSERT_EQ(packed.filter.size(), volume_scale_offset(p) + 4);
        uint16_t first = 0;
        float inverse = 0;
        std::memcpy(&first, packed.filter.data(), 2);
        std::memcpy(&inverse, packed.filter.data() + volume_scale_offset(p), 4);
        EXPECT_NEAR(isa::from_float16(first) * inverse, -3 * size, 2e-3 * size);
    }
}

TEST(Volume, PlantedFaultsAreFound) {
    ConvCase conv{causal3d(4, 6, 6, 16, 72, 3, 3)};
    conv.epilogue.norm = Norm::Instead;
    EXPECT_EQ(VolumeModel(conv).disagreement(), "");
    EXPECT_NE(VolumeModel(conv).disagreement<ConvFault::WrongTransformSign>(), "");
    EXPECT_NE((VolumeModel(conv).disagreement<ConvFault::None, ConvFault::NoStagingBarrier>()), "");
}

class RandomVolume : public testing::TestWithParam<uint32_t> {};

/// Drawn problems with 3x3x3 taps on an even number of frames.
TEST_P(RandomVolume, AgreesWithFp64) {
    const sm80::RandomRange range{.h = {1, 3, 8, 13},
                                  .w = {1, 4, 8, 11},
                                  .c_in = {8, 16, 24, 32, 40, 64, 96},
                                  .k = {8, 16, 48, 96, 104, 200},
                                  .taps = {{3, 3}}};
    uint32_t computed = 0;
    for (uint32_t seed = GetParam() * 1000; computed < 4; ++seed) {
        ConvCase conv = sm80::random_case_in_time(seed, range, 5);
        ConvProblem& p = conv.shape;
        p.input = p.weight = Element::BF16;
        if (conv.numbers != Numbers::Random) continue;  // products of integers are not exact in fp16
        if (p.empty() || p.d_out() < 2 || p.d_out() % 2 != 0) continue;
        ++computed;
        EXPECT_EQ(VolumeModel(conv).disagreement(), "") << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(FourProblems, RandomVolume, testing::Range(0u, test::kAddressSanitized ? 1u : 3u));

}  // namespace
}  // namespace kinetograph::sm90
