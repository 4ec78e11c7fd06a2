// The part of the HIP runtime's binary interface that we use, declared here so that no HIP package is needed to build.
// Source: HIP Runtime API Reference, ROCm 6.0 and newer (struct layout "R0600"); every number is part of that
// interface.
#pragma once

#include <kinetograph/engine/accel/gpu/driver_types.hpp>

#include <cstddef>
#include <cstdint>

namespace kinetograph::accel::hip {

/// hipError_t. Names for people come from the runtime itself (hipGetErrorName).
enum class Status : int {
    Success = 0,
    InvalidValue = 1,
    OutOfMemory = 2,
    NotInitialized = 3,
    InvalidConfiguration = 9,
    NoDevice = 100,
    InvalidDevice = 101,
    InvalidImage = 200,
    NoBinaryForGpu = 209,
    EccNotCorrectable = 214,
    InvalidHandle = 400,
    IllegalState = 401,
    NotFound = 500,
    NotReady = 600,
    IllegalAddress = 700,
    LaunchTimeOut = 702,
    PeerAccessAlreadyEnabled = 704,
    Assert = 710,
    LaunchFailure = 719,
    NotSupported = 801,
    StreamCaptureUnsupported = 900,
    StreamCaptureInvalidated = 901,
    Unknown = 999,
};

using gpu::EventHandle;
using gpu::ExternalMemoryBufferDesc;
using gpu::ExternalMemoryHandle;
using gpu::ExternalMemoryHandleDesc;
using gpu::ExternalMemoryType;
using gpu::ExternalSemaphoreHandle;
using gpu::ExternalSemaphoreHandleDesc;
using gpu::ExternalSemaphoreParams;
using gpu::ExternalSemaphoreType;
using gpu::FunctionHandle;
using gpu::GraphExecHandle;
using gpu::GraphHandle;
using gpu::GraphNodeHandle;
using gpu::HostFunction;
using gpu::kEventDefault;
using gpu::kExternalMemoryDedicated;
using gpu::kHostRegisterMapped;
using gpu::kHostRegisterPortable;
using gpu::kStreamNonBlocking;
using gpu::ModuleHandle;
using gpu::StreamHandle;

inline constexpr unsigned kHostMallocPortable = 1;  // pinned for every device
inline constexpr unsigned kHostMallocMapped = 2;    // the device may address it
inline constexpr unsigned kHostMallocCoherent = 1U << 30U;
inline constexpr unsigned kMallocSignalMemory = 2;  // eight bytes that streams and the host wait for and write
inline constexpr unsigned kStreamWaitValueGte = 0;
inline constexpr int kMemcpyDefault = 4;           // direction by the addresses
inline constexpr int kCaptureModeThreadLocal = 1;  // other threads go on using the device
inline constexpr int kCaptureStatusNone = 0;
inline constexpr int kCaptureStatusActive = 1;
inline constexpr unsigned kSetCaptureDependencies = 1;
inline constexpr int kFunctionMaxThreadsPerBlock = 0;  // hipFunction_attribute
inline constexpr int kFunctionSharedBytes = 1;
inline constexpr int kFunctionLocalBytes = 3;
inline constexpr int kFunctionRegisters = 4;
inline constexpr int kAttributeCanUseStreamWaitValue = 10013;

/// hipPointerAttribute_t, and hipMemoryType.
struct PointerAttributes {
    int type;
    int device;
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned allocation_flags;
};
static_assert(sizeof(PointerAttributes) == 32);
inline constexpr int kMemoryUnregistered = 0;
inline constexpr int kMemoryHost = 1;
inline constexpr int kMemoryDevice = 2;

/// Tags of hipModuleLaunchKernel's `extra`: all arguments in one buffer.
inline void* const kLaunchBufferPointer = reinterpret_cast<void*>(1);
inline void* const kLaunchBufferSize = reinterpret_cast<void*>(2);
inline void* const kLaunchEnd = reinterpret_cast<void*>(3);

/// hipDeviceProp_t in layout R0600; members that we do not read are skipped by size.
struct DeviceProperties {
    char name[256];
    std::uint8_t uuid[16];
    std::byte luid_and_mask[16];
    std::size_t total_global_bytes;
    std::size_t shared_bytes_per_block;
    int registers_per_block;
    int wave_size;
    std::byte limits[76];
    int compute_units;
    std::byte timeouts[8];
    int can_map_host_memory;
    std::byte textures[180];
    int pci_bus, pci_device, pci_domain;
    std::byte features[132];
    int host_register_supported;
    std::byte read_only_and_sparse[8];
    int timeline_semaphore_interop;
    std::byte pools[28];
    int cluster_launch;
    std::byte reserved[384];
    char architecture[256];  ///< gcnArchName, "gfx950:sramecc+:xnack-"
    std::byte rest[56];
};
static_assert(offsetof(DeviceProperties, total_global_bytes) == 288);
static_assert(offsetof(DeviceProperties, wave_size) == 308);
static_assert(offsetof(DeviceProperties, compute_units) == 388);
static_assert(offsetof(DeviceProperties, can_map_host_memory) == 400);
static_assert(offsetof(DeviceProperties, pci_bus) == 584);
static_assert(offsetof(DeviceProperties, host_register_supported) == 728);
static_assert(offsetof(DeviceProperties, timeline_semaphore_interop) == 740);
static_assert(offsetof(DeviceProperties, cluster_launch) == 772);
static_assert(offsetof(DeviceProperties, architecture) == 1160);
static_assert(sizeof(DeviceProperties) == 1472);

}  // namespace kinetograph::accel::hip
