// The part of the HIP runtime's binary interface that we use, declared by us so that no HIP package is needed to build.
// Source: HIP Runtime API Reference, ROCm 6.0 and newer (struct layout "R0600"); every number is part of that
// interface.
#pragma once

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
    Assert = 710,
    LaunchFailure = 719,
    NotSupported = 801,
    StreamCaptureUnsupported = 900,
    StreamCaptureInvalidated = 901,
    Unknown = 999,
};

using StreamHandle = struct RuntimeStream*;
using EventHandle = struct RuntimeEvent*;
using ModuleHandle = struct RuntimeModule*;
using FunctionHandle = struct RuntimeFunction*;
using GraphHandle = struct RuntimeGraph*;
using GraphNodeHandle = struct RuntimeGraphNode*;
using GraphExecHandle = struct RuntimeGraphExec*;
using ExternalMemoryHandle = void*;
using ExternalSemaphoreHandle = void*;
using HostFunction = void (*)(void* user_data);

inline constexpr unsigned kStreamNonBlocking = 1;   // does not synchronise with the null stream
inline constexpr unsigned kEventDefault = 0;        // with time stamps
inline constexpr unsigned kHostMallocPortable = 1;  // pinned for every device
inline constexpr unsigned kHostMallocMapped = 2;    // the device may address it
inline constexpr unsigned kHostMallocCoherent = 1U << 30U;
inline constexpr unsigned kHostRegisterPortable = 1;
inline constexpr unsigned kHostRegisterMapped = 2;
inline constexpr unsigned kMallocSignalMemory = 2;  // eight bytes that streams and the host wait for and write
inline constexpr unsigned kStreamWaitValueGte = 0;
inline constexpr unsigned kExternalMemoryDedicated = 1;
inline constexpr int kMemcpyDefault = 4;           // direction by the addresses
inline constexpr int kCaptureModeThreadLocal = 1;  // other threads go on using the device
inline constexpr int kCaptureStatusActive = 1;
inline constexpr unsigned kSetCaptureDependencies = 1;
inline constexpr int kFunctionMaxThreadsPerBlock = 0;  // hipFunction_attribute
inline constexpr int kFunctionSharedBytes = 1;
inline constexpr int kFunctionLocalBytes = 3;
inline constexpr int kFunctionRegisters = 4;
inline constexpr int kAttributeCanUseStreamWaitValue = 10013;

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

enum class ExternalMemoryType : int { OpaqueFd = 1 };
struct ExternalMemoryHandleDesc {
    ExternalMemoryType type;
    union {
        int fd;
        void* pointers[2];
    } handle;
    unsigned long long size;
    unsigned flags;
    unsigned reserved[16];
};
static_assert(sizeof(ExternalMemoryHandleDesc) == 104);

struct ExternalMemoryBufferDesc {
    unsigned long long offset;
    unsigned long long size;
    unsigned flags;
    unsigned reserved[16];
};
static_assert(sizeof(ExternalMemoryBufferDesc) == 88);

enum class ExternalSemaphoreType : int { TimelineSemaphoreFd = 9 };
struct ExternalSemaphoreHandleDesc {
    ExternalSemaphoreType type;
    union {
        int fd;
        void* pointers[2];
    } handle;
    unsigned flags;
    unsigned reserved[16];
};
static_assert(sizeof(ExternalSemaphoreHandleDesc) == 96);

/// hipExternalSemaphoreSignalParams and ...WaitParams, which agree in what we use.
struct ExternalSemaphoreParams {
    unsigned long long value;
    std::byte other_kinds[64];
    unsigned flags;
    unsigned reserved[16];
};
static_assert(sizeof(ExternalSemaphoreParams) == 144 && offsetof(ExternalSemaphoreParams, flags) == 72);

/// The runtime's functions, each under its own name. Those of the second group may be null: a capability is off then.
struct EntryPoints {
    Status (*hipInit)(unsigned flags) = nullptr;
    Status (*hipRuntimeGetVersion)(int* version) = nullptr;
    Status (*hipGetDeviceCount)(int* count) = nullptr;
    Status (*hipSetDevice)(int device) = nullptr;
    Status (*hipGetDevicePropertiesR0600)(DeviceProperties* properties, int device) = nullptr;
    Status (*hipDeviceGetAttribute)(int* value, int attribute, int device) = nullptr;
    Status (*hipMemGetInfo)(std::size_t* free, std::size_t* total) = nullptr;
    const char* (*hipGetErrorName)(Status status) = nullptr;

    Status (*hipMalloc)(void** address, std::size_t bytes) = nullptr;
    Status (*hipExtMallocWithFlags)(void** address, std::size_t bytes, unsigned flags) = nullptr;
    Status (*hipFree)(void* address) = nullptr;
    Status (*hipHostMalloc)(void** host, std::size_t bytes, unsigned flags) = nullptr;
    Status (*hipHostFree)(void* host) = nullptr;
    Status (*hipHostGetDevicePointer)(void** device, void* host, unsigned flags) = nullptr;
    Status (*hipMemcpyAsync)(void* to, const void* from, std::size_t bytes, int kind, StreamHandle stream) = nullptr;
    Status (*hipMemsetAsync)(void* address, int value, std::size_t bytes, StreamHandle stream) = nullptr;

