// The functions of the CUDA driver that we call. Optional is what came after CUDA 12.0.
#pragma once

#include <kinetograph/engine/accel/cuda/driver_api.hpp>
#include <kinetograph/engine/accel/gpu/entry_points.hpp>

namespace kinetograph::accel::cuda {

using gpu::EntryPoint;
using gpu::Need;

/// Members are named by the exported symbol: cuda.h makes macros of the short names.
struct EntryPoints : gpu::EntryPointTable {
    EntryPoint<Status(unsigned flags)> cuInit{*this, "cuInit"};
    EntryPoint<Status(int* version)> cuDriverGetVersion{*this, "cuDriverGetVersion"};
    EntryPoint<Status(Status status, const char** name)> cuGetErrorName{*this, "cuGetErrorName"};

    EntryPoint<Status(int* count)> cuDeviceGetCount{*this, "cuDeviceGetCount"};
    EntryPoint<Status(DeviceOrdinal* device, int ordinal)> cuDeviceGet{*this, "cuDeviceGet"};
    EntryPoint<Status(char* name, int bytes, DeviceOrdinal device)> cuDeviceGetName{*this, "cuDeviceGetName"};
    EntryPoint<Status(Uuid* uuid, DeviceOrdinal device)> cuDeviceGetUuid_v2{*this, "cuDeviceGetUuid_v2"};
    EntryPoint<Status(std::size_t* bytes, DeviceOrdinal device)> cuDeviceTotalMem_v2{*this, "cuDeviceTotalMem_v2"};
    EntryPoint<Status(int* value, DeviceAttribute attribute, DeviceOrdinal device)> cuDeviceGetAttribute{
        *this, "cuDeviceGetAttribute"};

    EntryPoint<Status(ContextHandle* context, DeviceOrdinal device)> cuDevicePrimaryCtxRetain{
        *this, "cuDevicePrimaryCtxRetain"};
    EntryPoint<Status(DeviceOrdinal device)> cuDevicePrimaryCtxRelease_v2{*this, "cuDevicePrimaryCtxRelease_v2"};
    EntryPoint<Status(ContextHandle* context)> cuCtxGetCurrent{*this, "cuCtxGetCurrent"};
    EntryPoint<Status(ContextHandle context)> cuCtxPushCurrent_v2{*this, "cuCtxPushCurrent_v2"};
    EntryPoint<Status(ContextHandle* context)> cuCtxPopCurrent_v2{*this, "cuCtxPopCurrent_v2"};

    EntryPoint<Status(int* can, DeviceOrdinal device, DeviceOrdinal peer)> cuDeviceCanAccessPeer{
        *this, "cuDeviceCanAccessPeer", Need::Optional};
    /// Kernels of the current context then address memory of `peer`.
    EntryPoint<Status(ContextHandle peer, unsigned flags)> cuCtxEnablePeerAccess{*this, "cuCtxEnablePeerAccess",
                                                                                 Need::Optional};

    EntryPoint<Status(std::size_t* free, std::size_t* total)> cuMemGetInfo_v2{*this, "cuMemGetInfo_v2"};
    EntryPoint<Status(DeviceAddress* address, std::size_t bytes)> cuMemAlloc_v2{*this, "cuMemAlloc_v2"};
    EntryPoint<Status(DeviceAddress address)> cuMemFree_v2{*this, "cuMemFree_v2"};
    EntryPoint<Status(void** host, std::size_t bytes, unsigned flags)> cuMemHostAlloc{*this, "cuMemHostAlloc"};
    EntryPoint<Status(void* host)> cuMemFreeHost{*this, "cuMemFreeHost"};
    EntryPoint<Status(DeviceAddress* address, void* host, unsigned flags)> cuMemHostGetDevicePointer_v2{
        *this, "cuMemHostGetDevicePointer_v2"};
    EntryPoint<Status(void* host, std::size_t bytes, unsigned flags)> cuMemHostRegister_v2{*this,
                                                                                           "cuMemHostRegister_v2"};
    EntryPoint<Status(void* host)> cuMemHostUnregister{*this, "cuMemHostUnregister"};
    /// Also succeeds for addresses that the driver does not know.
    EntryPoint<Status(unsigned count, PointerAttribute* attributes, void** values, DeviceAddress address)>
        cuPointerGetAttributes{*this, "cuPointerGetAttributes"};
    /// The addresses decide the direction. They may be of ordinary host memory, which is read before the call returns.
    EntryPoint<Status(DeviceAddress to, DeviceAddress from, std::size_t bytes, StreamHandle stream)> cuMemcpyAsync{
        *this, "cuMemcpyAsync"};
    EntryPoint<Status(DeviceAddress address, unsigned char value, std::size_t bytes, StreamHandle stream)>
        cuMemsetD8Async{*this, "cuMemsetD8Async"};

