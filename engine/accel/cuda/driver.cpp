#include <kinetograph/engine/accel/cuda/driver.hpp>

#include <dlfcn.h>

#include <cstdlib>

namespace kinetograph::accel::cuda {

namespace {

std::string choose(const std::string& library) {
    if (!library.empty()) return library;
    if (const char* chosen = std::getenv("KINETOGRAPH_CUDA_LIBRARY"); chosen != nullptr && *chosen != '\0')
        return chosen;
    return "libcuda.so.1";
}

ErrorCode code_of(Status status) {
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

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open(const std::string& library) {
    const std::string name = choose(library);
    void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) {
        const std::string reason = ::dlerror();
        if (reason.starts_with(name + ": cannot open shared object file"))
            return fail(ErrorCode::NotFound, "{} not found: CUDA lane off", name);
        return fail(ErrorCode::NotFound, "{} does not load ({}): CUDA lane off", name, reason);
    }
    std::shared_ptr<Driver> driver(new Driver(name));
    for (EntryPointBase* entry_point : driver->entry_points_.all()) {
        entry_point->set_address(::dlsym(handle, entry_point->symbol()));
        if (!entry_point->present() && entry_point->need() == Need::Required)
            return fail(ErrorCode::NotFound, "{} has no {} (drivers for CUDA 12.0 and newer have): CUDA lane off", name,
                        entry_point->symbol());
    }
    const EntryPoints& cuda = driver->entry_points_;
    if (auto ready = driver->call(cuda.cuInit, 0U); !ready)
        return fail(ready.error().code, "{}: {}: CUDA lane off", name, ready.error().message);
    return std::shared_ptr<const Driver>(std::move(driver));
}

std::string Driver::description() const {
    int version = 0;
    if (entry_points_.cuDriverGetVersion(&version) != Status::Success) return library_;
    constexpr int kMajor = 1000, kMinor = 10;  // CUDA_VERSION
    return fmt::format("{}, driver {}.{}", library_, version / kMajor, version % kMajor / kMinor);
}

std::string Driver::name(Status status) const {
    const char* name = nullptr;
    if (entry_points_.cuGetErrorName(status, &name) != Status::Success || name == nullptr)
        name = "an error without a name";
    return fmt::format("{} ({})", name, static_cast<int>(status));
}

Error Driver::error(Status status, std::string_view call) const {
    return {code_of(status), fmt::format("{}: {}", call, name(status))};
}

}  // namespace kinetograph::accel::cuda
