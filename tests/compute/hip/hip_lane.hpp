// A HIP device for tests: that of the runtime that KINETOGRAPH_HIP_LIBRARY names, otherwise that of a stand-in runtime,
// whose launches run the kernels of kernels/hip/gfx950 in the host model.
#pragma once

#include <gtest/gtest.h>
#include <kinetograph/engine/accel/hip/device.hpp>
#include <kinetograph/kernels/hip/code_objects.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <dlfcn.h>
#include <cstdlib>
#include <string>

namespace kinetograph::test {

/// Skips without code objects in the build: there is nothing to load. At the end no object of the device may be alive,
/// and a stand-in must have no complaints.
class HipLane : public testing::Test {
  protected:
    void SetUp() override {
        if (kinetograph::hip::code_objects().empty()) GTEST_SKIP() << kinetograph::hip::code_object_compiler();
        const char* runtime = std::getenv("KINETOGRAPH_HIP_LIBRARY");
        const std::string library = runtime != nullptr ? runtime : KINETOGRAPH_STANDIN_HIP_LIBRARY;
        void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        void* symbol = handle != nullptr ? ::dlsym(handle, standin::kControlSymbol) : nullptr;
        if (symbol != nullptr) {
            control_ = reinterpret_cast<standin::ControlFunction>(symbol)();
            control_->reset(posed());
        }
        auto created = accel::hip::create_device({.library = library});
        if (!created && control_ == nullptr) GTEST_SKIP() << created.error().message;
        ASSERT_TRUE(created) << created.error().message;
        device_ = std::move(*created);
    }
    /// The device that the stand-in poses as.
    virtual standin::Options posed() const { return {}; }
    void TearDown() override {
        if (device_ == nullptr) return;
        device_.reset();
        if (control_ == nullptr) return;
        EXPECT_EQ(control_->live(), standin::Live{});
        for (const std::string& complaint : control_->complaints()) ADD_FAILURE() << complaint;
    }

    standin::Control* control_ = nullptr;  ///< null for a real runtime
    std::unique_ptr<accel::Device> device_;
};

}  // namespace kinetograph::test
