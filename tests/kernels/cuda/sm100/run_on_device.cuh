#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <kinetograph/kernels/cuda/sm100/conv2d_fprop.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_launch.hpp>
#include <kinetograph/tests/gpu/device_backend.cuh>

/// The same tests on a real B200: copies every tensor to the GPU and the results back. The chip decides the schedule,
/// so each seed is one more run.
namespace kinetograph::sm100 {

/// Ends the program with 77 if there is no sm_100 GPU, so that no test appears to have passed.
class NeedsBlackwell : public testing::Environment {
    void SetUp() override {
        int major = 0;
        if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess && major == 10) return;
        std::cout << "SKIPPED: no sm_100 GPU on this machine, nothing has run" << std::endl;
        std::_Exit(77);
    }
};
inline const testing::Environment* const kNeedsBlackwell = testing::AddGlobalTestEnvironment(new NeedsBlackwell);

/// Bytes from the first element of a map's tensor to the end of its last.
inline size_t extent_bytes(const isa::TensorMapDesc& map) {
    size_t bytes = map.size[0] * element_bytes(map.element);
    for (uint32_t axis = 1; axis < map.rank; ++axis) bytes += (map.size[axis] - 1) * map.stride_bytes[axis - 1];
    return bytes;
}

/// Launches once; the error, or "".
template <Conv2dConfig kConfig, Fault kFault = Fault::None, class Epilogue = NoEpilogue>
std::string run_once(const Conv2dLaunch& launch, const Conv2dEpilogueArguments<Epilogue>& after, uint64_t) {
    if (launch.empty()) return "";
    gpu_tests::DeviceBackend backend;
    auto on_device = after;
    if (after.scales != nullptr) {
        on_device.scales =
            static_cast<const float*>(backend.place(after.scales, launch.geometry.c_out * sizeof(float)));
    }
    if (after.bias != nullptr) {
        on_device.bias = static_cast<const float*>(backend.place(after.bias, launch.geometry.c_out * sizeof(float)));
    }
    const auto params = make_params<kConfig, Epilogue>(launch, on_device, [&](isa::TensorMapDesc map) {
        map.address = backend.place(map.address, extent_bytes(map));
        return backend.encode(map);
    });
    gpu_tests::LaunchShape shape;
    std::copy_n(launch.grid, 3, shape.grid);
    std::copy_n(launch.cluster, 3, shape.cluster);
    shape.threads = launch.threads;
    shape.shared_bytes = launch.shared_bytes;
    const std::string trouble = backend.run<Conv2dFpropKernel<kConfig, Epilogue, kFault>>(shape, params);
    if (!trouble.empty()) return trouble;
    for (const isa::TensorMapDesc& map : launch.output) backend.fetch(map.address, extent_bytes(map));
    return "";
}

}  // namespace kinetograph::sm100
