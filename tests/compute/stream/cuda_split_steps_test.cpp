// Steps that two CUDA devices compute: the stand-in's, whose kernels run in the host model, or one GPU that is opened
// twice, and its neighbour where there is one.
#include "split_steps.hpp"

#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

namespace kinetograph::stream {
namespace {

class CudaSplitSteps : public test::CudaLane {
  protected:
    standin::Options pose() const override { return {.devices = 2}; }
    void SetUp() override {
        CudaLane::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        together_ = std::move(*open(0));
        auto second = open(1);
        if (!second && on_gpu()) second = open(0);
        ASSERT_TRUE(second) << second.error().message;
        together_->add_companion(std::move(*second));
    }
    void TearDown() override {
        together_.reset();
        CudaLane::TearDown();
    }
    Result<std::unique_ptr<accel::Device>> open(std::uint32_t ordinal) const {
        const char* driver = std::getenv("KINETOGRAPH_CUDA_LIBRARY");
        return accel::cuda::create_device(
            {.library = driver != nullptr ? driver : KINETOGRAPH_STANDIN_CUDA_LIBRARY, .ordinal = ordinal});
    }
    std::unique_ptr<accel::Device> together_;
};
/// Devices that do not reach each other's memory.
class CudaSplitStepsByWayOfTheHost : public CudaSplitSteps {
    standin::Options pose() const override { return {.devices = 2, .reaches_peers = false}; }
};

const testing::SplitCase kSmall{"synthetic:wan2.1,dim=16", {6, 1}, {}, 2};

TEST_F(CudaSplitSteps, HaveTheBitsOfOneDevice) {
    testing::expect_the_bits_of_one_device(*device_, *together_, kSmall);
    if (!on_gpu()) return;
    for (const conv::Sums sums : {conv::Sums::Exact, conv::Sums::Fast, conv::Sums::Int8})
        for (const vae::LatentSize size : {vae::LatentSize{46, 34}, {49, 81}})
            testing::expect_the_bits_of_one_device(*device_, *together_,
                                                   {"synthetic:wan2.1,dim=96", size, {.sums = sums}, 4});
}

TEST_F(CudaSplitStepsByWayOfTheHost, HaveTheBitsOfOneDevice) {
    testing::expect_the_bits_of_one_device(*device_, *together_, kSmall);
}

TEST_F(CudaSplitSteps, KeepTheirStateOnEveryDevice) {
    if (!on_gpu()) GTEST_SKIP() << "stream_test's CPU devices do; the host model takes 40 s";
    testing::expect_state_on_every_device(*together_, kSmall);
}

TEST_F(CudaSplitSteps, ShareTheMemory) {
    testing::expect_memory_to_be_shared(*device_, *together_, {"synthetic:wan2.1,dim=16", {16, 1}});
}

}  // namespace
}  // namespace kinetograph::stream
