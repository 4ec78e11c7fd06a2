// Tests of engine/accel/cuda run on the stand-in driver, which is opened like the real one, or on the driver that
// KINETOGRAPH_CUDA_LIBRARY names: KINETOGRAPH_CUDA_LIBRARY=libcuda.so.1 runs them on the machine's GPU.
#pragma once

#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/engine/accel/cuda/driver.hpp>
#include <kinetograph/tests/engine/accel/device_fixture.hpp>

#include <cstdlib>

namespace kinetograph::accel::cuda {

inline const std::string kStandin = KINETOGRAPH_STANDIN_CUDA_LIBRARY;

inline std::string library_under_test() {
    const char* chosen = std::getenv("KINETOGRAPH_CUDA_LIBRARY");
    return chosen != nullptr && *chosen != '\0' ? chosen : kStandin;
}

struct Gpu : DeviceTest<testing::Test> {
    Gpu() : DeviceTest(library_under_test()) {}
    Result<std::unique_ptr<Device>> open_device() const override { return create_device({.library = library}); }
    std::uint64_t calls(std::string_view symbol) const { return driver_calls(*device)->calls(symbol); }
};

}  // namespace kinetograph::accel::cuda
