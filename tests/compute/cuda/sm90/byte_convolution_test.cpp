// byte-gemm-sm90, whole, and norms that implicit-gemm-sm90 stores as bytes: beside the reference on the CPU.
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/byte_cases.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

namespace kinetograph::conv {
namespace {

class Sm90Bytes : public test::CudaLane {
  protected:
    standin::Options pose() const override { return {.name = "Stand-in H200", .architecture = "sm_90"}; }

    /// Every bit of the sums: they leave as bf16 minus what bf16 holds of them, which is a small integer.
    void expect_exact(const ConvProblem& problem) {
        const ConvProblem bare = sums_of(problem);
        ByteParameters parameters(bare, random_);
        for (float& value : parameters.filter) value = std::trunc(value / 16);
        const auto sums = run_bytes(*cpu_, bare, parameters, "reference-cpu").output;
        const std::int64_t count = bare.frames_out() * bare.pixels_out() * bare.filter.k;
        std::vector<std::byte> residual(static_cast<std::size_t>(count) * 2), wanted(residual.size());
        for (std::int64_t i = 0; i < count; ++i) {
            const double sum = load_element(sums.data(), i, Element::F32);
            store_element(residual.data(), i, Element::BF16, sum);
            store_element(wanted.data(), i, Element::BF16, sum - load_element(residual.data(), i, Element::BF16));
        }
        ConvProblem stored = bare;
        stored.output = stored.normed = Element::BF16;
        stored.residual = true;
        stored.beta = -1;
        const ByteOutputs made = run_bytes(*device_, stored, parameters, "byte-gemm-sm90", residual);
        EXPECT_EQ(made.backend, "byte-gemm-sm90");
        for (std::int64_t i = 0; i < count; ++i)
            ASSERT_EQ(load_element(made.output.data(), i, Element::BF16), load_element(wanted.data(), i, Element::BF16))
                << "at " << i << " of " << stored.to_string();
    }

    /// Norms as bytes beside those of the output that the same method stores.
    void expect_norms(const ConvProblem& p, std::string_view backend) {
        expect_byte_norms(*device_, p, backend, 0.55, random_);
    }

    std::unique_ptr<accel::Device> cpu_ = accel::cpu::create_device();
    std::mt19937 random_{5};
};

/// Blocks of K of 32, 64 and 128 bytes; one tile of filters and several; ragged in every direction.
TEST_F(Sm90Bytes, SumExactlyTheReferencesIntegers) {
    const std::pair<std::int64_t, std::int64_t> sizes[] = {{32, 32},  {96, 96},  {64, 64},
                                                           {48, 112}, {128, 64}, {192, 208}};
    for (const auto& [c_in, k] : sizes) {
        ConvProblem p = byte_layer(c_in, k);
        p.h = k == 96 ? 35 : 5;
        p.d = 3;
        expect_exact(p);
    }
}

/// Padding is the zero point, also where a clip begins and where bands of a picture meet.
TEST_F(Sm90Bytes, SeeTheZeroPointOutsideTheImage) {
    for (const std::int64_t zero : {0, 1, 255}) {
        ConvProblem first = byte_layer(32, 48);
        first.input.zero = static_cast<std::int32_t>(zero);
        first.d = 3;
        first.pad.front = 2;
        expect_exact(first);
        ConvProblem all_padding = first;
        all_padding.d = 1;
        all_padding.pad.front = 3;
        all_padding.pad.back = 1;
        expect_exact(all_padding);
        for (const Padding pad : {Padding{0, 0, 0, 1, 1, 0}, Padding{0, 0, 1, 0, 0, 1}, Padding{}}) {
            ConvProblem band = byte_layer(32, 16);
            band.input.zero = static_cast<std::int32_t>(zero);
            band.pad = pad;
            expect_exact(band);
        }
        ConvProblem pixel = byte_layer(16, 16);
        pixel.input.zero = static_cast<std::int32_t>(zero);
        pixel.h = pixel.w = 1;
        expect_exact(pixel);
    }
}

TEST_F(Sm90Bytes, ScaleAddBiasAndResidualAndRoundOnce) {
    for (const bool bias : {true, false}) {
        ConvProblem p = byte_layer(32, 64);
        p.bias = bias;
        p.residual = true;
        expect_one_rounding(*device_, *cpu_, p, random_);
    }
}

/// In the epilogue where a tile holds all channels, in a pass after it where none does (208), from sums of bytes and of
/// bf16, of an image and of a doubled one.
TEST_F(Sm90Bytes, NormToBytes) {
    for (const Norm norm : {Norm::Beside, Norm::Instead}) {
        for (const std::int64_t k : {32, 96, 208}) {
            ConvProblem p = byte_layer(32, k);
            p.norm = norm;
            expect_norms(p, "byte-gemm-sm90");
            p.input = p.weight = Element::BF16;
            p.channel_scales = false;
            expect_norms(p, "implicit-gemm-sm90");
        }
        for (const std::int64_t k : {96, 192}) {
            ConvProblem doubled;
            doubled.h = 5;
            doubled.w = 9;
            doubled.c_in = 64;
            doubled.filter = {k, 1, 3, 3};
            doubled.pad = {0, 0, 1, 1, 1, 1};
            doubled.upsample = true;
            doubled.norm = norm;
            expect_norms(doubled, "implicit-gemm-sm90");
        }
    }
}

/// The layers of Wan 2.1's recipe, which are too many products for the host model.
TEST_F(Sm90Bytes, ComputeADecodersLayers) {
    if (!on_gpu()) GTEST_SKIP() << "takes minutes in the host model";
    const std::pair<std::int64_t, std::int64_t> sizes[] = {{192, 384}, {384, 384}, {192, 192}, {96, 96}};
    for (const auto& [c_in, k] : sizes) {
        ConvProblem p = byte_layer(c_in, k);
        p.h = 44;
        p.w = 80;
        expect_exact(p);
        for (const Norm norm : {Norm::Beside, Norm::Instead}) {
            p.norm = norm;
            expect_norms(p, "byte-gemm-sm90");
        }
    }
}

/// A norm as bf16, which the kernels of bytes store as well.
TEST_F(Sm90Bytes, NormToBf16) {
    ConvProblem p = byte_layer(32, 64);
    p.norm = Norm::Beside;
    const ByteParameters parameters(p, random_);
    const ByteOutputs made = run_bytes(*device_, p, parameters, "byte-gemm-sm90");
    for (std::int64_t pixel = 0; pixel < p.frames_out() * p.pixels_out(); ++pixel) {
        double squares = 0;
        for (std::int64_t c = 0; c < 64; ++c)
            squares += std::pow(load_element(made.output.data(), pixel * 64 + c, Element::BF16), 2);
        for (std::int64_t c = 0; c < 64; ++c) {
            const double x = load_element(made.output.data(), pixel * 64 + c, Element::BF16) * std::sqrt(64 / squares) *
                             parameters.gamma[static_cast<std::size_t>(c)];
            const double wanted = x / (1 + std::exp(-x));
            ASSERT_NEAR(load_element(made.normed.data(), pixel * 64 + c, Element::BF16), wanted,
                        std::abs(wanted) * 0x1p-7 + 1e-3);
        }
    }
}

}  // namespace
}  // namespace kinetograph::conv
