#include <kinetograph/engine/accel/hip/driver.hpp>

namespace kinetograph::accel::hip {

ErrorCode Api::code_of(Status status) {
    switch (status) {
        case Status::OutOfMemory:
            return ErrorCode::OutOfMemory;
        case Status::NoDevice:
        case Status::NotFound:
            return ErrorCode::NotFound;
        case Status::InvalidImage:
            return ErrorCode::Corrupt;
        case Status::NoBinaryForGpu:
        case Status::NotSupported:
        case Status::StreamCaptureUnsupported:
        case Status::StreamCaptureInvalidated:
            return ErrorCode::Unsupported;
        case Status::EccNotCorrectable:
        case Status::IllegalAddress:
        case Status::LaunchTimeOut:
        case Status::Assert:
        case Status::LaunchFailure:
        case Status::Unknown:
            return ErrorCode::DeviceLost;
        default:
            return ErrorCode::InvalidArgument;
    }
}

std::string Api::version(const EntryPoints& hip) {
    int version = 0;
    if (hip.hipRuntimeGetVersion(&version) != Status::Success) return {};
    constexpr int kMajor = 10'000'000, kMinor = 100'000;  // HIP_VERSION
    return fmt::format("HIP {}.{}.{}", version / kMajor, version % kMajor / kMinor, version % kMinor);
}

}  // namespace kinetograph::accel::hip
