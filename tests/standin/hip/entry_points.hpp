// The entry points that the stand-in exports, declared with the types of engine/accel/hip's table, and their shared
// helpers.
#pragma once

#include <kinetograph/engine/accel/hip/entry_points.hpp>
#include <kinetograph/tests/standin/entry_points.hpp>

namespace kinetograph::accel::hip {

using standin::AddressKind;
using standin::Machine;

inline Machine& machine() { return Machine::instance(); }

STANDIN_HANDLE(StreamHandle, Stream)
STANDIN_HANDLE(EventHandle, Event)
STANDIN_HANDLE(ModuleHandle, Module)
STANDIN_HANDLE(FunctionHandle, Function)
STANDIN_HANDLE(GraphHandle, Graph)
STANDIN_HANDLE(GraphNodeHandle, GraphNode)
STANDIN_HANDLE(GraphExecHandle, GraphExec)
STANDIN_HANDLE(ExternalMemoryHandle, ExternalMemory)

/// The device that the calling thread has chosen.
int& current_device();

/// True, with a complaint, for a handle that does not exist.
inline bool unknown_stream(StreamHandle stream, const char* call) {
    if (machine().streams.contain(of(stream))) return false;
    machine().complain(fmt::format("{} on a stream that does not exist", call));
    return true;
}

// Declared with the types of engine/accel/hip: a definition that differs does not compile.
#define STANDIN_DECLARE(name) extern "C" decltype(EntryPoints::name)::Function name
STANDIN_DECLARE(hipInit);
STANDIN_DECLARE(hipRuntimeGetVersion);
STANDIN_DECLARE(hipGetDeviceCount);
STANDIN_DECLARE(hipSetDevice);
STANDIN_DECLARE(hipDeviceCanAccessPeer);
STANDIN_DECLARE(hipDeviceEnablePeerAccess);
STANDIN_DECLARE(hipGetDevicePropertiesR0600);
STANDIN_DECLARE(hipDeviceGetAttribute);
STANDIN_DECLARE(hipMemGetInfo);
STANDIN_DECLARE(hipGetErrorName);
STANDIN_DECLARE(hipMalloc);
STANDIN_DECLARE(hipExtMallocWithFlags);
STANDIN_DECLARE(hipFree);
STANDIN_DECLARE(hipHostMalloc);
STANDIN_DECLARE(hipHostFree);
STANDIN_DECLARE(hipHostGetDevicePointer);
STANDIN_DECLARE(hipPointerGetAttributes);
STANDIN_DECLARE(hipMemcpyAsync);
STANDIN_DECLARE(hipMemsetAsync);
STANDIN_DECLARE(hipStreamCreateWithFlags);
STANDIN_DECLARE(hipStreamDestroy);
STANDIN_DECLARE(hipStreamQuery);
STANDIN_DECLARE(hipStreamSynchronize);
STANDIN_DECLARE(hipStreamWaitValue64);
STANDIN_DECLARE(hipStreamWriteValue64);
STANDIN_DECLARE(hipLaunchHostFunc);
STANDIN_DECLARE(hipEventCreateWithFlags);
STANDIN_DECLARE(hipEventDestroy);
STANDIN_DECLARE(hipEventRecord);
STANDIN_DECLARE(hipEventQuery);
STANDIN_DECLARE(hipEventSynchronize);
STANDIN_DECLARE(hipEventElapsedTime);
STANDIN_DECLARE(hipModuleLoadData);
STANDIN_DECLARE(hipModuleUnload);
STANDIN_DECLARE(hipModuleGetFunction);
STANDIN_DECLARE(hipFuncGetAttribute);
STANDIN_DECLARE(hipModuleLaunchKernel);
STANDIN_DECLARE(hipStreamBeginCapture);
STANDIN_DECLARE(hipStreamEndCapture);
STANDIN_DECLARE(hipStreamIsCapturing);
STANDIN_DECLARE(hipGraphInstantiate);
STANDIN_DECLARE(hipGraphGetNodes);
STANDIN_DECLARE(hipGraphLaunch);
STANDIN_DECLARE(hipGraphExecDestroy);
STANDIN_DECLARE(hipGraphDestroy);
STANDIN_DECLARE(hipStreamGetCaptureInfo_v2);
STANDIN_DECLARE(hipStreamUpdateCaptureDependencies);
STANDIN_DECLARE(hipGraphAddEventRecordNode);
STANDIN_DECLARE(hipHostRegister);
STANDIN_DECLARE(hipHostUnregister);
STANDIN_DECLARE(hipImportExternalMemory);
STANDIN_DECLARE(hipExternalMemoryGetMappedBuffer);
STANDIN_DECLARE(hipDestroyExternalMemory);
STANDIN_DECLARE(hipImportExternalSemaphore);
STANDIN_DECLARE(hipDestroyExternalSemaphore);
STANDIN_DECLARE(hipWaitExternalSemaphoresAsync);
STANDIN_DECLARE(hipSignalExternalSemaphoresAsync);
#undef STANDIN_DECLARE

}  // namespace kinetograph::accel::hip

/// Counts the call; returns with an injected status.
#define STANDIN_ENTER() \
    if (const auto injected = kinetograph::accel::hip::machine().enter(__func__); !injected.ok()) return injected
