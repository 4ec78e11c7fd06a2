// Driver: the HIP runtime library, opened at run time, and how its errors map to ErrorCode.
#pragma once

#include <kinetograph/engine/accel/gpu/driver.hpp>
#include <kinetograph/engine/accel/hip/entry_points.hpp>

namespace kinetograph::accel::hip {

struct Api {
    using Status = hip::Status;
    using EntryPoints = hip::EntryPoints;
    static constexpr const char* kNames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"};
    static constexpr gpu::LibraryDesc kLibrary{
        .without = "HIP lane off",
        .variable = "KINETOGRAPH_HIP_LIBRARY",
        .names = kNames,
        .since = "ROCm 6.0 or newer has",
    };
    static const auto& init(const EntryPoints& hip) { return hip.hipInit; }
    static const auto& count(const EntryPoints& hip) { return hip.hipGetDeviceCount; }
    static ErrorCode code_of(Status status);
    static const char* error_name(const EntryPoints& hip, Status status) { return hip.hipGetErrorName(status); }
    static std::string version(const EntryPoints& hip);
};

using Driver = gpu::Driver<Api>;

}  // namespace kinetograph::accel::hip
