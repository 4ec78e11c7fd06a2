// DeviceTest: a device of a real driver or of a stand-in. At the end no object may be alive, and the stand-in must have
// no complaints.
#pragma once

#include <gtest/gtest.h>
#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/kernels/cuda/fat_binaries.hpp>
#include <kinetograph/tests/engine/accel/cuda/test_kernels.hpp>

#include <dlfcn.h>

namespace kinetograph::accel {

/// Null where `library` is a real driver, or absent.
inline standin::Control* control_of(const std::string& library) {
    void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void* control = handle != nullptr ? ::dlsym(handle, standin::kControlSymbol) : nullptr;
    return control != nullptr ? reinterpret_cast<standin::ControlFunction>(control)() : nullptr;
}

/// The message of a result that should be an error.
template <class T>
std::string message_of(const Result<T>& result) {
    return result ? "no error" : result.error().message;
}

/// `Test` is testing::Test or one with a parameter.
template <class Test>
struct DeviceTest : Test {
    const std::string library;
    standin::Control* const control = control_of(library);  ///< null on a real driver
    std::unique_ptr<Device> device;

    explicit DeviceTest(std::string driver_library) : library(std::move(driver_library)) {}
    virtual Result<std::unique_ptr<Device>> open_device() const = 0;
    void SetUp() override { start({}); }
    bool real() const { return control == nullptr; }

    /// Opens the device; `options` apply to a stand-in only.
    void start(const standin::Options& options) {
        device.reset();
        if (control != nullptr) control->reset(options);
        auto created = open_device();
        if (!created && real()) GTEST_SKIP() << created.error().message;
        ASSERT_TRUE(created) << created.error().message;
        device = std::move(*created);
    }
    void TearDown() override {
        device.reset();
        if (control == nullptr) return;
        EXPECT_EQ(control->live(), standin::Live{});
        for (const std::string& complaint : control->complaints()) ADD_FAILURE() << complaint;
        control->reset({});
    }

    const std::string& device_name() const { return device->info().name; }
    /// The test kernels; stand-ins know them without an image.
    std::span<const std::byte> image() const {
        return real() ? kinetograph::cuda::fat_binary("test_kernels") : standin::placeholder_image();
    }
    std::shared_ptr<Module> load_test_kernels() {
        auto loaded = device->load("test kernels", image());
        EXPECT_TRUE(loaded) << message_of(loaded);
        return loaded ? *loaded : nullptr;
    }
};

}  // namespace kinetograph::accel
