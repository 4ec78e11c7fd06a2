// A Vulkan device for tests of compute/: the first that there is, lavapipe where there is no GPU.
#pragma once

#include <gtest/gtest.h>
#include <kinetograph/engine/accel/open.hpp>

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
    bool on_gpu() const { return device_->info().name.find("llvmpipe") == std::string::npos; }

    std::unique_ptr<accel::Device> device_;
};

}  // namespace kinetograph::test
