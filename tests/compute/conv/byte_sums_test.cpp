// Convolutions of U8 and I8: the same integers as the reference on every instruction set, and what the epilogue makes
// of them.
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/base/processor.hpp>
#include <kinetograph/tests/compute/conv/byte_cases.hpp>

namespace kinetograph::conv {
namespace {

using tensor::DType;

class ByteSums : public testing::Test {
  protected:
    ByteOutputs run(const ConvProblem& p, const ByteParameters& parameters, std::string_view backend) {
        return run_bytes(*device_, p, parameters, backend);
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    std::mt19937 random_{5};
};

TEST_F(ByteSums, AreTheReferencesIntegers) {
    std::vector<ConvProblem> problems;
    for (const std::int64_t k : {5, 16, 33, 48, 96, 128}) problems.push_back(byte_layer(k == 33 ? 4 : 32, k));
    problems.push_back(byte_layer(384, 64));  // more filter than half a second-level cache
    ConvProblem first = byte_layer(32, 32);   // the taps of a clip's first frames read only padding
    first.d = 2;
    first.pad.front = 2;
    problems.push_back(first);
    ConvProblem strided = byte_layer(32, 24);
    strided.stride = {1, 2, 2};
    strided.dilation = {1, 1, 2};
    strided.pad.left = 3;
    problems.push_back(strided);
    for (ConvProblem p : problems) {
        p = sums_of(p);
        const ByteParameters parameters(p, random_);
        const ByteOutputs wanted = run(p, parameters, "reference-cpu"), made = run(p, parameters, "direct-bytes-cpu");
        EXPECT_EQ(made.backend, "direct-bytes-cpu");
        EXPECT_EQ(made.output, wanted.output) << p.to_string();
    }
}

TEST_F(ByteSums, OfTheLargestNumbersDoNotSaturate) {
    ConvProblem p = sums_of(byte_layer(128, 16));
    p.input.zero = 255;
    ByteParameters parameters(p, random_);
    std::ranges::fill(parameters.filter, 127.0F);
    EXPECT_EQ(run(p, parameters, "direct-bytes-cpu").output, run(p, parameters, "reference-cpu").output);
    p.input.zero = 0;
    std::ranges::fill(parameters.filter, -127.0F);
    EXPECT_EQ(run(p, parameters, "direct-bytes-cpu").output, run(p, parameters, "reference-cpu").output);
}

TEST_F(ByteSums, AreScaledBiasedAndAddedToTheResidualWithOneRounding) {
    ConvProblem p = byte_layer(32, 64);
    p.residual = true;
    expect_one_rounding(*device_, *device_, p, random_);
}

TEST_F(ByteSums, NormToBytesWithinTheRoundingOfTheirGrid) {
    for (const Norm norm : {Norm::Beside, Norm::Instead})
        for (const Storage input : {Storage(Element::U8, 0.03F, 40), Storage(Element::BF16)})
            for (const std::int64_t k : {32, 96, 20}) {
                ConvProblem p = byte_layer(32, k);
                p.input = input;
                if (!p.multiplies_integers()) p.weight = input, p.channel_scales = false;
                p.norm = norm;
                expect_byte_norms(*device_, p, "", 0.52, random_);
            }
}

TEST_F(ByteSums, RunOnTheProcessorsBestInstructions) {
    EXPECT_EQ(explain(device_->info(), byte_layer(32, 32)).front().candidate, "direct-bytes-cpu");
}

/// Kernels that read and write no bytes must not take such a layer for one of bf16.
TEST(ByteProblems, AreClosedToMethodsThatDoNotKnowThem) {
    ConvProblem normed = byte_layer(32, 32);
    normed.input = normed.weight = Storage();
    normed.channel_scales = false;
    normed.norm = Norm::Beside;
    normed.normed = {Element::U8, 0.02F, 25};
    for (const KnownDevice& known : known_devices())
        for (const ConvProblem& p : {byte_layer(32, 32), normed})
            for (const DispatchRow& row : explain(chip_of(*describe_known_device(known.architecture)), p))
                EXPECT_EQ(row.open,
                          row.candidate == (p.multiplies_integers() ? "byte-gemm-sm90" : "implicit-gemm-sm90") &&
                              known.architecture == "sm_90")
                    << known.architecture << " " << row.candidate << " " << p.to_string();
}

}  // namespace
}  // namespace kinetograph::conv
