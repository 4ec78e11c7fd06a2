// The functions of the HIP runtime that we call. Where an optional one is missing, a capability is off.
#pragma once

#include <kinetograph/engine/accel/gpu/entry_points.hpp>
#include <kinetograph/engine/accel/hip/driver_api.hpp>

namespace kinetograph::accel::hip {

using gpu::EntryPoint;
using gpu::Need;

struct EntryPoints : gpu::EntryPointTable {
    EntryPoint<Status(unsigned flags)> hipInit{*this, "hipInit"};
    EntryPoint<Status(int* version)> hipRuntimeGetVersion{*this, "hipRuntimeGetVersion"};
    EntryPoint<Status(int* count)> hipGetDeviceCount{*this, "hipGetDeviceCount"};
    EntryPoint<Status(int device)> hipSetDevice{*this, "hipSetDevice"};
    EntryPoint<Status(DeviceProperties* properties, int device)> hipGetDevicePropertiesR0600{
        *this, "hipGetDevicePropertiesR0600"};
    EntryPoint<Status(int* value, int attribute, int device)> hipDeviceGetAttribute{*this, "hipDeviceGetAttribute"};
    EntryPoint<Status(int* can, int device, int peer)> hipDeviceCanAccessPeer{*this, "hipDeviceCanAccessPeer",
                                                                              Need::Optional};
    /// Kernels of the current device then address memory of `peer`.
    EntryPoint<Status(int peer, unsigned flags)> hipDeviceEnablePeerAccess{*this, "hipDeviceEnablePeerAccess",
                                                                           Need::Optional};
    EntryPoint<Status(std::size_t* free, std::size_t* total)> hipMemGetInfo{*this, "hipMemGetInfo"};
    EntryPoint<const char*(Status status)> hipGetErrorName{*this, "hipGetErrorName"};
    EntryPoint<Status(void** address, std::size_t bytes)> hipMalloc{*this, "hipMalloc"};
    EntryPoint<Status(void** address, std::size_t bytes, unsigned flags)> hipExtMallocWithFlags{
        *this, "hipExtMallocWithFlags"};
    EntryPoint<Status(void* address)> hipFree{*this, "hipFree"};
    EntryPoint<Status(void** host, std::size_t bytes, unsigned flags)> hipHostMalloc{*this, "hipHostMalloc"};
    EntryPoint<Status(void* host)> hipHostFree{*this, "hipHostFree"};
    EntryPoint<Status(void** device, void* host, unsigned flags)> hipHostGetDevicePointer{*this,
                                                                                          "hipHostGetDevicePointer"};
    EntryPoint<Status(void* to, const void* from, std::size_t bytes, int kind, StreamHandle stream)> hipMemcpyAsync{
        *this, "hipMemcpyAsync"};
    EntryPoint<Status(void* address, int value, std::size_t bytes, StreamHandle stream)> hipMemsetAsync{
        *this, "hipMemsetAsync"};
    EntryPoint<Status(StreamHandle* stream, unsigned flags)> hipStreamCreateWithFlags{*this,
                                                                                      "hipStreamCreateWithFlags"};
    EntryPoint<Status(StreamHandle stream)> hipStreamDestroy{*this, "hipStreamDestroy"};
    EntryPoint<Status(StreamHandle stream)> hipStreamQuery{*this, "hipStreamQuery"};
    EntryPoint<Status(StreamHandle stream)> hipStreamSynchronize{*this, "hipStreamSynchronize"};
    EntryPoint<Status(StreamHandle stream, void* address, std::uint64_t value, unsigned flags, std::uint64_t mask)>
        hipStreamWaitValue64{*this, "hipStreamWaitValue64"};
    EntryPoint<Status(StreamHandle stream, void* address, std::uint64_t value, unsigned flags)> hipStreamWriteValue64{
        *this, "hipStreamWriteValue64"};
    EntryPoint<Status(StreamHandle stream, HostFunction function, void* user_data)> hipLaunchHostFunc{
        *this, "hipLaunchHostFunc"};
    EntryPoint<Status(EventHandle* event, unsigned flags)> hipEventCreateWithFlags{*this, "hipEventCreateWithFlags"};
    EntryPoint<Status(EventHandle event)> hipEventDestroy{*this, "hipEventDestroy"};
    EntryPoint<Status(EventHandle event, StreamHandle stream)> hipEventRecord{*this, "hipEventRecord"};
    EntryPoint<Status(EventHandle event)> hipEventQuery{*this, "hipEventQuery"};
    EntryPoint<Status(EventHandle event)> hipEventSynchronize{*this, "hipEventSynchronize"};
    EntryPoint<Status(float* milliseconds, EventHandle start, EventHandle stop)> hipEventElapsedTime{
        *this, "hipEventElapsedTime"};
    EntryPoint<Status(ModuleHandle* module, const void* image)> hipModuleLoadData{*this, "hipModuleLoadData"};
    EntryPoint<Status(ModuleHandle module)> hipModuleUnload{*this, "hipModuleUnload"};
    EntryPoint<Status(FunctionHandle* function, ModuleHandle module, const char* name)> hipModuleGetFunction{
        *this, "hipModuleGetFunction"};
    EntryPoint<Status(int* value, int attribute, FunctionHandle function)> hipFuncGetAttribute{*this,
                                                                                               "hipFuncGetAttribute"};
    EntryPoint<Status(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream, void** parameters,
                      void** extra)>
        hipModuleLaunchKernel{*this, "hipModuleLaunchKernel"};

