// A HIP device that a stand-in runtime plays: launches run the kernels of kernels/hip/gfx950 in the host model.
#pragma once

#include <gtest/gtest.h>
#include <kinetograph/engine/accel/hip/device.hpp>
#include <kinetograph/kernels/hip/gfx950/code_objects.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <dlfcn.h>

namespace kinetograph::test {

/// Skips where the build carries no code objects: there is nothing to load. At the end: nothing may be left alive on
/// the device, and the stand-in may have no complaint.
class HipLane : public testing::Test {
  protected:
    void SetUp() override {
        if (gfx950::code_objects().empty()) GTEST_SKIP() << gfx950::code_object_compiler();
        void* library = ::dlopen(KINETOGRAPH_STANDIN_HIP_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        ASSERT_NE(library, nullptr) << ::dlerror();
        control_ = reinterpret_cast<standin::ControlFunction>(::dlsym(library, standin::kControlSymbol))();
        control_->reset({});
        auto created = accel::hip::create_device({.library = KINETOGRAPH_STANDIN_HIP_LIBRARY});
        ASSERT_TRUE(created) << created.error().message;
        device_ = std::move(*created);
    }
    void TearDown() override {
        if (control_ == nullptr) return;
        device_.reset();
        EXPECT_EQ(control_->live(), standin::Live{});
        for (const std::string& complaint : control_->complaints()) ADD_FAILURE() << complaint;
    }

    standin::Control* control_ = nullptr;
    std::unique_ptr<accel::Device> device_;
};

}  // namespace kinetograph::test