    Status (*hipStreamCreateWithFlags)(StreamHandle* stream, unsigned flags) = nullptr;
    Status (*hipStreamDestroy)(StreamHandle stream) = nullptr;
    Status (*hipStreamQuery)(StreamHandle stream) = nullptr;
    Status (*hipStreamSynchronize)(StreamHandle stream) = nullptr;
    Status (*hipStreamWaitValue64)(StreamHandle stream, void* address, std::uint64_t value, unsigned flags,
                                   std::uint64_t mask) = nullptr;
    Status (*hipStreamWriteValue64)(StreamHandle stream, void* address, std::uint64_t value, unsigned flags) = nullptr;
    Status (*hipLaunchHostFunc)(StreamHandle stream, HostFunction function, void* user_data) = nullptr;

    Status (*hipEventCreateWithFlags)(EventHandle* event, unsigned flags) = nullptr;
    Status (*hipEventDestroy)(EventHandle event) = nullptr;
    Status (*hipEventRecord)(EventHandle event, StreamHandle stream) = nullptr;
    Status (*hipEventQuery)(EventHandle event) = nullptr;
    Status (*hipEventSynchronize)(EventHandle event) = nullptr;
    Status (*hipEventElapsedTime)(float* milliseconds, EventHandle start, EventHandle stop) = nullptr;

    Status (*hipModuleLoadData)(ModuleHandle* module, const void* image) = nullptr;
    Status (*hipModuleUnload)(ModuleHandle module) = nullptr;
    Status (*hipModuleGetFunction)(FunctionHandle* function, ModuleHandle module, const char* name) = nullptr;
    Status (*hipFuncGetAttribute)(int* value, int attribute, FunctionHandle function) = nullptr;
    Status (*hipModuleLaunchKernel)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                    StreamHandle stream, void** parameters, void** extra) = nullptr;

    // Where one is missing, something is off: capture, timed graphs, host memory, external memory, timelines.
    Status (*hipStreamBeginCapture)(StreamHandle stream, int mode) = nullptr;
    Status (*hipStreamEndCapture)(StreamHandle stream, GraphHandle* graph) = nullptr;
    Status (*hipGraphInstantiate)(GraphExecHandle* exec, GraphHandle graph, GraphNodeHandle* error_node, char* log,
                                  std::size_t log_bytes) = nullptr;
    Status (*hipGraphGetNodes)(GraphHandle graph, GraphNodeHandle* nodes, std::size_t* count) = nullptr;
    Status (*hipGraphLaunch)(GraphExecHandle exec, StreamHandle stream) = nullptr;
    Status (*hipGraphExecDestroy)(GraphExecHandle exec) = nullptr;
    Status (*hipGraphDestroy)(GraphHandle graph) = nullptr;
    Status (*hipStreamGetCaptureInfo_v2)(StreamHandle stream, int* status, unsigned long long* id, GraphHandle* graph,
                                         const GraphNodeHandle** dependencies, std::size_t* count) = nullptr;
    Status (*hipStreamUpdateCaptureDependencies)(StreamHandle stream, GraphNodeHandle* dependencies, std::size_t count,
                                                 unsigned flags) = nullptr;
    Status (*hipGraphAddEventRecordNode)(GraphNodeHandle* node, GraphHandle graph, const GraphNodeHandle* dependencies,
                                         std::size_t count, EventHandle event) = nullptr;
    Status (*hipHostRegister)(void* host, std::size_t bytes, unsigned flags) = nullptr;
    Status (*hipHostUnregister)(void* host) = nullptr;
    Status (*hipImportExternalMemory)(ExternalMemoryHandle* memory, const ExternalMemoryHandleDesc* desc) = nullptr;
    Status (*hipExternalMemoryGetMappedBuffer)(void** address, ExternalMemoryHandle memory,
                                               const ExternalMemoryBufferDesc* desc) = nullptr;
    Status (*hipDestroyExternalMemory)(ExternalMemoryHandle memory) = nullptr;
    Status (*hipImportExternalSemaphore)(ExternalSemaphoreHandle* semaphore,
                                         const ExternalSemaphoreHandleDesc* desc) = nullptr;
    Status (*hipDestroyExternalSemaphore)(ExternalSemaphoreHandle semaphore) = nullptr;
    Status (*hipWaitExternalSemaphoresAsync)(const ExternalSemaphoreHandle* semaphores,
                                             const ExternalSemaphoreParams* params, unsigned count,
                                             StreamHandle stream) = nullptr;
    Status (*hipSignalExternalSemaphoresAsync)(const ExternalSemaphoreHandle* semaphores,
                                               const ExternalSemaphoreParams* params, unsigned count,
                                               StreamHandle stream) = nullptr;
};

}  // namespace kinetograph::accel::hip
