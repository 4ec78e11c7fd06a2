// DriverTest: tests that the lanes of both drivers share, run on each: on the stand-ins, or for CUDA on the driver that
// KINETOGRAPH_CUDA_LIBRARY names.
#pragma once

#include "cuda/gpu_fixture.hpp"

#include <kinetograph/engine/accel/hip/device.hpp>

#include <ostream>

namespace kinetograph::accel {

/// A driver's library, and how its calls and errors are named.
struct DriverUnderTest {
    std::string_view kind = "hip";
    std::string name, library;

    Result<std::unique_ptr<Device>> create(const DeviceHooks& hooks = {}) const {
        const gpu::DeviceOptions options{.library = library, .hooks = hooks};
        return kind == "hip" ? hip::create_device(options) : cuda::create_device(options);
    }
    /// This driver's name for something, such as a call or an error.
    std::string word(std::string_view of_hip, std::string_view of_cuda) const {
        return std::string(kind == "hip" ? of_hip : of_cuda);
    }
    std::string launch_call() const { return word("hipModuleLaunchKernel", "cuLaunchKernelEx"); }
};
inline std::ostream& operator<<(std::ostream& out, const DriverUnderTest& driver) { return out << driver.name; }
inline std::string name_of(const testing::TestParamInfo<DriverUnderTest>& info) { return info.param.name; }

inline const DriverUnderTest kHip{"hip", "Hip", KINETOGRAPH_STANDIN_HIP_LIBRARY};
inline const DriverUnderTest kCuda{"cuda", "Cuda", cuda::library_under_test()};

struct DriverTest : DeviceTest<testing::TestWithParam<DriverUnderTest>> {
    const DriverUnderTest& driver = GetParam();
    DeviceHooks hooks;  ///< of the device that start() opens next

    DriverTest() : DeviceTest(GetParam().library) {}
    Result<std::unique_ptr<Device>> open_device() const override { return driver.create(hooks); }
    std::uint64_t calls(std::string_view call) const {
        return driver.kind == "cuda" ? cuda::driver_calls(*device)->calls(call) : control->calls(call);
    }
};

}  // namespace kinetograph::accel
