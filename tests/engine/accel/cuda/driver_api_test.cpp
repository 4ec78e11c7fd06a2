// Our declarations of the driver's binary interface against the toolkit's own.
#include <gtest/gtest.h>
#include <kinetograph/engine/accel/cuda/entry_points.hpp>

#include <cuda.h>

#include <algorithm>
#include <set>
#include <type_traits>

namespace kinetograph::accel::cuda {
namespace {

template <class T>
concept Complete = requires {
    sizeof(T);
};

/// Passed alike in a call: both are pointers to things of one size, or both numbers of one size.
template <class Ours, class Theirs>
constexpr bool passed_alike() {
    if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
        using Our = std::remove_pointer_t<Ours>;
        using Their = std::remove_pointer_t<Theirs>;
        if constexpr (std::is_function_v<Our> || std::is_function_v<Their>)
            return std::is_function_v<Our> == std::is_function_v<Their>;
        else if constexpr (std::is_pointer_v<Our> && std::is_pointer_v<Their>)
            return passed_alike<Our, Their>();
        else if constexpr (Complete<Our> && Complete<Their>)
            return std::is_const_v<Our> == std::is_const_v<Their> && sizeof(Our) == sizeof(Their);
        else  // both void, or opaque handles
            return std::is_void_v<Our> == std::is_void_v<Their> && Complete<Our> == Complete<Their>;
    } else {
        return (std::is_integral_v<Ours> || std::is_enum_v<Ours>)&&(
                   std::is_integral_v<Theirs> || std::is_enum_v<Theirs>)&&sizeof(Ours) == sizeof(Theirs);
    }
}

template <class... Ours, class... Theirs>
constexpr bool same_signature(const EntryPoint<Status(Ours...)>& /*ours*/, CUresult (* /*theirs*/)(Theirs...)) {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs))
        return (passed_alike<Ours, Theirs>() && ...);
    else
        return false;
}

// A macro, because the function's name is needed as a member of ours and as the header's declaration.
#define EXPECT_SAME_SIGNATURE(member, declared)                                                           \
    do {                                                                                                  \
        EXPECT_TRUE(same_signature(ours.member, static_cast<decltype(&(declared))>(nullptr))) << #member; \
        compared.insert(ours.member.symbol());                                                            \
    } while (false)