    EntryPoint<Status(StreamHandle* stream, unsigned flags)> cuStreamCreate{*this, "cuStreamCreate"};
    EntryPoint<Status(StreamHandle stream)> cuStreamDestroy_v2{*this, "cuStreamDestroy_v2"};
    EntryPoint<Status(StreamHandle stream, ContextHandle* context)> cuStreamGetCtx{*this, "cuStreamGetCtx"};
    EntryPoint<Status(StreamHandle stream)> cuStreamQuery{*this, "cuStreamQuery"};
    EntryPoint<Status(StreamHandle stream)> cuStreamSynchronize{*this, "cuStreamSynchronize"};
    EntryPoint<Status(StreamHandle stream, DeviceAddress address, std::uint64_t value, unsigned flags)>
        cuStreamWaitValue64_v2{*this, "cuStreamWaitValue64_v2"};
    EntryPoint<Status(StreamHandle stream, DeviceAddress address, std::uint64_t value, unsigned flags)>
        cuStreamWriteValue64_v2{*this, "cuStreamWriteValue64_v2"};
    EntryPoint<Status(StreamHandle stream, HostFunction function, void* user_data)> cuLaunchHostFunc{
        *this, "cuLaunchHostFunc"};

    EntryPoint<Status(EventHandle* event, unsigned flags)> cuEventCreate{*this, "cuEventCreate"};
    EntryPoint<Status(EventHandle event)> cuEventDestroy_v2{*this, "cuEventDestroy_v2"};
    EntryPoint<Status(EventHandle event, StreamHandle stream, unsigned flags)> cuEventRecordWithFlags{
        *this, "cuEventRecordWithFlags"};
    EntryPoint<Status(EventHandle event)> cuEventQuery{*this, "cuEventQuery"};
    EntryPoint<Status(EventHandle event)> cuEventSynchronize{*this, "cuEventSynchronize"};
    /// The first version, under the name without a number, which is a macro since CUDA 12.8.
    EntryPoint<Status(float* milliseconds, EventHandle start, EventHandle end)> cuEventElapsedTime_v1{
        *this, "cuEventElapsedTime"};

    EntryPoint<Status(ModuleHandle* module, const void* image, unsigned count, JitOption* options, void** values)>
        cuModuleLoadDataEx{*this, "cuModuleLoadDataEx"};
    EntryPoint<Status(ModuleHandle module)> cuModuleUnload{*this, "cuModuleUnload"};
    EntryPoint<Status(FunctionHandle* function, ModuleHandle module, const char* name)> cuModuleGetFunction{
        *this, "cuModuleGetFunction"};
    EntryPoint<Status(int* value, FunctionAttribute attribute, FunctionHandle function)> cuFuncGetAttribute{
        *this, "cuFuncGetAttribute"};
    EntryPoint<Status(FunctionHandle function, FunctionAttribute attribute, int value)> cuFuncSetAttribute{
        *this, "cuFuncSetAttribute"};
    /// CUDA 12.4: where a parameter lies in the arguments.
    EntryPoint<Status(FunctionHandle function, std::size_t index, std::size_t* offset, std::size_t* bytes)>
        cuFuncGetParamInfo{*this, "cuFuncGetParamInfo", Need::Optional};
    EntryPoint<Status(const LaunchConfig* config, FunctionHandle function, void** parameters, void** extra)>
        cuLaunchKernelEx{*this, "cuLaunchKernelEx"};
    EntryPoint<Status(int* clusters, FunctionHandle function, const LaunchConfig* config)> cuOccupancyMaxActiveClusters{
        *this, "cuOccupancyMaxActiveClusters", Need::Optional};

