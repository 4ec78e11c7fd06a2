// Driver: the CUDA driver library, opened at run time, and how its errors map to ErrorCode.
#pragma once

#include <kinetograph/engine/accel/cuda/entry_points.hpp>
#include <kinetograph/engine/accel/gpu/driver.hpp>

namespace kinetograph::accel::cuda {

struct Api {
    using Status = cuda::Status;
    using EntryPoints = cuda::EntryPoints;
    static constexpr const char* kNames[] = {"libcuda.so.1"};
    static constexpr gpu::LibraryDesc kLibrary{
        .without = "CUDA lane off",
        .variable = "KINETOGRAPH_CUDA_LIBRARY",
        .names = kNames,
        .since = "drivers for CUDA 12.0 and newer have",
    };
    static const auto& init(const EntryPoints& cuda) { return cuda.cuInit; }
    static const auto& count(const EntryPoints& cuda) { return cuda.cuDeviceGetCount; }
    static ErrorCode code_of(Status status);
    static const char* error_name(const EntryPoints& cuda, Status status);
    static std::string version(const EntryPoints& cuda);
};

using Driver = gpu::Driver<Api>;

}  // namespace kinetograph::accel::cuda
