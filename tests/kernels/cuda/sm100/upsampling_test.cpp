#include <kinetograph/kernels/cuda/host/pass_launch.hpp>
#include <kinetograph/kernels/cuda/sm80/frame_passes.hpp>
#include <random>

#include "model_conv.hpp"

/// A convolution of a doubled image, as the methods compute it besides the halo kernel: a pass doubles the image, which
/// the im2col kernel reads.
namespace kinetograph::sm100 {
namespace {

/// What the pass may do wrong.
enum class Mistake : uint8_t {
    None,
    HalfPixels,     ///< doubles halves of pixels
    LastRowMissing  ///< leaves out the last row
};

std::string run_pass(const ConvNumbers& numbers, Guarded& doubled, uint64_t seed, Mistake mistake) {
    using Unit = isa::Words<4>;
    const ConvProblem& shape = numbers.conv().shape;
    const auto pixel_bytes = static_cast<uint32_t>(shape.c_in) * element_bytes(shape.dtype);
    const auto height = static_cast<uint32_t>(shape.h / 2), width = static_cast<uint32_t>(shape.w / 2);
    const auto images = static_cast<uint32_t>(shape.n);
    EXPECT_EQ(cuda::upsample_unit(pixel_bytes), sizeof(Unit));

    std::vector<Unit> stored(size_t{images} * height * width * pixel_bytes / sizeof(Unit));
    auto* bytes = reinterpret_cast<uint8_t*>(stored.data());
    for (uint32_t pixel = 0; pixel < images * height * width; ++pixel) {
        const uint32_t x = pixel % width, y = pixel / width % height, n = pixel / (width * height);
        const size_t seen = (size_t{n} * 2 * height + 2 * y) * 2 * width + 2 * x;
        std::memcpy(bytes + pixel * pixel_bytes, numbers.activation.data() + seen * pixel_bytes, pixel_bytes);
    }
    const uint32_t units = pixel_bytes / sizeof(Unit);
    cuda::UpsampleParams params{.frames = {}, .row_units = width * units, .pixel_units = units};
    if (mistake == Mistake::HalfPixels) params.pixel_units /= 2;
    for (uint32_t n = 0; n < images; ++n) {
        params.frames.input[n] = bytes + n * stored.size() * sizeof(Unit) / images;
        params.frames.output[n] = doubled.data() + n * doubled.size() / images;
    }
    const cuda::PassLaunch launch =
        cuda::upsample_launch(params.row_units, height - (mistake == Mistake::LastRowMissing ? 1 : 0), images);
    return host_model::run({.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
                            .threads = launch.threads,
                            .shared_bytes = launch.shared_bytes,
                            .seed = seed},
                           [&params] { sm80::UpsampleKernel<Unit>::run(params); })
        .fault.value_or("");
}

/// What a run says, or what is wrong with its results; "" if nothing is.
template <Conv2dConfig kConfig>
std::string outcome(ConvCase conv, uint64_t seed, Mistake mistake = Mistake::None) {
    conv.shape.dtype = kConfig.element;
    conv.doubled = true;
    conv.source = kConfig.source != Source::None;
    ConvNumbers numbers(conv);
    Guarded doubled(numbers.activation.size()), output(numbers.output_bytes());
    if (const std::string fault = run_pass(numbers, doubled, seed, mistake); !fault.empty()) return fault;
    EXPECT_TRUE(doubled.intact());
    Conv2dLaunch launch = launch_of<kConfig>(numbers, output);
    launch.activation[0].address = doubled.data();
    const std::string fault = run_once<kConfig>(
        launch,
        Conv2dEpilogueArguments<NoEpilogue>{
            .bias = numbers.bias.data(), .scales = numbers.scales.data(), .alpha = conv.alpha, .beta = conv.beta},
        seed);
    return fault.empty() ? numbers.judge(output) : fault;
}

/// Images of up to 2 x 10 x 18 pixels, with scales, alpha and, in every second problem, a residual.
ConvCase drawn(uint32_t seed) {
    std::mt19937 dice(seed);
    const auto draw = [&](int64_t least, int64_t most) {
        return std::uniform_int_distribution<int64_t>(least, most)(dice);
    };
    const int64_t side = draw(1, 3);
    ConvCase conv{same2d(draw(1, 2), 2 * draw(1, 5), 2 * draw(1, 9), 32 * draw(1, 4), 8 * draw(1, 19), side, side)};
    conv.numbers = draw(1, 3) == 1 ? Numbers::Coded : Numbers::Random;
    conv.scales = true;
    conv.alpha = 0.125f;
    conv.beta = 0.5f;
    return conv;
}

constexpr Conv2dConfig kOne = one_sm_64b({.filters = 64, .element = Element::F8E4M3});
constexpr Conv2dConfig kPair = two_sm_128b({.filters = 128, .element = Element::F8E4M3, .source = Source::Residual});

class DrawnUpsampling : public testing::TestWithParam<uint32_t> {};
TEST_P(DrawnUpsampling, OfFp8AgreesWithFp64) {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        EXPECT_EQ(
            GetParam() % 2 == 0 ? outcome<kOne>(drawn(GetParam()), seed) : outcome<kPair>(drawn(GetParam()), seed), "");
    }
}
INSTANTIATE_TEST_SUITE_P(TwentyProblems, DrawnUpsampling, testing::Range(0u, 20u));

void expect_caught(Mistake mistake) {
    const ConvCase conv{.shape = same2d(1, 8, 10, 64, 40, 3, 3), .scales = true};
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        EXPECT_EQ(outcome<kOne>(conv, seed), "");
        EXPECT_NE(outcome<kOne>(conv, seed, mistake), "") << seed;
    }
}
TEST(UpsamplingFaults, HalvesOfPixelsThatAreDoubledAreCaught) { expect_caught(Mistake::HalfPixels); }
TEST(UpsamplingFaults, ARowThatIsLeftOutIsCaught) { expect_caught(Mistake::LastRowMissing); }

}  // namespace
}  // namespace kinetograph::sm100
