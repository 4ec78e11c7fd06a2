// The stored convolutions (tests/golden/README.md) through every back end of the CPU.
#include <kinetograph/tests/compute/conv/conv_golden_cases.hpp>

namespace kinetograph::conv {
namespace {

using tensor::DType;

class ConvGolden : public CpuBackendTest {};

TEST_P(ConvGolden, EveryStoredCaseIsReproduced) {
    // Some back ends decline the two cases of three input channels in bf16.
    EXPECT_GE(expect_golden_cases(*device_, GetParam()), 27);
}

class ConvInTimeGolden : public ConvGolden {};
class ConvInPlanesGolden : public ConvGolden {};

TEST_P(ConvInTimeGolden, EveryStoredCaseOfPairsOfFramesIsReproduced) {
    EXPECT_EQ(expect_golden_cases(*device_, GetParam()), 6);
}

TEST_P(ConvInPlanesGolden, EveryStoredCaseOfWholeVectorsIsReproduced) {
    EXPECT_EQ(expect_golden_cases(*device_, GetParam()), 7);
}

INSTANTIATE_TEST_SUITE_P(AllBackends, ConvInPlanesGolden,
                         testing::Values(Combination{"winograd-planes-cpu", DType::F32, DType::F32},
                                         Combination{"winograd-planes-cpu", DType::BF16, DType::BF16}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(AllBackends, ConvInTimeGolden,
                         testing::Values(Combination{"winograd-time-cpu", DType::F32, DType::F32},
                                         Combination{"winograd-time-cpu", DType::BF16, DType::BF16}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(AllBackends, ConvGolden,
                         testing::Values(Combination{"reference-cpu", DType::F32, DType::F32},
                                         Combination{"reference-cpu", DType::BF16, DType::BF16},
                                         Combination{"direct-cpu", DType::F32, DType::F32},
                                         Combination{"direct-cpu", DType::BF16, DType::BF16},
                                         Combination{"direct-cpu", DType::BF16, DType::F32},
                                         Combination{"onednn-cpu", DType::F32, DType::F32},
                                         Combination{"onednn-cpu", DType::BF16, DType::BF16},
                                         Combination{"onednn-cpu", DType::BF16, DType::F32},
                                         Combination{"onednn-f32-cpu", DType::BF16, DType::BF16}),
                         name_of);

}  // namespace
}  // namespace kinetograph::conv