    // Optional from here on: capture, timed graphs, pointer queries, host memory, external memory, timelines.
    EntryPoint<Status(StreamHandle stream, int mode)> hipStreamBeginCapture{*this, "hipStreamBeginCapture",
                                                                            Need::Optional};
    EntryPoint<Status(StreamHandle stream, GraphHandle* graph)> hipStreamEndCapture{*this, "hipStreamEndCapture",
                                                                                    Need::Optional};
    EntryPoint<Status(StreamHandle stream, int* status)> hipStreamIsCapturing{*this, "hipStreamIsCapturing",
                                                                              Need::Optional};
    EntryPoint<Status(GraphExecHandle* exec, GraphHandle graph, GraphNodeHandle* error_node, char* log,
                      std::size_t log_bytes)>
        hipGraphInstantiate{*this, "hipGraphInstantiate", Need::Optional};
    EntryPoint<Status(GraphHandle graph, GraphNodeHandle* nodes, std::size_t* count)> hipGraphGetNodes{
        *this, "hipGraphGetNodes", Need::Optional};
    EntryPoint<Status(GraphExecHandle exec, StreamHandle stream)> hipGraphLaunch{*this, "hipGraphLaunch",
                                                                                 Need::Optional};
    EntryPoint<Status(GraphExecHandle exec)> hipGraphExecDestroy{*this, "hipGraphExecDestroy", Need::Optional};
    EntryPoint<Status(GraphHandle graph)> hipGraphDestroy{*this, "hipGraphDestroy", Need::Optional};
    EntryPoint<Status(StreamHandle stream, int* status, unsigned long long* id, GraphHandle* graph,
                      const GraphNodeHandle** dependencies, std::size_t* count)>
        hipStreamGetCaptureInfo_v2{*this, "hipStreamGetCaptureInfo_v2", Need::Optional};
    EntryPoint<Status(StreamHandle stream, GraphNodeHandle* dependencies, std::size_t count, unsigned flags)>
        hipStreamUpdateCaptureDependencies{*this, "hipStreamUpdateCaptureDependencies", Need::Optional};
    EntryPoint<Status(GraphNodeHandle* node, GraphHandle graph, const GraphNodeHandle* dependencies, std::size_t count,
                      EventHandle event)>
        hipGraphAddEventRecordNode{*this, "hipGraphAddEventRecordNode", Need::Optional};
    EntryPoint<Status(PointerAttributes* attributes, const void* address)> hipPointerGetAttributes{
        *this, "hipPointerGetAttributes", Need::Optional};
    EntryPoint<Status(void* host, std::size_t bytes, unsigned flags)> hipHostRegister{*this, "hipHostRegister",
                                                                                      Need::Optional};
    EntryPoint<Status(void* host)> hipHostUnregister{*this, "hipHostUnregister", Need::Optional};
    EntryPoint<Status(ExternalMemoryHandle* memory, const ExternalMemoryHandleDesc* desc)> hipImportExternalMemory{
        *this, "hipImportExternalMemory", Need::Optional};
    EntryPoint<Status(void** address, ExternalMemoryHandle memory, const ExternalMemoryBufferDesc* desc)>
        hipExternalMemoryGetMappedBuffer{*this, "hipExternalMemoryGetMappedBuffer", Need::Optional};
    EntryPoint<Status(ExternalMemoryHandle memory)> hipDestroyExternalMemory{*this, "hipDestroyExternalMemory",
                                                                             Need::Optional};
    EntryPoint<Status(ExternalSemaphoreHandle* semaphore, const ExternalSemaphoreHandleDesc* desc)>
        hipImportExternalSemaphore{*this, "hipImportExternalSemaphore", Need::Optional};
    EntryPoint<Status(ExternalSemaphoreHandle semaphore)> hipDestroyExternalSemaphore{
        *this, "hipDestroyExternalSemaphore", Need::Optional};
    EntryPoint<Status(const ExternalSemaphoreHandle* semaphores, const ExternalSemaphoreParams* params, unsigned count,
                      StreamHandle stream)>
        hipWaitExternalSemaphoresAsync{*this, "hipWaitExternalSemaphoresAsync", Need::Optional};
    EntryPoint<Status(const ExternalSemaphoreHandle* semaphores, const ExternalSemaphoreParams* params, unsigned count,
                      StreamHandle stream)>
        hipSignalExternalSemaphoresAsync{*this, "hipSignalExternalSemaphoresAsync", Need::Optional};
};

}  // namespace kinetograph::accel::hip
