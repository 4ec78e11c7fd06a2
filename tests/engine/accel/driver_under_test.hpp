// DriverTest: what the lanes of both drivers must do is said once and run on each: on the stand-ins, and on the CUDA
// driver that KINETOGRAPH_CUDA_LIBRARY names.
#pragma once

#include "cuda/gpu_fixture.hpp"

#include <kinetograph/engine/accel/hip/device.hpp>

#include <ostream>

namespace kinetograph::accel {

using cuda::message_of;

/// A driver's library and what a test must know of it.
struct DriverUnderTest {
    Kind kind = Kind::Hip;
    std::string name, library;

    Result<std::unique_ptr<Device>> create() const {
        return kind == Kind::Hip ? hip::create_device({.library = library}) : cuda::create_device({.library = library});
    }
    /// A word of this driver's: a call, an error.
    std::string word(std::string_view of_hip, std::string_view of_cuda) const {
        return std::string(kind == Kind::Hip ? of_hip : of_cuda);
    }
    std::string launch_call() const { return word("hipModuleLaunchKernel", "cuLaunchKernelEx"); }
};
inline std::ostream& operator<<(std::ostream& out, const DriverUnderTest& driver) { return out << driver.name; }
inline std::string name_of(const testing::TestParamInfo<DriverUnderTest>& info) { return info.param.name; }

inline const DriverUnderTest kHip{Kind::Hip, "Hip", KINETOGRAPH_STANDIN_HIP_LIBRARY};
inline const DriverUnderTest kCuda{Kind::Cuda, "Cuda", cuda::library_under_test()};

/// A device under test; on a stand-in, at the end, the proof that nothing is left of it and that it has nothing to say.
struct DriverTest : testing::TestWithParam<DriverUnderTest> {
    const DriverUnderTest& driver = GetParam();
    standin::Control* const control = cuda::control_of(driver.library);  ///< null on a real driver
    std::unique_ptr<Device> device;

    void SetUp() override { start({}); }
    bool real() const { return control == nullptr; }

    /// Options are a stand-in's.
    void start(const standin::Options& options) {
        device.reset();
        if (control != nullptr) control->reset(options);
        auto created = driver.create();
        if (!created && real()) GTEST_SKIP() << created.error().message;
        ASSERT_TRUE(created) << message_of(created);
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
    std::uint64_t calls(std::string_view call) const {
        return driver.kind == Kind::Cuda ? cuda::driver_calls(*device)->calls(call) : control->calls(call);
    }
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
