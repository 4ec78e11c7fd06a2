// A CUDA device for tests: that of the driver that KINETOGRAPH_CUDA_LIBRARY names, otherwise that of a stand-in driver,
// whose launches run the kernels of kernels/cuda/sm80 in the host model.
#pragma once

#include <gtest/gtest.h>
#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/kernels/cuda/fat_binaries.hpp>
#include <kinetograph/tests/sanitizers.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <dlfcn.h>
#include <cstdlib>
#include <string>

namespace kinetograph::test {

/// Skips without fat binaries in the build, and without both a driver and a stand-in. At the end no object of the
/// device may be alive, and a stand-in must have no complaints.
class CudaLane : public ::testing::Test {
  protected:
    void SetUp() override {
        if (cuda::fat_binaries().empty()) GTEST_SKIP() << cuda::fat_binary_compiler();
        const char* driver = std::getenv("KINETOGRAPH_CUDA_LIBRARY");
        const std::string library = driver != nullptr ? driver : KINETOGRAPH_STANDIN_CUDA_LIBRARY;
        if (library.empty()) GTEST_SKIP() << "this build has no stand-in driver that runs kernels";
        find_control(library);
        if (kAddressSanitized && control_ != nullptr && !is_little_work())
            GTEST_SKIP() << "takes minutes where the address sanitizer watches";
        auto created = accel::cuda::create_device({.library = library});
        if (!created && control_ == nullptr) GTEST_SKIP() << created.error().message;
        ASSERT_TRUE(created) << created.error().message;
        device_ = std::move(*created);
    }
    void TearDown() override {
        if (device_ == nullptr) return;
        EXPECT_EQ(device_->bytes_allocated(), 0U);
        device_.reset();
        if (control_ == nullptr) return;
        EXPECT_EQ(control_->live(), standin::Live{});
        for (const std::string& complaint : control_->complaints()) ADD_FAILURE() << complaint;
    }
    /// Whether the test is short enough for the address sanitizer, under which most take minutes and are skipped.
    virtual bool is_little_work() const { return false; }
    /// The device that a stand-in poses as.
    virtual standin::Options pose() const { return {}; }
    /// Whether a GPU runs the kernels; then tests may do what takes the host model minutes.
    bool on_gpu() const { return control_ == nullptr; }

    standin::Control* control_ = nullptr;  ///< null for a real driver
    std::unique_ptr<accel::Device> device_;

  private:
    void find_control(const std::string& library) {
        void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        void* symbol = handle != nullptr ? ::dlsym(handle, standin::kControlSymbol) : nullptr;
        if (symbol == nullptr) return;
        control_ = reinterpret_cast<standin::ControlFunction>(symbol)();
        control_->reset(pose());
    }
};

/// The same for tests that are short everywhere, also under the address sanitizer.
class CudaLittleWork : public CudaLane {
    bool is_little_work() const override { return true; }
};

/// The same for tests that only a GPU finishes in acceptable time.
class CudaGpu : public CudaLane {
  protected:
    void SetUp() override {
        CudaLane::SetUp();
        if (!IsSkipped() && !HasFatalFailure() && !on_gpu())
            GTEST_SKIP()
                << "needs a GPU: the host model takes minutes. KINETOGRAPH_CUDA_LIBRARY=libcuda.so.1 asks for it";
    }
};

}  // namespace kinetograph::test