    EntryPoint<Status(StreamHandle stream, CaptureMode mode)> cuStreamBeginCapture_v2{*this, "cuStreamBeginCapture_v2"};
    EntryPoint<Status(StreamHandle stream, GraphHandle* graph)> cuStreamEndCapture{*this, "cuStreamEndCapture"};
    EntryPoint<Status(StreamHandle stream, CaptureStatus* status)> cuStreamIsCapturing{*this, "cuStreamIsCapturing"};
    /// Sets this thread's mode and returns the previous one.
    EntryPoint<Status(CaptureMode* mode)> cuThreadExchangeStreamCaptureMode{*this, "cuThreadExchangeStreamCaptureMode"};
    EntryPoint<Status(GraphExecHandle* exec, GraphHandle graph, unsigned long long flags)> cuGraphInstantiateWithFlags{
        *this, "cuGraphInstantiateWithFlags"};
    EntryPoint<Status(GraphHandle graph, GraphNodeHandle* nodes, std::size_t* count)> cuGraphGetNodes{
        *this, "cuGraphGetNodes"};
    EntryPoint<Status(GraphExecHandle exec, StreamHandle stream)> cuGraphUpload{*this, "cuGraphUpload"};
    EntryPoint<Status(GraphExecHandle exec, StreamHandle stream)> cuGraphLaunch{*this, "cuGraphLaunch"};
    EntryPoint<Status(GraphExecHandle exec)> cuGraphExecDestroy{*this, "cuGraphExecDestroy"};
    EntryPoint<Status(GraphHandle graph)> cuGraphDestroy{*this, "cuGraphDestroy"};

    EntryPoint<Status(ExternalMemoryHandle* memory, const ExternalMemoryHandleDesc* desc)> cuImportExternalMemory{
        *this, "cuImportExternalMemory"};
    EntryPoint<Status(DeviceAddress* address, ExternalMemoryHandle memory, const ExternalMemoryBufferDesc* desc)>
        cuExternalMemoryGetMappedBuffer{*this, "cuExternalMemoryGetMappedBuffer"};
    EntryPoint<Status(ExternalMemoryHandle memory)> cuDestroyExternalMemory{*this, "cuDestroyExternalMemory"};
    EntryPoint<Status(ExternalSemaphoreHandle* semaphore, const ExternalSemaphoreHandleDesc* desc)>
        cuImportExternalSemaphore{*this, "cuImportExternalSemaphore"};
    EntryPoint<Status(ExternalSemaphoreHandle semaphore)> cuDestroyExternalSemaphore{*this,
                                                                                     "cuDestroyExternalSemaphore"};
    EntryPoint<Status(const ExternalSemaphoreHandle* semaphores, const ExternalSemaphoreParams* params, unsigned count,
                      StreamHandle stream)>
        cuWaitExternalSemaphoresAsync{*this, "cuWaitExternalSemaphoresAsync"};
    EntryPoint<Status(const ExternalSemaphoreHandle* semaphores, const ExternalSemaphoreParams* params, unsigned count,
                      StreamHandle stream)>
        cuSignalExternalSemaphoresAsync{*this, "cuSignalExternalSemaphoresAsync"};

    EntryPoint<Status(TensorMap* map, TensorMapDataType type, std::uint32_t rank, void* address,
                      const std::uint64_t* dimensions, const std::uint64_t* stride_bytes, const std::uint32_t* box,
                      const std::uint32_t* element_strides, TensorMapInterleave interleave, TensorMapSwizzle swizzle,
                      TensorMapL2Promotion promotion, TensorMapOutOfBounds out_of_bounds)>
        cuTensorMapEncodeTiled{*this, "cuTensorMapEncodeTiled"};
    EntryPoint<Status(TensorMap* map, TensorMapDataType type, std::uint32_t rank, void* address,
                      const std::uint64_t* dimensions, const std::uint64_t* stride_bytes, const int* lower_corner,
                      const int* upper_corner, std::uint32_t channels_per_pixel, std::uint32_t pixels_per_column,
                      const std::uint32_t* element_strides, TensorMapInterleave interleave, TensorMapSwizzle swizzle,
                      TensorMapL2Promotion promotion, TensorMapOutOfBounds out_of_bounds)>
        cuTensorMapEncodeIm2col{*this, "cuTensorMapEncodeIm2col"};
};

}  // namespace kinetograph::accel::cuda
