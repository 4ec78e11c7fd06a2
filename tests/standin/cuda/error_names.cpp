// The driver's names for its errors.
#include <kinetograph/tests/standin/cuda/entry_points.hpp>

#include <algorithm>

namespace kinetograph::accel::cuda {

namespace {

struct ErrorName {
    Status status;
    const char* name;
};

constexpr std::array kErrorNames{std::to_array<ErrorName>({
    {Status::Success, "CUDA_SUCCESS"},
    {Status::InvalidValue, "CUDA_ERROR_INVALID_VALUE"},
    {Status::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
    {Status::NotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
    {Status::Deinitialized, "CUDA_ERROR_DEINITIALIZED"},
    {Status::StubLibrary, "CUDA_ERROR_STUB_LIBRARY"},
    {Status::DeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    {Status::NoDevice, "CUDA_ERROR_NO_DEVICE"},
    {Status::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
    {Status::InvalidImage, "CUDA_ERROR_INVALID_IMAGE"},
    {Status::InvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
    {Status::MapFailed, "CUDA_ERROR_MAP_FAILED"},
    {Status::NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {Status::EccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {Status::InvalidPtx, "CUDA_ERROR_INVALID_PTX"},
    {Status::NvlinkUncorrectable, "CUDA_ERROR_NVLINK_UNCORRECTABLE"},
    {Status::JitCompilerNotFound, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"},
    {Status::UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
    {Status::JitCompilationDisabled, "CUDA_ERROR_JIT_COMPILATION_DISABLED"},
    {Status::Contained, "CUDA_ERROR_CONTAINED"},
    {Status::InvalidSource, "CUDA_ERROR_INVALID_SOURCE"},
    {Status::OperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM"},
    {Status::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
    {Status::IllegalState, "CUDA_ERROR_ILLEGAL_STATE"},
    {Status::NotFound, "CUDA_ERROR_NOT_FOUND"},
    {Status::NotReady, "CUDA_ERROR_NOT_READY"},
    {Status::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {Status::LaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {Status::LaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {Status::PeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
    {Status::ContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {Status::Assert, "CUDA_ERROR_ASSERT"},
    {Status::HostMemoryAlreadyRegistered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
    {Status::HostMemoryNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
    {Status::HardwareStackError, "CUDA_ERROR_HARDWARE_STACK_ERROR"},
    {Status::IllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
    {Status::MisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {Status::InvalidAddressSpace, "CUDA_ERROR_INVALID_ADDRESS_SPACE"},
    {Status::InvalidPc, "CUDA_ERROR_INVALID_PC"},
    {Status::LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
    {Status::TensorMemoryLeak, "CUDA_ERROR_TENSOR_MEMORY_LEAK"},
    {Status::NotPermitted, "CUDA_ERROR_NOT_PERMITTED"},
    {Status::NotSupported, "CUDA_ERROR_NOT_SUPPORTED"},
    {Status::SystemNotReady, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {Status::SystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {Status::CompatNotSupportedOnDevice, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"},
    {Status::StreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {Status::StreamCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {Status::StreamCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
    {Status::StreamCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
    {Status::StreamCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
    {Status::StreamCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
    {Status::StreamCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
    {Status::CapturedEvent, "CUDA_ERROR_CAPTURED_EVENT"},
    {Status::StreamCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
    {Status::ExternalDevice, "CUDA_ERROR_EXTERNAL_DEVICE"},
    {Status::InvalidClusterSize, "CUDA_ERROR_INVALID_CLUSTER_SIZE"},
    {Status::Unknown, "CUDA_ERROR_UNKNOWN"},
})};

}  // namespace

STANDIN_EXPORT Status cuGetErrorName(Status status, const char** name) {
    const auto* const found = std::ranges::find(kErrorNames, status, &ErrorName::status);
    *name = found == kErrorNames.end() ? nullptr : found->name;
    return *name == nullptr ? Status::InvalidValue : Status::Success;
}

}  // namespace kinetograph::accel::cuda