TEST(CudaDriverApi, DeclaresEveryFunctionAsTheToolkitDoes) {
    const EntryPoints ours;
    std::set<std::string_view> compared;
    EXPECT_SAME_SIGNATURE(cuInit, cuInit);
    EXPECT_SAME_SIGNATURE(cuDriverGetVersion, cuDriverGetVersion);
    EXPECT_SAME_SIGNATURE(cuGetErrorName, cuGetErrorName);
    EXPECT_SAME_SIGNATURE(cuDeviceGetCount, cuDeviceGetCount);
    EXPECT_SAME_SIGNATURE(cuDeviceGet, cuDeviceGet);
    EXPECT_SAME_SIGNATURE(cuDeviceGetName, cuDeviceGetName);
    EXPECT_SAME_SIGNATURE(cuDeviceGetUuid_v2, cuDeviceGetUuid);
    EXPECT_SAME_SIGNATURE(cuDeviceTotalMem_v2, cuDeviceTotalMem);
    EXPECT_SAME_SIGNATURE(cuDeviceGetAttribute, cuDeviceGetAttribute);
    EXPECT_SAME_SIGNATURE(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain);
    EXPECT_SAME_SIGNATURE(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease);
    EXPECT_SAME_SIGNATURE(cuCtxGetCurrent, cuCtxGetCurrent);
    EXPECT_SAME_SIGNATURE(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer);
    EXPECT_SAME_SIGNATURE(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess);
    EXPECT_SAME_SIGNATURE(cuCtxPushCurrent_v2, cuCtxPushCurrent);
    EXPECT_SAME_SIGNATURE(cuCtxPopCurrent_v2, cuCtxPopCurrent);
    EXPECT_SAME_SIGNATURE(cuMemGetInfo_v2, cuMemGetInfo);
    EXPECT_SAME_SIGNATURE(cuMemAlloc_v2, cuMemAlloc);
    EXPECT_SAME_SIGNATURE(cuMemFree_v2, cuMemFree);
    EXPECT_SAME_SIGNATURE(cuMemHostAlloc, cuMemHostAlloc);
    EXPECT_SAME_SIGNATURE(cuMemFreeHost, cuMemFreeHost);
    EXPECT_SAME_SIGNATURE(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer);
    EXPECT_SAME_SIGNATURE(cuMemHostRegister_v2, cuMemHostRegister);
    EXPECT_SAME_SIGNATURE(cuMemHostUnregister, cuMemHostUnregister);
    EXPECT_SAME_SIGNATURE(cuPointerGetAttributes, cuPointerGetAttributes);
    EXPECT_SAME_SIGNATURE(cuMemcpyAsync, cuMemcpyAsync);
    EXPECT_SAME_SIGNATURE(cuMemsetD8Async, cuMemsetD8Async);
    EXPECT_SAME_SIGNATURE(cuStreamCreate, cuStreamCreate);
    EXPECT_SAME_SIGNATURE(cuStreamDestroy_v2, cuStreamDestroy);
    EXPECT_SAME_SIGNATURE(cuStreamGetCtx, cuStreamGetCtx);
    EXPECT_SAME_SIGNATURE(cuStreamQuery, cuStreamQuery);
    EXPECT_SAME_SIGNATURE(cuStreamSynchronize, cuStreamSynchronize);
    EXPECT_SAME_SIGNATURE(cuStreamWaitValue64_v2, cuStreamWaitValue64);
    EXPECT_SAME_SIGNATURE(cuStreamWriteValue64_v2, cuStreamWriteValue64);
    EXPECT_SAME_SIGNATURE(cuLaunchHostFunc, cuLaunchHostFunc);
    EXPECT_SAME_SIGNATURE(cuEventCreate, cuEventCreate);
    EXPECT_SAME_SIGNATURE(cuEventDestroy_v2, cuEventDestroy);
    EXPECT_SAME_SIGNATURE(cuEventRecordWithFlags, cuEventRecordWithFlags);
    EXPECT_SAME_SIGNATURE(cuEventQuery, cuEventQuery);
    EXPECT_SAME_SIGNATURE(cuEventSynchronize, cuEventSynchronize);
    EXPECT_SAME_SIGNATURE(cuEventElapsedTime_v1, cuEventElapsedTime);
    EXPECT_SAME_SIGNATURE(cuModuleLoadDataEx, cuModuleLoadDataEx);
    EXPECT_SAME_SIGNATURE(cuModuleUnload, cuModuleUnload);
    EXPECT_SAME_SIGNATURE(cuModuleGetFunction, cuModuleGetFunction);
    EXPECT_SAME_SIGNATURE(cuFuncGetAttribute, cuFuncGetAttribute);
    EXPECT_SAME_SIGNATURE(cuFuncSetAttribute, cuFuncSetAttribute);
#if CUDA_VERSION >= 12040
    EXPECT_SAME_SIGNATURE(cuFuncGetParamInfo, cuFuncGetParamInfo);
#else
    compared.insert("cuFuncGetParamInfo");
#endif
    EXPECT_SAME_SIGNATURE(cuLaunchKernelEx, cuLaunchKernelEx);
    EXPECT_SAME_SIGNATURE(cuOccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters);
    EXPECT_SAME_SIGNATURE(cuStreamBeginCapture_v2, cuStreamBeginCapture);
    EXPECT_SAME_SIGNATURE(cuStreamEndCapture, cuStreamEndCapture);
    EXPECT_SAME_SIGNATURE(cuStreamIsCapturing, cuStreamIsCapturing);
    EXPECT_SAME_SIGNATURE(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode);
    EXPECT_SAME_SIGNATURE(cuGraphInstantiateWithFlags, cuGraphInstantiate);
    EXPECT_SAME_SIGNATURE(cuGraphGetNodes, cuGraphGetNodes);
    EXPECT_SAME_SIGNATURE(cuGraphUpload, cuGraphUpload);
    EXPECT_SAME_SIGNATURE(cuGraphLaunch, cuGraphLaunch);
    EXPECT_SAME_SIGNATURE(cuGraphExecDestroy, cuGraphExecDestroy);
    EXPECT_SAME_SIGNATURE(cuGraphDestroy, cuGraphDestroy);
    EXPECT_SAME_SIGNATURE(cuImportExternalMemory, cuImportExternalMemory);
    EXPECT_SAME_SIGNATURE(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer);
    EXPECT_SAME_SIGNATURE(cuDestroyExternalMemory, cuDestroyExternalMemory);
    EXPECT_SAME_SIGNATURE(cuImportExternalSemaphore, cuImportExternalSemaphore);
    EXPECT_SAME_SIGNATURE(cuDestroyExternalSemaphore, cuDestroyExternalSemaphore);
    EXPECT_SAME_SIGNATURE(cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync);
    EXPECT_SAME_SIGNATURE(cuSignalExternalSemaphoresAsync, cuSignalExternalSemaphoresAsync);
    EXPECT_SAME_SIGNATURE(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled);
    EXPECT_SAME_SIGNATURE(cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2col);
    for (const gpu::EntryPointBase* entry_point : ours.all())
        EXPECT_TRUE(compared.contains(entry_point->symbol())) << entry_point->symbol() << " is not compared above";
    EXPECT_EQ(compared.size(), ours.all().size());
}

