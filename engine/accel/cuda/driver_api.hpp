// The part of the CUDA driver's binary interface that we use, declared here so that no CUDA package is needed to build.
// Source: CUDA Driver API Reference, CUDA 12.0 and newer. tests/engine/accel/cuda compares every declaration with the
// toolkit's cuda.h where there is one.
#pragma once

#include <kinetograph/engine/accel/gpu/driver_types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace kinetograph::accel::cuda {

/// CUresult. Names for people come from the driver itself (cuGetErrorName).
enum class Status : int {
    Success = 0,
    InvalidValue = 1,
    OutOfMemory = 2,
    NotInitialized = 3,
    Deinitialized = 4,
    StubLibrary = 34,
    DeviceUnavailable = 46,
    NoDevice = 100,
    InvalidDevice = 101,
    InvalidImage = 200,
    InvalidContext = 201,
    MapFailed = 205,
    NoBinaryForGpu = 209,
    EccUncorrectable = 214,
    InvalidPtx = 218,
    NvlinkUncorrectable = 220,
    JitCompilerNotFound = 221,
    UnsupportedPtxVersion = 222,
    JitCompilationDisabled = 223,
    Contained = 226,
    InvalidSource = 300,
    OperatingSystem = 304,
    InvalidHandle = 400,
    IllegalState = 401,
    NotFound = 500,
    NotReady = 600,
    IllegalAddress = 700,
    LaunchOutOfResources = 701,
    LaunchTimeout = 702,
    PeerAccessAlreadyEnabled = 704,
    ContextIsDestroyed = 709,
    Assert = 710,
    HostMemoryAlreadyRegistered = 712,
    HostMemoryNotRegistered = 713,
    HardwareStackError = 714,
    IllegalInstruction = 715,
    MisalignedAddress = 716,
    InvalidAddressSpace = 717,
    InvalidPc = 718,
    LaunchFailed = 719,
    TensorMemoryLeak = 721,
    NotPermitted = 800,
    NotSupported = 801,
    SystemNotReady = 802,
    SystemDriverMismatch = 803,
    CompatNotSupportedOnDevice = 804,
    StreamCaptureUnsupported = 900,
    StreamCaptureInvalidated = 901,
    StreamCaptureMerge = 902,
    StreamCaptureUnmatched = 903,
    StreamCaptureUnjoined = 904,
    StreamCaptureIsolation = 905,
    StreamCaptureImplicit = 906,
    CapturedEvent = 907,
    StreamCaptureWrongThread = 908,
    ExternalDevice = 911,
    InvalidClusterSize = 912,
    Unknown = 999,
};

using DeviceOrdinal = int;                 // CUdevice
using DeviceAddress = unsigned long long;  // CUdeviceptr
using ContextHandle = struct OpaqueContext*;
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

struct Uuid {
    std::uint8_t bytes[16];
};

/// CUdevice_attribute.
enum class DeviceAttribute : int {
    MaxThreadsPerBlock = 1,
    MultiprocessorCount = 16,
    PciBus = 33,
    PciDevice = 34,
    PciDomain = 50,
    ComputeCapabilityMajor = 75,
    ComputeCapabilityMinor = 76,
    MaxSharedBytesPerBlockOptin = 97,
    HostRegisterSupported = 99,
    TimelineSemaphoreInteropSupported = 114,
    ClusterLaunch = 120,
    CanUse64BitStreamMemOps = 122,
    TensorMapAccessSupported = 127,
};

/// CUfunction_attribute.
enum class FunctionAttribute : int {
    MaxThreadsPerBlock = 0,
    SharedBytes = 1,
    LocalBytes = 3,
    Registers = 4,
    BinaryVersion = 6,
    MaxDynamicSharedBytes = 8,
    NonPortableClusterSizeAllowed = 14,
};

/// CUpointer_attribute, and CUmemorytype; memory that the driver does not know has none.
enum class PointerAttribute : int { MemoryType = 2, IsManaged = 8, DeviceOrdinal = 9 };
enum class MemoryType : unsigned { None = 0, Host = 1, Device = 2 };

/// CUjit_option.
enum class JitOption : int { ErrorLogBuffer = 5, ErrorLogBufferBytes = 6 };

inline constexpr unsigned kEventRecordDefault = 0;       // in a capture: marks a place in it and stamps nothing
inline constexpr unsigned kEventRecordExternal = 1;      // in a capture: a node that stamps the event in every replay
inline constexpr unsigned kHostAllocPortable = 1;        // pinned for every context
inline constexpr unsigned kHostAllocMapped = 2;          // the device may address it
inline constexpr unsigned kStreamWaitValueGeq = 0;       // until the difference, taken as signed, is not negative
inline constexpr unsigned kStreamWriteValueDefault = 0;  // after everything that the stream has written before

/// CUstreamCaptureMode: which calls of which threads spoil a capture.
enum class CaptureMode : int { Global = 0, ThreadLocal = 1, Relaxed = 2 };
enum class CaptureStatus : int { None = 0, Active = 1, Invalidated = 2 };

/// CUlaunchAttribute; members of the value that we do not write are skipped by size.
enum class LaunchAttributeId : int { ClusterDimension = 4 };
struct LaunchAttribute {
    LaunchAttributeId id;
    std::uint32_t padding;
    struct {
        std::uint32_t x, y, z;
    } cluster;
    std::byte rest_of_value[52];
};
static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchAttribute, cluster) == 8);

/// CUlaunchConfig.
struct LaunchConfig {
    unsigned grid_x, grid_y, grid_z;
    unsigned block_x, block_y, block_z;
    unsigned dynamic_shared_bytes;
    StreamHandle stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

/// CUtensorMap: what the tensor copy engine knows of a tensor in memory. Made by tensor_map.hpp; a kernel takes it as
/// part of a __grid_constant__ parameter.
struct alignas(64) TensorMap {
    std::array<std::uint64_t, 16> words;
};
static_assert(sizeof(TensorMap) == 128);

enum class TensorMapDataType : int {
    Uint8 = 0,
    Uint16 = 1,
    Uint32 = 2,
    Int32 = 3,
    Uint64 = 4,
    Int64 = 5,
    Float16 = 6,
    Float32 = 7,
    Float64 = 8,
    Bfloat16 = 9,
};
enum class TensorMapInterleave : int { None = 0 };
enum class TensorMapSwizzle : int { None = 0, Span32 = 1, Span64 = 2, Span128 = 3 };
enum class TensorMapL2Promotion : int { None = 0, Bytes64 = 1, Bytes128 = 2, Bytes256 = 3 };
enum class TensorMapOutOfBounds : int { Zeros = 0, NanForZeroFma = 1 };

}  // namespace kinetograph::accel::cuda
