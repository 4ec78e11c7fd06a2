// The check of the attention before its first use, on a stand-in that poses as a B200.
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/self_check.hpp>
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/kernels/cuda/sm100/plan.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

namespace kinetograph::nn {
namespace {

const conv::AttentionProblem kAttention{.tokens = 64, .channels = 96, .input = Element::BF16, .output = Element::BF16};

class Sm100AttentionCheck : public test::CudaLane {
  protected:
    void SetUp() override {
        ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
        ::setenv("KINETOGRAPH_SELF_CHECK", "on", 1);
        CudaLane::SetUp();
        if (device_ != nullptr && on_gpu()) GTEST_SKIP() << "a GPU's kernels are as they are";
    }
    void TearDown() override {
        CudaLane::TearDown();
        ::setenv("KINETOGRAPH_SELF_CHECK", "off", 1);
    }
    standin::Options pose() const override {
        return {.name = "Stand-in B200", .architecture = "sm_100", .uuid_byte = 0x21};
    }
    std::string explanation() const {
        const auto operators = Operators::create(*device_);
        if (!operators) return operators.error().message;
        const auto attention = (*operators)->get(kAttention);
        return attention ? std::string((*attention)->explanation()) : attention.error().message;
    }
    test::TemporaryFolder folder_;
};

TEST_F(Sm100AttentionCheck, KeepsAnAttentionOpenThatAgrees) {
    EXPECT_EQ(explanation(), "tcgen05-sm100");
    EXPECT_EQ(conv::self_check_text(device_->info()), "1 kernels agreed with fp64 in self-checks");
}

class Sm100WrongAttention : public Sm100AttentionCheck {
    standin::Options pose() const override {
        const auto& method = std::get<conv::OpMethodOf<conv::AttentionProblem>>(sm100::operators().front());
        standin::Options options = Sm100AttentionCheck::pose();
        options.uuid_byte = 0x22;
        options.idle_kernel = method.plan(kAttention, conv::chip_of(conv::describe_known_device("sm_100").value()))
                                  .kernels.front()
                                  .kernel;
        return options;
    }
};

TEST_F(Sm100WrongAttention, FallsToTheNextAndSaysWhy) {
    const std::string said = explanation();
    EXPECT_TRUE(said.starts_with("mma-sm80: its self-check on this device failed: tcgen05-sm100:")) << said;
    EXPECT_NE(said.find("152 tokens of 96 channels have a relative error of "), std::string::npos) << said;
}

}  // namespace
}  // namespace kinetograph::nn
