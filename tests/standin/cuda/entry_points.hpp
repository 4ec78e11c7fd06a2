// The entry points that the stand-in exports, declared with the types of engine/accel/cuda's table, and their shared
// helpers.
#pragma once

#include <kinetograph/engine/accel/cuda/entry_points.hpp>
#include <kinetograph/tests/standin/cuda/chip.hpp>
#include <kinetograph/tests/standin/entry_points.hpp>

namespace kinetograph::accel::cuda {

using standin::AddressKind;
using standin::Machine;

inline Machine& machine() { return Machine::instance(); }

STANDIN_HANDLE(EventHandle, Event)
STANDIN_HANDLE(ModuleHandle, Module)
STANDIN_HANDLE(FunctionHandle, Function)
STANDIN_HANDLE(GraphHandle, Graph)
STANDIN_HANDLE(GraphNodeHandle, GraphNode)
STANDIN_HANDLE(GraphExecHandle, GraphExec)
STANDIN_HANDLE(ExternalMemoryHandle, ExternalMemory)
STANDIN_HANDLE(ExternalSemaphoreHandle, ExternalSemaphore)

/// The default stream of the calling thread's current context; null without a context.
standin::Stream* default_stream();
/// A null handle is the default stream's.
inline standin::Stream* of(StreamHandle handle) {
    return handle == nullptr ? default_stream() : reinterpret_cast<standin::Stream*>(handle);
}
inline StreamHandle handle_of(standin::Stream* stream) { return reinterpret_cast<StreamHandle>(stream); }

inline void* pointer(DeviceAddress address) { return reinterpret_cast<void*>(address); }
inline DeviceAddress address_of(const void* memory) { return reinterpret_cast<DeviceAddress>(memory); }

/// What a call requires.
enum class Needs : std::uint8_t {
    Nothing,
    Driver,          ///< cuInit has been called
    Context,         ///< a context is current on the calling thread
    HealthyContext,  ///< and nothing has failed in it: in a failed one objects can only be released
};
/// Counts the call; returns Success, or the status that the entry point must return at once.
Status enter(const char* call, Needs needs);

/// The device whose context is current on the calling thread; there must be one.
int current_device();

/// The status for calls that wait, or may wait, for the device and so invalidate captures: not Success while captures
/// forbid them to the calling thread, by the rules of cuThreadExchangeStreamCaptureMode.
Status refuse_during_captures(const char* call);
void begin_capture(standin::Stream& stream, CaptureMode mode);
/// Ends the capture and lifts what it forbids. StreamCaptureWrongThread if the mode forbids this thread to end the
/// capture, which is lost.
Status end_capture(const standin::Stream& stream);
void forget_capture(const standin::Stream& stream);

/// True, with a complaint, for a handle that does not exist, or belongs to another context than the current one.
template <class Object>
bool unknown(const standin::Handles<Object>& objects, Object* object, const char* call) {
    if (!objects.contain(object)) {
        machine().complain(fmt::format("{} of what does not exist", call));
        return true;
    }
    if constexpr (requires { object->device; }) {
        if (object->device != current_device()) {
            machine().complain(fmt::format("{} of what belongs to device {} while device {} is current", call,
                                           object->device, current_device()));
            return true;
        }
    }
    return false;
}

// Declared with the types of engine/accel/cuda: a definition that differs does not compile.
#define STANDIN_DECLARE(name) extern "C" decltype(EntryPoints::name)::Function name
STANDIN_DECLARE(cuInit);
STANDIN_DECLARE(cuDriverGetVersion);
STANDIN_DECLARE(cuGetErrorName);
STANDIN_DECLARE(cuDeviceGetCount);
STANDIN_DECLARE(cuDeviceGet);
STANDIN_DECLARE(cuDeviceGetName);
STANDIN_DECLARE(cuDeviceGetUuid_v2);
STANDIN_DECLARE(cuDeviceTotalMem_v2);
STANDIN_DECLARE(cuDeviceGetAttribute);
STANDIN_DECLARE(cuDevicePrimaryCtxRetain);
STANDIN_DECLARE(cuDevicePrimaryCtxRelease_v2);
STANDIN_DECLARE(cuCtxGetCurrent);
STANDIN_DECLARE(cuDeviceCanAccessPeer);
STANDIN_DECLARE(cuCtxEnablePeerAccess);
STANDIN_DECLARE(cuCtxPushCurrent_v2);
STANDIN_DECLARE(cuCtxPopCurrent_v2);
STANDIN_DECLARE(cuMemGetInfo_v2);
STANDIN_DECLARE(cuMemAlloc_v2);
STANDIN_DECLARE(cuMemFree_v2);
STANDIN_DECLARE(cuMemHostAlloc);
STANDIN_DECLARE(cuMemFreeHost);
STANDIN_DECLARE(cuMemHostGetDevicePointer_v2);
STANDIN_DECLARE(cuMemHostRegister_v2);
STANDIN_DECLARE(cuMemHostUnregister);
STANDIN_DECLARE(cuPointerGetAttributes);
STANDIN_DECLARE(cuMemcpyAsync);
STANDIN_DECLARE(cuMemsetD8Async);
STANDIN_DECLARE(cuStreamCreate);
STANDIN_DECLARE(cuStreamDestroy_v2);
STANDIN_DECLARE(cuStreamGetCtx);
STANDIN_DECLARE(cuStreamQuery);
STANDIN_DECLARE(cuStreamSynchronize);
STANDIN_DECLARE(cuStreamWaitValue64_v2);
STANDIN_DECLARE(cuStreamWriteValue64_v2);
STANDIN_DECLARE(cuLaunchHostFunc);
STANDIN_DECLARE(cuEventCreate);
STANDIN_DECLARE(cuEventDestroy_v2);
STANDIN_DECLARE(cuEventRecordWithFlags);
STANDIN_DECLARE(cuEventQuery);
STANDIN_DECLARE(cuEventSynchronize);
extern "C" decltype(EntryPoints::cuEventElapsedTime_v1)::Function cuEventElapsedTime;
STANDIN_DECLARE(cuModuleLoadDataEx);
STANDIN_DECLARE(cuModuleUnload);
STANDIN_DECLARE(cuModuleGetFunction);
STANDIN_DECLARE(cuFuncGetAttribute);
STANDIN_DECLARE(cuFuncSetAttribute);
STANDIN_DECLARE(cuFuncGetParamInfo);
STANDIN_DECLARE(cuLaunchKernelEx);
STANDIN_DECLARE(cuStreamBeginCapture_v2);
STANDIN_DECLARE(cuStreamEndCapture);
STANDIN_DECLARE(cuStreamIsCapturing);
STANDIN_DECLARE(cuThreadExchangeStreamCaptureMode);
STANDIN_DECLARE(cuGraphInstantiateWithFlags);
STANDIN_DECLARE(cuGraphGetNodes);
STANDIN_DECLARE(cuGraphUpload);
STANDIN_DECLARE(cuGraphLaunch);
STANDIN_DECLARE(cuGraphExecDestroy);
STANDIN_DECLARE(cuGraphDestroy);
STANDIN_DECLARE(cuImportExternalMemory);
STANDIN_DECLARE(cuExternalMemoryGetMappedBuffer);
STANDIN_DECLARE(cuDestroyExternalMemory);
STANDIN_DECLARE(cuImportExternalSemaphore);
STANDIN_DECLARE(cuDestroyExternalSemaphore);
STANDIN_DECLARE(cuWaitExternalSemaphoresAsync);
STANDIN_DECLARE(cuSignalExternalSemaphoresAsync);
STANDIN_DECLARE(cuTensorMapEncodeTiled);
STANDIN_DECLARE(cuTensorMapEncodeIm2col);
#undef STANDIN_DECLARE

}  // namespace kinetograph::accel::cuda

#define STANDIN_LEAVE_UNLESS(call)                                                                             \
    if (const kinetograph::accel::cuda::Status left = call; left != kinetograph::accel::cuda::Status::Success) \
    return left
#define STANDIN_ENTER(needs) STANDIN_LEAVE_UNLESS(enter(__func__, Needs::needs))
