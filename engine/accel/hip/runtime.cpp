#include <kinetograph/engine/accel/hip/runtime.hpp>

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <vector>

namespace kinetograph::accel::hip {

namespace {

std::vector<std::string> candidates(const std::string& library) {
    if (!library.empty()) return {library};
    if (const char* chosen = std::getenv("KINETOGRAPH_HIP_LIBRARY"); chosen != nullptr && *chosen != '\0')
        return {chosen};
    return {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"};
}

struct Symbols {
    void* library;
    std::string first_missing{};

    template <class Function>
    void optional(const char* name, Function*& entry_point) {
        entry_point = reinterpret_cast<Function*>(::dlsym(library, name));
    }
    template <class Function>
    void required(const char* name, Function*& entry_point) {
        optional(name, entry_point);
        if (entry_point == nullptr && first_missing.empty()) first_missing = name;
    }
};

void find_required(Symbols& symbols, EntryPoints& hip) {
    symbols.required("hipInit", hip.hipInit);
    symbols.required("hipRuntimeGetVersion", hip.hipRuntimeGetVersion);
    symbols.required("hipGetDeviceCount", hip.hipGetDeviceCount);
    symbols.required("hipSetDevice", hip.hipSetDevice);
    symbols.required("hipGetDevicePropertiesR0600", hip.hipGetDevicePropertiesR0600);
    symbols.required("hipDeviceGetAttribute", hip.hipDeviceGetAttribute);
    symbols.required("hipMemGetInfo", hip.hipMemGetInfo);
    symbols.required("hipGetErrorName", hip.hipGetErrorName);
    symbols.required("hipMalloc", hip.hipMalloc);
    symbols.required("hipExtMallocWithFlags", hip.hipExtMallocWithFlags);
    symbols.required("hipFree", hip.hipFree);
    symbols.required("hipHostMalloc", hip.hipHostMalloc);
    symbols.required("hipHostFree", hip.hipHostFree);
    symbols.required("hipHostGetDevicePointer", hip.hipHostGetDevicePointer);
    symbols.required("hipMemcpyAsync", hip.hipMemcpyAsync);
    symbols.required("hipMemsetAsync", hip.hipMemsetAsync);
    symbols.required("hipStreamCreateWithFlags", hip.hipStreamCreateWithFlags);
    symbols.required("hipStreamDestroy", hip.hipStreamDestroy);
    symbols.required("hipStreamQuery", hip.hipStreamQuery);
    symbols.required("hipStreamSynchronize", hip.hipStreamSynchronize);
    symbols.required("hipStreamWaitValue64", hip.hipStreamWaitValue64);
    symbols.required("hipStreamWriteValue64", hip.hipStreamWriteValue64);
    symbols.required("hipLaunchHostFunc", hip.hipLaunchHostFunc);
    symbols.required("hipEventCreateWithFlags", hip.hipEventCreateWithFlags);
    symbols.required("hipEventDestroy", hip.hipEventDestroy);
    symbols.required("hipEventRecord", hip.hipEventRecord);
    symbols.required("hipEventQuery", hip.hipEventQuery);
    symbols.required("hipEventSynchronize", hip.hipEventSynchronize);
    symbols.required("hipEventElapsedTime", hip.hipEventElapsedTime);
    symbols.required("hipModuleLoadData", hip.hipModuleLoadData);
    symbols.required("hipModuleUnload", hip.hipModuleUnload);
    symbols.required("hipModuleGetFunction", hip.hipModuleGetFunction);
    symbols.required("hipFuncGetAttribute", hip.hipFuncGetAttribute);
    symbols.required("hipModuleLaunchKernel", hip.hipModuleLaunchKernel);
}

void find_optional(Symbols& symbols, EntryPoints& hip) {
    symbols.optional("hipStreamBeginCapture", hip.hipStreamBeginCapture);
    symbols.optional("hipStreamEndCapture", hip.hipStreamEndCapture);
    symbols.optional("hipGraphInstantiate", hip.hipGraphInstantiate);
    symbols.optional("hipGraphGetNodes", hip.hipGraphGetNodes);
    symbols.optional("hipGraphLaunch", hip.hipGraphLaunch);
    symbols.optional("hipGraphExecDestroy", hip.hipGraphExecDestroy);
    symbols.optional("hipGraphDestroy", hip.hipGraphDestroy);
    symbols.optional("hipStreamGetCaptureInfo_v2", hip.hipStreamGetCaptureInfo_v2);
    symbols.optional("hipStreamUpdateCaptureDependencies", hip.hipStreamUpdateCaptureDependencies);
    symbols.optional("hipGraphAddEventRecordNode", hip.hipGraphAddEventRecordNode);
    symbols.optional("hipHostRegister", hip.hipHostRegister);
    symbols.optional("hipHostUnregister", hip.hipHostUnregister);
    symbols.optional("hipImportExternalMemory", hip.hipImportExternalMemory);
    symbols.optional("hipExternalMemoryGetMappedBuffer", hip.hipExternalMemoryGetMappedBuffer);
    symbols.optional("hipDestroyExternalMemory", hip.hipDestroyExternalMemory);
    symbols.optional("hipImportExternalSemaphore", hip.hipImportExternalSemaphore);
    symbols.optional("hipDestroyExternalSemaphore", hip.hipDestroyExternalSemaphore);
    symbols.optional("hipWaitExternalSemaphoresAsync", hip.hipWaitExternalSemaphoresAsync);
    symbols.optional("hipSignalExternalSemaphoresAsync", hip.hipSignalExternalSemaphoresAsync);
}

ErrorCode code_of(Status status) {
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

}  // namespace

Result<std::shared_ptr<const Runtime>> Runtime::open(const std::string& library) {
    const std::vector<std::string> names = candidates(library);
    for (const std::string& name : names) {
        void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (handle == nullptr) {
            const std::string reason = ::dlerror();
            if (reason.starts_with(name + ": cannot open shared object file")) continue;
            return fail(ErrorCode::NotFound, "{} does not load ({}): HIP lane off", name, reason);
        }
        Symbols symbols{handle};
        EntryPoints hip;
        find_required(symbols, hip);
        find_optional(symbols, hip);
        if (!symbols.first_missing.empty())
            return fail(ErrorCode::NotFound, "{} has no {} (ROCm 6.0 or newer has): HIP lane off", name,
                        symbols.first_missing);
        std::shared_ptr<const Runtime> runtime(new Runtime(name, hip));
        if (auto ready = runtime->check(hip.hipInit(0), "hipInit"); !ready)
            return fail(ready.error().code, "{}: {}: HIP lane off", name, ready.error().message);
        return runtime;
    }
    return fail(ErrorCode::NotFound, "{} not found: HIP lane off", fmt::join(names, ", "));
}

std::string Runtime::description() const {
    int version = 0;
    if (entry_points_.hipRuntimeGetVersion(&version) != Status::Success) return library_;
    constexpr int kMajor = 10'000'000, kMinor = 100'000;  // HIP_VERSION
    return fmt::format("{}, HIP {}.{}.{}", library_, version / kMajor, version % kMajor / kMinor, version % kMinor);
}

std::string Runtime::name(Status status) const {
    const char* name = entry_points_.hipGetErrorName(status);
    return fmt::format("{} ({})", name != nullptr ? name : "an error without a name", static_cast<int>(status));
}

Error Runtime::error(Status status, std::string_view call) const {
    return {code_of(status), fmt::format("{}: {}", call, name(status))};
}

Result<void> Runtime::check(Status status, std::string_view call) const {
    if (status == Status::Success) return {};
    return fail(error(status, call));
}

Capability Runtime::has(std::initializer_list<Optional> entry_points) const {
    for (const Optional& entry_point : entry_points)
        if (!entry_point.present) return {false, fmt::format("{} has no {}", library_, entry_point.name)};
    return {true, {}};
}

}  // namespace kinetograph::accel::hip
