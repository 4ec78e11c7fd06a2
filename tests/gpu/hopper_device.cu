#include "device_backend.cuh"
#include "hopper_cases.hpp"
#include "hopper_suite.hpp"

namespace kinetograph::gpu_tests {

std::vector<CaseResult> run_on_device(std::string& device) {
    cudaDeviceProp properties{};
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, 0); error != cudaSuccess) {
        device = std::string("no CUDA device: ") + cudaGetErrorString(error);
        return {};
    }
    if (properties.major != 9) {
        device = std::string(properties.name) + " is not a Hopper GPU";
        return {};
    }
    int driver = 0;
    cudaDriverGetVersion(&driver);
    device = std::string(properties.name) + ", CUDA driver " + std::to_string(driver);
    DeviceBackend backend;
    return HopperCases<DeviceBackend>(backend).run();
}

}  // namespace kinetograph::gpu_tests
