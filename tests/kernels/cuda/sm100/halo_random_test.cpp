#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm100/gates.hpp>
#include <kinetograph/tests/kernels/cuda/sm80/random_case.hpp>

#include "halo_conv.hpp"

namespace kinetograph::sm100 {
namespace {

/// Whether a B200 whose build has the kernels would take it.
bool open(const ConvProblem& problem) {
    conv::Chip chip;
    chip.kind = "cuda";
    chip.architecture = "sm_100";
    for (const conv::Gate& gate : implicit_gemm_gates())
        if (gate.requirement != "kernels for sm_100f in this build" && !gate.holds({problem, chip})) return false;
    return choose_halo_config(problem) != nullptr;
}

class RandomHaloConv : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomHaloConv, AgreesWithFp64) {
    const sm80::RandomRange range{.h = {1, 3, 8, 17, 33},
                                  .w = {1, 4, 9, 19},
                                  .c_in = {8, 16, 24, 32, 64, 96},
                                  .k = {3, 8, 16, 48, 96, 104, 136, 200},
                                  .taps = {{1, 1}, {3, 3}, {3, 3}}};
    uint32_t computed = 0;
    for (uint32_t seed = GetParam() * 1000; computed < 5; ++seed) {
        ConvCase conv = sm80::random_case(seed, range);
        conv.shape.dtype = seed % 4 == 0 ? Element::F16 : Element::BF16;
        if (conv.shape.empty() || !open(conv.problem())) continue;
        ++computed;
        EXPECT_EQ(halo_disagreement(conv), "") << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(FiveProblems, RandomHaloConv, testing::Range(0u, 5u));

/// Norms over the filters of two pairs.
class RandomWideNorm : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomWideNorm, AgreesWithFp64) {
    const sm80::RandomRange range{
        .h = {1, 3, 17}, .w = {4, 9, 19}, .c_in = {16, 40, 64, 128}, .k = {200, 264, 384}, .taps = {{1, 1}, {3, 3}}};
    uint32_t computed = 0;
    for (uint32_t seed = GetParam() * 1000; computed < 5; ++seed) {
        ConvCase conv = sm80::random_case(seed, range);
        conv.shape.dtype = Element::BF16;
        conv.shape.upsample = false;
        conv.epilogue.norm = seed % 2 == 0 ? Norm::Beside : Norm::Instead;
        if (conv.shape.empty() || !open(conv.problem())) continue;
        ++computed;
        EXPECT_EQ(halo_disagreement(conv), "") << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(FiveProblems, RandomWideNorm, testing::Range(0u, 4u));

}  // namespace
}  // namespace kinetograph::sm100
