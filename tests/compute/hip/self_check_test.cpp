// The check of a GPU's kernels before their first use, on a stand-in for an MI355X.
#include <kinetograph/compute/conv/checked_kernels.hpp>
#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/self_check.hpp>
#include <kinetograph/tests/compute/hip/hip_lane.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

namespace kinetograph::conv {
namespace {

ConvProblem bf16_layer() {
    ConvProblem p;
    p.d = 4;
    p.h = 9;
    p.w = 13;
    p.c_in = 64;
    p.filter = {96, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    p.input = p.weight = p.output = p.normed = Element::BF16;
    return p;
}

class HipSelfCheck : public test::HipLane {
  protected:
    void SetUp() override {
        ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
        ::setenv("KINETOGRAPH_SELF_CHECK", "on", 1);
        HipLane::SetUp();
        if (device_ != nullptr && control_ == nullptr) GTEST_SKIP() << "a GPU's kernels are as they are";
    }
    void TearDown() override {
        HipLane::TearDown();
        ::setenv("KINETOGRAPH_SELF_CHECK", "off", 1);
    }
    Result<std::unique_ptr<Convolution>> create() const {
        const ConvProblem p = bf16_layer();
        const std::vector<float> filter(static_cast<std::size_t>(p.filter_elements()), 0.1F), bias(96, 1.0F);
        return Convolution::create(*device_, p, {.filter = filter, .bias = bias, .gamma = {}, .scales = {}});
    }
    test::TemporaryFolder folder_;
};

TEST_F(HipSelfCheck, OfAKernelThatAgreesKeepsItOpen) {
    const auto made = create();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->backend(), "four-wave-gfx950");
    EXPECT_EQ(self_check_text(device_->info()), "1 kernels agreed with fp64 in self-checks");
    EXPECT_EQ(CheckedKernels(device_->info()).agreeing(), 1U) << "another process reads it";
}

class HipWrongKernel : public HipSelfCheck {
    standin::Options posed() const override {
        const Chip chip = chip_of(describe_known_device("gfx950").value());
        standin::Options options{.uuid_byte = 7};
        options.idle_kernel =
            find_candidate("four-wave-gfx950").value()->plan(bf16_layer(), chip).kernels.front().kernel;
        return options;
    }
};

TEST_F(HipWrongKernel, IsClosedAndNamed) {
    (void)create();  // the method that is next may have the kernel too
    const auto row = explain_named(device_->info(), bf16_layer(), "four-wave-gfx950");
    ASSERT_TRUE(row);
    EXPECT_FALSE(row->open);
    EXPECT_TRUE(row->reason.starts_with("its self-check on this device failed: four-wave-gfx950")) << row->reason;
    EXPECT_NE(self_check_text(device_->info()).find("; closed: four-wave-gfx950"), std::string::npos);
}

}  // namespace
}  // namespace kinetograph::conv
