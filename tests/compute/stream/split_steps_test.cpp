// Steps that several CPU devices compute, each a band of rows.
#include "split_steps.hpp"

#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/engine/accel/open.hpp>

namespace kinetograph::stream {
namespace {

using testing::SplitCase;

class SplitSteps : public ::testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        std::string name = "cpu";
        for (int i = 1; i < GetParam(); ++i) name += "+cpu";
        together_ = accel::open(name).value();
        ASSERT_EQ(together_->companions().size() + 1, static_cast<std::size_t>(GetParam()));
    }
    std::unique_ptr<accel::Device> alone_ = accel::open("cpu").value(), together_;
};
INSTANTIATE_TEST_SUITE_P(Devices, SplitSteps, ::testing::Values(2, 3));

TEST_P(SplitSteps, HaveTheBitsOfOneDevice) {
    using vae::Precision;
    for (const SplitCase& tried : {SplitCase{"synthetic:wan2.1,dim=2", {26, 3}, {.precision = Precision::Fp32}},
                                   SplitCase{"synthetic:wan2.1,dim=4", {33, 3}, {.precision = Precision::Bf16}},
                                   SplitCase{"synthetic:wan2.2,dim=4", {20, 3}, {.precision = Precision::Fp32}},
                                   SplitCase{"synthetic:taew2.1,dim=4", {29, 5}, {.precision = Precision::Fp32}}})
        testing::expect_the_bits_of_one_device(*alone_, *together_, tried);
}

TEST_P(SplitSteps, ShareTheMemory) {
    testing::expect_memory_to_be_shared(*alone_, *together_, {"synthetic:wan2.1,dim=4", {48, 4}});
}

TEST_P(SplitSteps, KeepTheirStateOnEveryDevice) {
    testing::expect_state_on_every_device(*together_,
                                          {"synthetic:wan2.1,dim=2", {26, 3}, {.precision = vae::Precision::Fp32}});
}

TEST_P(SplitSteps, AreTracedAsThoseOfOneDevice) {
    testing::expect_traces_of_one_device(*alone_, *together_,
                                         {"synthetic:wan2.1,dim=2", {26, 3}, {.precision = vae::Precision::Fp32}},
                                         {"decoder.middle.1", "decoder.upsamples.8", "decoder.head.2"});
}

TEST_P(SplitSteps, OfPicturesTooLowForAllDevicesAreTheFirstOnes) {
    testing::expect_the_bits_of_one_device(*alone_, *together_,
                                           {"synthetic:wan2.1,dim=2", {2, 9}, {.precision = vae::Precision::Fp32}, 2});
}

TEST(SplitStepsOptions, RefuseBandsOnEveryDevice) {
    const auto together = accel::open("cpu+cpu").value();
    const auto model = vae::Model::create(*together, vae::Checkpoint::open("synthetic:wan2.1,dim=2").value()).value();
    const auto refused = Decoder::create(model, {32, 2}, {.bands = {2, 1}});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("2 bands of rows: 2 devices make a band each"), std::string::npos)
        << refused.error().message;
}

TEST(SplitStepsOptions, NameTheDeviceThatCannotBeOpened) {
    for (const std::string name : {"cpu+cpo", "cpu+cpu:7", "cpu+"}) {
        const auto refused = accel::open(name);
        ASSERT_FALSE(refused) << name;
        EXPECT_TRUE(refused.error().message.starts_with(name.substr(4))) << refused.error().message;
    }
}

TEST(SplitStepsOptions, StateWhichDeviceHasTooLittleMemory) {
    const auto together = accel::open("cpu+cpu").value();
    together->companions().front()->set_budget({.bytes = 64 << 10});
    const auto model = vae::Model::create(*together, vae::Checkpoint::open("synthetic:wan2.1,dim=4").value()).value();
    const auto refused = Decoder::create(model, {48, 4});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_NE(refused.error().message.find("on device 2 of 2"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace kinetograph::stream
