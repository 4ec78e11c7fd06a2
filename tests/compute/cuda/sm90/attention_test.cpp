// The Hopper attention, whole: chosen for the device, its tensor maps made by the driver, launched by name.
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>
#include <kinetograph/tests/compute/nn/operators_agreement.hpp>

namespace kinetograph::nn {
namespace {

class Sm90Attention : public test::CudaLane {
  protected:
    standin::Options pose() const override { return {.name = "Stand-in H200", .architecture = "sm_90"}; }
};

TEST_F(Sm90Attention, AgreesWithTheCpus) { expect_attention(*device_); }

TEST_F(Sm90Attention, OfANarrowHeadFallsToSm80sWithTheReason) {
    const auto operators = Operators::create(*device_).value();
    EXPECT_EQ(
        operators->attention({16, 384, tensor::DType::F16}).value()->explanation(),
        "wgmma-sm90: products-sm90 wants bf16, met F16; wants a head of more than 384 channels, a multiple of 64, "
        "met 384");
    EXPECT_EQ(operators->attention({16, 64, tensor::DType::BF16}).value()->explanation(),
              "mma-sm80: wgmma-sm90 wants a head of 72 to 384 channels, a multiple of 8, met 64; products-sm90 wants a "
              "head of more than 384 channels, a multiple of 64, met 64");
}

TEST_F(Sm90Attention, OfAWideHeadIsTwoProductsUnlessItsTokensAreNoMultipleOf8) {
    const auto operators = Operators::create(*device_).value();
    EXPECT_EQ(operators->attention({1560, 1024, tensor::DType::BF16}).value()->explanation(),
              "products-sm90: wgmma-sm90 wants a head of 72 to 384 channels, a multiple of 8, met 1024");
    EXPECT_EQ(
        operators->attention({1561, 1024, tensor::DType::BF16}).value()->explanation(),
        "mma-sm80: wgmma-sm90 wants a head of 72 to 384 channels, a multiple of 8, met 1024; products-sm90 wants a "
        "number of tokens that is a multiple of 8, met 1561");
}

TEST_F(Sm90Attention, ThatAddsWantsPlacesForTheNorms) {
    const auto operators = Operators::create(*device_).value();
    const auto stream = device_->create_stream("test").value();
    const auto attention = operators->attention({16, 384, tensor::DType::BF16, true}).value();
    EXPECT_TRUE(attention->problem().adds);
    EXPECT_FALSE(operators->attention({16, 1024, tensor::DType::BF16, true}).value()->problem().adds);
    const auto refused = attention->enqueue(*stream, "attention", {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "pass \"attention\": attention of 0 input and 0 output frames without their norms");
}

}  // namespace
}  // namespace kinetograph::nn
