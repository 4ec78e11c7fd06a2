#include <kinetograph/engine/accel/cuda/driver.hpp>

namespace kinetograph::accel::cuda {

ErrorCode Api::code_of(Status status) {
    switch (status) {
        case Status::OutOfMemory:
            return ErrorCode::OutOfMemory;
        case Status::NoDevice:
        case Status::NotFound:
        case Status::StubLibrary:
            return ErrorCode::NotFound;
        case Status::InvalidImage:
        case Status::InvalidPtx:
        case Status::InvalidSource:
            return ErrorCode::Corrupt;
        case Status::NoBinaryForGpu:
        case Status::UnsupportedPtxVersion:
        case Status::JitCompilerNotFound:
        case Status::JitCompilationDisabled:
        case Status::NotSupported:
        case Status::NotPermitted:
        case Status::DeviceUnavailable:
        case Status::SystemNotReady:
        case Status::SystemDriverMismatch:
        case Status::CompatNotSupportedOnDevice:
        case Status::StreamCaptureUnsupported:
        case Status::StreamCaptureInvalidated:
        case Status::StreamCaptureMerge:
        case Status::StreamCaptureUnmatched:
        case Status::StreamCaptureUnjoined:
        case Status::StreamCaptureIsolation:
        case Status::StreamCaptureImplicit:
        case Status::CapturedEvent:
        case Status::StreamCaptureWrongThread:
            return ErrorCode::Unsupported;
        case Status::EccUncorrectable:
        case Status::NvlinkUncorrectable:
        case Status::Contained:
        case Status::IllegalAddress:
        case Status::LaunchTimeout:
        case Status::ContextIsDestroyed:
        case Status::Assert:
        case Status::HardwareStackError:
        case Status::IllegalInstruction:
        case Status::MisalignedAddress:
        case Status::InvalidAddressSpace:
        case Status::InvalidPc:
        case Status::LaunchFailed:
        case Status::TensorMemoryLeak:
        case Status::ExternalDevice:
        case Status::Unknown:
            return ErrorCode::DeviceLost;
        default:
            return ErrorCode::InvalidArgument;
    }
}

const char* Api::error_name(const EntryPoints& cuda, Status status) {
    const char* name = nullptr;
    return cuda.cuGetErrorName(status, &name) == Status::Success ? name : nullptr;
}

std::string Api::version(const EntryPoints& cuda) {
    int version = 0;
    if (cuda.cuDriverGetVersion(&version) != Status::Success) return {};
    constexpr int kMajor = 1000, kMinor = 10;  // CUDA_VERSION
    return fmt::format("driver {}.{}", version / kMajor, version % kMajor / kMinor);
}

}  // namespace kinetograph::accel::cuda