template <class Ours, class Theirs>
void expect_value(Ours ours, Theirs theirs, const char* name) {
    EXPECT_EQ(static_cast<long long>(ours), static_cast<long long>(theirs)) << name;
}
#define EXPECT_VALUE(ours, theirs) expect_value(ours, theirs, #theirs)

TEST(CudaDriverApi, GivesErrorsTheToolkitsNumbers) {
    EXPECT_VALUE(Status::Success, CUDA_SUCCESS);
    EXPECT_VALUE(Status::InvalidValue, CUDA_ERROR_INVALID_VALUE);
    EXPECT_VALUE(Status::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_VALUE(Status::NotInitialized, CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_VALUE(Status::Deinitialized, CUDA_ERROR_DEINITIALIZED);
    EXPECT_VALUE(Status::StubLibrary, CUDA_ERROR_STUB_LIBRARY);
    EXPECT_VALUE(Status::DeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
    EXPECT_VALUE(Status::NoDevice, CUDA_ERROR_NO_DEVICE);
    EXPECT_VALUE(Status::InvalidDevice, CUDA_ERROR_INVALID_DEVICE);
    EXPECT_VALUE(Status::InvalidImage, CUDA_ERROR_INVALID_IMAGE);
    EXPECT_VALUE(Status::InvalidContext, CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_VALUE(Status::MapFailed, CUDA_ERROR_MAP_FAILED);
    EXPECT_VALUE(Status::NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_VALUE(Status::EccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
    EXPECT_VALUE(Status::InvalidPtx, CUDA_ERROR_INVALID_PTX);
    EXPECT_VALUE(Status::NvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
    EXPECT_VALUE(Status::JitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
    EXPECT_VALUE(Status::UnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    EXPECT_VALUE(Status::JitCompilationDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED);
    EXPECT_VALUE(Status::Contained, CUDA_ERROR_CONTAINED);
    EXPECT_VALUE(Status::InvalidSource, CUDA_ERROR_INVALID_SOURCE);
    EXPECT_VALUE(Status::OperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
    EXPECT_VALUE(Status::InvalidHandle, CUDA_ERROR_INVALID_HANDLE);
    EXPECT_VALUE(Status::IllegalState, CUDA_ERROR_ILLEGAL_STATE);
    EXPECT_VALUE(Status::NotFound, CUDA_ERROR_NOT_FOUND);
    EXPECT_VALUE(Status::NotReady, CUDA_ERROR_NOT_READY);
    EXPECT_VALUE(Status::IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_VALUE(Status::LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    EXPECT_VALUE(Status::LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
    EXPECT_VALUE(Status::PeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    EXPECT_VALUE(Status::ContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_VALUE(Status::Assert, CUDA_ERROR_ASSERT);
    EXPECT_VALUE(Status::HostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    EXPECT_VALUE(Status::HostMemoryNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    EXPECT_VALUE(Status::HardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
    EXPECT_VALUE(Status::IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
    EXPECT_VALUE(Status::MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
    EXPECT_VALUE(Status::InvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
    EXPECT_VALUE(Status::InvalidPc, CUDA_ERROR_INVALID_PC);
    EXPECT_VALUE(Status::LaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
#if CUDA_VERSION >= 13000
    EXPECT_VALUE(Status::TensorMemoryLeak, CUDA_ERROR_TENSOR_MEMORY_LEAK);
#endif
    EXPECT_VALUE(Status::NotPermitted, CUDA_ERROR_NOT_PERMITTED);
    EXPECT_VALUE(Status::NotSupported, CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_VALUE(Status::SystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
    EXPECT_VALUE(Status::SystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
    EXPECT_VALUE(Status::CompatNotSupportedOnDevice, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
    EXPECT_VALUE(Status::StreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_VALUE(Status::StreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_VALUE(Status::StreamCaptureMerge, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    EXPECT_VALUE(Status::StreamCaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    EXPECT_VALUE(Status::StreamCaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    EXPECT_VALUE(Status::StreamCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    EXPECT_VALUE(Status::StreamCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    EXPECT_VALUE(Status::CapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_VALUE(Status::StreamCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    EXPECT_VALUE(Status::ExternalDevice, CUDA_ERROR_EXTERNAL_DEVICE);
    EXPECT_VALUE(Status::InvalidClusterSize, CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT_VALUE(Status::Unknown, CUDA_ERROR_UNKNOWN);
}

TEST(CudaDriverApi, GivesAttributesAndFlagsTheToolkitsNumbers) {
    EXPECT_VALUE(DeviceAttribute::MaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    EXPECT_VALUE(DeviceAttribute::MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    EXPECT_VALUE(DeviceAttribute::PciBus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    EXPECT_VALUE(DeviceAttribute::PciDevice, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
    EXPECT_VALUE(DeviceAttribute::PciDomain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
    EXPECT_VALUE(DeviceAttribute::ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    EXPECT_VALUE(DeviceAttribute::ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    EXPECT_VALUE(DeviceAttribute::MaxSharedBytesPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    EXPECT_VALUE(DeviceAttribute::HostRegisterSupported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
    EXPECT_VALUE(DeviceAttribute::TimelineSemaphoreInteropSupported,
                 CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED);
    EXPECT_VALUE(DeviceAttribute::ClusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
    EXPECT_VALUE(DeviceAttribute::CanUse64BitStreamMemOps, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);
    EXPECT_VALUE(DeviceAttribute::TensorMapAccessSupported, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);
    EXPECT_VALUE(FunctionAttribute::MaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    EXPECT_VALUE(FunctionAttribute::SharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    EXPECT_VALUE(FunctionAttribute::LocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    EXPECT_VALUE(FunctionAttribute::Registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
    EXPECT_VALUE(FunctionAttribute::BinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    EXPECT_VALUE(FunctionAttribute::MaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    EXPECT_VALUE(FunctionAttribute::NonPortableClusterSizeAllowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    EXPECT_VALUE(JitOption::ErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
    EXPECT_VALUE(JitOption::ErrorLogBufferBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
    EXPECT_VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
    EXPECT_VALUE(kEventDefault, CU_EVENT_DEFAULT);
    EXPECT_VALUE(kEventRecordDefault, CU_EVENT_RECORD_DEFAULT);
    EXPECT_VALUE(kEventRecordExternal, CU_EVENT_RECORD_EXTERNAL);
    EXPECT_VALUE(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
    EXPECT_VALUE(kHostAllocMapped, CU_MEMHOSTALLOC_DEVICEMAP);
    EXPECT_VALUE(kHostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE);
    EXPECT_VALUE(kHostRegisterMapped, CU_MEMHOSTREGISTER_DEVICEMAP);
    EXPECT_VALUE(kStreamWaitValueGeq, CU_STREAM_WAIT_VALUE_GEQ);
    EXPECT_VALUE(kStreamWriteValueDefault, CU_STREAM_WRITE_VALUE_DEFAULT);
    EXPECT_VALUE(kExternalMemoryDedicated, CUDA_EXTERNAL_MEMORY_DEDICATED);
    EXPECT_VALUE(CaptureMode::Global, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_VALUE(CaptureMode::ThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    EXPECT_VALUE(PointerAttribute::MemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
    EXPECT_VALUE(PointerAttribute::IsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
    EXPECT_VALUE(PointerAttribute::DeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
    EXPECT_VALUE(MemoryType::Host, CU_MEMORYTYPE_HOST);
    EXPECT_VALUE(MemoryType::Device, CU_MEMORYTYPE_DEVICE);
    EXPECT_VALUE(CaptureMode::Relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_VALUE(CaptureStatus::None, CU_STREAM_CAPTURE_STATUS_NONE);
    EXPECT_VALUE(CaptureStatus::Active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_VALUE(CaptureStatus::Invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_VALUE(LaunchAttributeId::ClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    EXPECT_VALUE(ExternalMemoryType::OpaqueFd, CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD);
    EXPECT_VALUE(ExternalSemaphoreType::TimelineSemaphoreFd, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD);
}

TEST(CudaDriverApi, GivesTensorMapsTheToolkitsNumbers) {
    EXPECT_VALUE(TensorMapDataType::Uint8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
    EXPECT_VALUE(TensorMapDataType::Uint16, CU_TENSOR_MAP_DATA_TYPE_UINT16);
    EXPECT_VALUE(TensorMapDataType::Uint32, CU_TENSOR_MAP_DATA_TYPE_UINT32);
    EXPECT_VALUE(TensorMapDataType::Int32, CU_TENSOR_MAP_DATA_TYPE_INT32);
    EXPECT_VALUE(TensorMapDataType::Uint64, CU_TENSOR_MAP_DATA_TYPE_UINT64);
    EXPECT_VALUE(TensorMapDataType::Int64, CU_TENSOR_MAP_DATA_TYPE_INT64);
    EXPECT_VALUE(TensorMapDataType::Float16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
    EXPECT_VALUE(TensorMapDataType::Float32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
    EXPECT_VALUE(TensorMapDataType::Float64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
    EXPECT_VALUE(TensorMapDataType::Bfloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
    EXPECT_VALUE(TensorMapInterleave::None, CU_TENSOR_MAP_INTERLEAVE_NONE);
    EXPECT_VALUE(TensorMapSwizzle::None, CU_TENSOR_MAP_SWIZZLE_NONE);
    EXPECT_VALUE(TensorMapSwizzle::Span32, CU_TENSOR_MAP_SWIZZLE_32B);
    EXPECT_VALUE(TensorMapSwizzle::Span64, CU_TENSOR_MAP_SWIZZLE_64B);
    EXPECT_VALUE(TensorMapSwizzle::Span128, CU_TENSOR_MAP_SWIZZLE_128B);
    EXPECT_VALUE(TensorMapL2Promotion::None, CU_TENSOR_MAP_L2_PROMOTION_NONE);
    EXPECT_VALUE(TensorMapL2Promotion::Bytes64, CU_TENSOR_MAP_L2_PROMOTION_L2_64B);
    EXPECT_VALUE(TensorMapL2Promotion::Bytes128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
    EXPECT_VALUE(TensorMapL2Promotion::Bytes256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
    EXPECT_VALUE(TensorMapOutOfBounds::Zeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    EXPECT_VALUE(TensorMapOutOfBounds::NanForZeroFma, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
    EXPECT_EQ(sizeof(TensorMap), sizeof(CUtensorMap));
}

TEST(CudaDriverApi, LaysOutStructuresAsTheToolkitDoes) {
    EXPECT_EQ(sizeof(Uuid), sizeof(CUuuid));
    EXPECT_EQ(sizeof(LaunchConfig), sizeof(CUlaunchConfig));
    EXPECT_EQ(offsetof(LaunchConfig, block_x), offsetof(CUlaunchConfig, blockDimX));
    EXPECT_EQ(offsetof(LaunchConfig, dynamic_shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
    EXPECT_EQ(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
    EXPECT_EQ(offsetof(LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
    EXPECT_EQ(offsetof(LaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
    EXPECT_EQ(sizeof(LaunchAttribute), sizeof(CUlaunchAttribute));
    EXPECT_EQ(offsetof(LaunchAttribute, cluster), offsetof(CUlaunchAttribute, value.clusterDim));
    EXPECT_EQ(sizeof(ExternalMemoryHandleDesc), sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC));
    EXPECT_EQ(offsetof(ExternalMemoryHandleDesc, handle), offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle));
    EXPECT_EQ(offsetof(ExternalMemoryHandleDesc, size), offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size));
    EXPECT_EQ(offsetof(ExternalMemoryHandleDesc, flags), offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags));
    EXPECT_EQ(sizeof(ExternalMemoryBufferDesc), sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC));
    EXPECT_EQ(offsetof(ExternalMemoryBufferDesc, size), offsetof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size));
    EXPECT_EQ(sizeof(ExternalSemaphoreHandleDesc), sizeof(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC));
    EXPECT_EQ(offsetof(ExternalSemaphoreHandleDesc, handle), offsetof(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, handle));
    EXPECT_EQ(offsetof(ExternalSemaphoreHandleDesc, flags), offsetof(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, flags));
    EXPECT_EQ(sizeof(ExternalSemaphoreParams), sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS));
    EXPECT_EQ(sizeof(ExternalSemaphoreParams), sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS));
    EXPECT_EQ(offsetof(ExternalSemaphoreParams, value), offsetof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, params.fence));
    EXPECT_EQ(offsetof(ExternalSemaphoreParams, value), offsetof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, params.fence));
    EXPECT_EQ(offsetof(ExternalSemaphoreParams, flags), offsetof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, flags));
    EXPECT_EQ(offsetof(ExternalSemaphoreParams, flags), offsetof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, flags));
}

}  // namespace
}  // namespace kinetograph::accel::cuda
