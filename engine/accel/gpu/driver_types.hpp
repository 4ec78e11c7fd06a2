// Types that the binary interfaces of CUDA and HIP have in common.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kinetograph::accel::gpu {

using StreamHandle = struct OpaqueStream*;
using EventHandle = struct OpaqueEvent*;
using ModuleHandle = struct OpaqueModule*;
using FunctionHandle = struct OpaqueFunction*;
using GraphHandle = struct OpaqueGraph*;
using GraphNodeHandle = struct OpaqueGraphNode*;
using GraphExecHandle = struct OpaqueGraphExec*;
using ExternalMemoryHandle = struct OpaqueExternalMemory*;
using ExternalSemaphoreHandle = struct OpaqueExternalSemaphore*;
using HostFunction = void (*)(void* user_data);

inline constexpr unsigned kExternalMemoryDedicated = 1;
inline constexpr unsigned kStreamNonBlocking = 1;  // does not synchronise with the null stream
inline constexpr unsigned kEventDefault = 0;       // with time stamps
inline constexpr unsigned kHostRegisterPortable = 1;
inline constexpr unsigned kHostRegisterMapped = 2;

enum class ExternalMemoryType : int { OpaqueFd = 1 };
/// CUDA_EXTERNAL_MEMORY_HANDLE_DESC, hipExternalMemoryHandleDesc.
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

/// CUDA_EXTERNAL_MEMORY_BUFFER_DESC, hipExternalMemoryBufferDesc.
struct ExternalMemoryBufferDesc {
    unsigned long long offset;
    unsigned long long size;
    unsigned flags;
    unsigned reserved[16];
};
static_assert(sizeof(ExternalMemoryBufferDesc) == 88);

enum class ExternalSemaphoreType : int { TimelineSemaphoreFd = 9 };
/// CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, hipExternalSemaphoreHandleDesc.
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

/// CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS and ..._WAIT_PARAMS, and HIP's: alike in the members that we use.
struct ExternalSemaphoreParams {
    unsigned long long value;
    std::byte other_kinds[64];
    unsigned flags;
    unsigned reserved[16];
};
static_assert(sizeof(ExternalSemaphoreParams) == 144 && offsetof(ExternalSemaphoreParams, flags) == 72);

}  // namespace kinetograph::accel::gpu
