// The Hopper attention, whole: chosen for the device, its tensor maps made by the driver, launched by name.
#include <kinetograph/compute/conv/self_check.hpp>
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>
#include <kinetograph/tests/compute/nn/operators_agreement.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

namespace kinetograph::nn {
namespace {

class Sm90Attention : public test::CudaLane {
  protected:
    standin::Options pose() const override { return {.name = "Stand-in H200", .architecture = "sm_90"}; }
};

std::string_view explanation(const Operators& operators, std::int64_t tokens, std::int64_t channels,
                             Element element = Element::BF16) {
    return operators.get(conv::AttentionProblem{tokens, channels, element, element}).value()->explanation();
}

TEST_F(Sm90Attention, AgreesWithTheCpus) { expect_attention(*device_); }

TEST_F(Sm90Attention, OfANarrowHeadFallsToSm80sWithTheReason) {
    const auto operators = Operators::create(*device_).value();
    EXPECT_EQ(
        explanation(*operators, 16, 384, Element::F16),
        "wgmma-sm90: products-sm90 wants bf16, met F16; wants a head of more than 384 channels, a multiple of 64, "
        "met 384");
    EXPECT_EQ(explanation(*operators, 16, 64),
              "mma-sm80: wgmma-sm90 wants a head of 72 to 384 channels, a multiple of 8, met 64; products-sm90 wants a "
              "head of more than 384 channels, a multiple of 64, met 64");
}

TEST_F(Sm90Attention, OfAWideHeadIsTwoProductsUnlessItsTokensAreNoMultipleOf8) {
    const auto operators = Operators::create(*device_).value();
    EXPECT_EQ(explanation(*operators, 1560, 1024),
              "products-sm90: wgmma-sm90 wants a head of 72 to 384 channels, a multiple of 8, met 1024");
    EXPECT_EQ(
        explanation(*operators, 1561, 1024),
        "mma-sm80: wgmma-sm90 wants a head of 72 to 384 channels, a multiple of 8, met 1024; products-sm90 wants a "
        "number of tokens that is a multiple of 8, met 1561");
}

TEST_F(Sm90Attention, OfAWideHeadAgreesWithFp64BeforeItsFirstUse) {
    const test::TemporaryFolder cache;
    ::setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    ::setenv("KINETOGRAPH_SELF_CHECK", "on", 1);
    const auto operators = Operators::create(*device_).value();
    EXPECT_TRUE(explanation(*operators, 1560, 512).starts_with("products-sm90: wgmma-sm90 wants a head of"));
    EXPECT_TRUE(conv::self_check_text(device_->info()).starts_with("1 kernels agreed with fp64"))
        << conv::self_check_text(device_->info());
    ::setenv("KINETOGRAPH_SELF_CHECK", "off", 1);
}

TEST_F(Sm90Attention, ThatAddsWantsTheSums) {
    const auto operators = Operators::create(*device_).value();
    const auto stream = device_->create_stream("test").value();
    const auto attention = operators->get(conv::AttentionProblem{16, 384, Element::BF16, Element::BF16, true}).value();
    const std::byte* const input[] = {nullptr};
    std::byte* const output[] = {nullptr};
    const auto refused = attention->enqueue(*stream, "attention", {.input = input, .output = output});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "pass \"attention\": attention of 1 frames added to 0");
}

}  // namespace
}  // namespace kinetograph::nn
