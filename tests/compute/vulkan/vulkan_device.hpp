// A Vulkan device for tests of compute/: the first that there is, lavapipe where there is no GPU.
#pragma once

#include <gtest/gtest.h>
#include <kinetograph/engine/accel/open.hpp>

#include <fstream>
#include <iterator>

namespace kinetograph::test {

/// Skips where there is no Vulkan device. At the end none of its memory may be held.
class VulkanDevice : public testing::Test {
  protected:
    void SetUp() override {
        auto opened = accel::open("vulkan");
        if (!opened) GTEST_SKIP() << opened.error().message;
        device_ = std::move(*opened);
    }
    void TearDown() override {
        if (device_ != nullptr) {
            EXPECT_EQ(device_->bytes_allocated(), 0U);
        }
    }
    /// Whether it computes on a GPU; then tests may do what takes the CPU minutes.
    bool on_gpu() const { return !device_->info().emulated; }

    /// Makes a device that a CPU plays pose as one with cooperative matrices: subgroups of 32 threads multiply them by
    /// loops, in the same shaders compiled with -DEMULATED. Errors end the test.
    void emulate_matrices() {
        if (on_gpu()) return;
        for (const std::string module :
             {"conv_slab_bf16", "conv_slab_f16", "product_matrix_bf16", "product_matrix_f16"}) {
            const auto words = [&]() -> Result<std::span<const std::byte>> {
                std::ifstream file(KINETOGRAPH_EMULATED_MODULES "/" + module + ".spv", std::ios::binary);
                words_.assign(std::istreambuf_iterator<char>(file), {});
                return std::as_bytes(std::span(words_));
            };
            ASSERT_TRUE(device_->kernels().get(module, module + ":32", words));
        }
        const_cast<accel::DeviceInfo&>(device_->info()).features = "subgroup-32 matrix-bf16 matrix-f16";
    }

    std::unique_ptr<accel::Device> device_;

  private:
    std::vector<char> words_;
};

}  // namespace kinetograph::test
