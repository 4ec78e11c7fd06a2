// Entry points of the stand-in: the library, devices, contexts, and which calls are allowed.
#include <kinetograph/tests/standin/cuda/entry_points.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::accel::cuda {

namespace {

constexpr int kMostDevices = 8;

struct PrimaryContext {
    std::atomic<int> retained = 0;
    std::atomic<unsigned> peers = 0;                         ///< a bit for each device whose memory it may address
    std::atomic<standin::Stream*> default_stream = nullptr;  ///< while it is retained
    int device() const;
};

std::array<PrimaryContext, kMostDevices>& primary_contexts() {
    static std::array<PrimaryContext, kMostDevices> contexts;
    return contexts;
}
int PrimaryContext::device() const { return static_cast<int>(this - primary_contexts().data()); }

PrimaryContext& primary_context(int device) { return primary_contexts().at(static_cast<std::size_t>(device)); }
ContextHandle handle_of(PrimaryContext& context) { return reinterpret_cast<ContextHandle>(&context); }
PrimaryContext* of(ContextHandle handle) { return reinterpret_cast<PrimaryContext*>(handle); }

std::vector<PrimaryContext*>& current_contexts() {
    thread_local std::vector<PrimaryContext*> stack;
    return stack;
}

bool absent(int device) { return device < 0 || device >= machine().options().devices; }

std::atomic<bool> initialised = false;

}  // namespace

int current_device() { return current_contexts().back()->device(); }

standin::Stream* default_stream() {
    return current_contexts().empty() ? nullptr : current_contexts().back()->default_stream.load();
}

Status enter(const char* call, Needs needs) {
    if (const Status injected = machine().enter(call); injected != Status::Success) return injected;
    if (standin::in_callback()) {
        machine().complain(fmt::format("{} from a host function of a stream", call));
        return Status::NotPermitted;
    }
    if (needs == Needs::Nothing) return Status::Success;
    if (!initialised) return Status::NotInitialized;
    if (needs == Needs::Driver) return Status::Success;
    if (current_contexts().empty() || current_contexts().back()->retained == 0) {
        machine().complain(fmt::format("{} while no context is current", call));
        return Status::InvalidContext;
    }
    if (needs == Needs::Context) return Status::Success;
    return machine().fault();
}

STANDIN_EXPORT standin::Control* standin_control() { return &machine(); }

STANDIN_EXPORT Status cuInit(unsigned flags) {
    STANDIN_ENTER(Nothing);
    if (flags != 0) return Status::InvalidValue;
    if (machine().options().devices == 0) return Status::NoDevice;
    initialised = true;
    return Status::Success;
}

STANDIN_EXPORT Status cuDriverGetVersion(int* version) {
    STANDIN_ENTER(Nothing);
    *version = 13000;
    return Status::Success;
}

STANDIN_EXPORT Status cuDeviceGetCount(int* count) {
    STANDIN_ENTER(Driver);
    *count = machine().options().devices;
    return Status::Success;
}

STANDIN_EXPORT Status cuDeviceGet(DeviceOrdinal* device, int ordinal) {
    STANDIN_ENTER(Driver);
    if (absent(ordinal)) return Status::InvalidDevice;
    *device = ordinal;
    return Status::Success;
}

STANDIN_EXPORT Status cuDeviceGetName(char* name, int bytes, DeviceOrdinal device) {
    STANDIN_ENTER(Driver);
    if (absent(device)) return Status::InvalidDevice;
    const std::string& given = machine().options().name;
    name[given.copy(name, static_cast<std::size_t>(bytes) - 1)] = '\0';
    return Status::Success;
}

STANDIN_EXPORT Status cuDeviceGetUuid_v2(Uuid* uuid, DeviceOrdinal device) {
    STANDIN_ENTER(Driver);
    if (absent(device)) return Status::InvalidDevice;
    const auto& given = machine().options().uuid;
    if (given && device == 0)
        std::memcpy(uuid->bytes, given->data(), given->size());
    else
        std::ranges::fill(uuid->bytes, static_cast<std::uint8_t>(machine().options().uuid_byte + device));
    return Status::Success;
}

STANDIN_EXPORT Status cuDeviceTotalMem_v2(std::size_t* bytes, DeviceOrdinal device) {
    STANDIN_ENTER(Driver);
    if (absent(device)) return Status::InvalidDevice;
    *bytes = machine().options().memory_bytes;
    return Status::Success;
}

STANDIN_EXPORT Status cuDeviceGetAttribute(int* value, DeviceAttribute attribute, DeviceOrdinal device) {
    STANDIN_ENTER(Driver);
    if (absent(device)) return Status::InvalidDevice;
    const Chip chip = posed_chip();
    const standin::Options& options = machine().options();
    const auto answer = [&]() -> std::optional<int> {
        switch (attribute) {
            case DeviceAttribute::MaxThreadsPerBlock:
                return 1024;
            case DeviceAttribute::MultiprocessorCount:
                return static_cast<int>(chip.sms());
            case DeviceAttribute::PciBus:
                return 0x3B + device;
            case DeviceAttribute::PciDevice:
            case DeviceAttribute::PciDomain:
                return 0;
            case DeviceAttribute::ComputeCapabilityMajor:
                return chip.architecture / 10;
            case DeviceAttribute::ComputeCapabilityMinor:
                return chip.architecture % 10;
            case DeviceAttribute::MaxSharedBytesPerBlockOptin:
                return chip.shared_bytes;
            case DeviceAttribute::HostRegisterSupported:
                return options.registers_host_memory ? 1 : 0;
            case DeviceAttribute::TimelineSemaphoreInteropSupported:
                return options.imports_timelines.value_or(true) ? 1 : 0;
            case DeviceAttribute::CanUse64BitStreamMemOps:
                return options.waits_for_values ? 1 : 0;
            case DeviceAttribute::ClusterLaunch:
            case DeviceAttribute::TensorMapAccessSupported:
                return chip.architecture >= 90 ? 1 : 0;
        }
        return std::nullopt;
    }();
    if (!answer) return Status::InvalidValue;
    *value = *answer;
    return Status::Success;
}

STANDIN_EXPORT Status cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceOrdinal device) {
    STANDIN_ENTER(Driver);
    if (absent(device)) return Status::InvalidDevice;
    PrimaryContext& primary = primary_context(device);
    if (++primary.retained == 1) {
        ++machine().contexts;
        primary.default_stream = machine().streams.add(std::make_unique<standin::Stream>(device));
    }
    *context = handle_of(primary);
    return Status::Success;
}

STANDIN_EXPORT Status cuDevicePrimaryCtxRelease_v2(DeviceOrdinal device) {
    STANDIN_ENTER(Driver);
    if (absent(device)) return Status::InvalidDevice;
    PrimaryContext& primary = primary_context(device);
    if (primary.retained == 0) {
        machine().complain("cuDevicePrimaryCtxRelease of a context that is not retained");
        return Status::InvalidContext;
    }
    if (--primary.retained == 0) {
        machine().streams.remove(primary.default_stream.exchange(nullptr)).reset();
        primary.peers = 0;
        if (--machine().contexts == 0) machine().recover();
    }
    return Status::Success;
}

STANDIN_EXPORT Status cuDeviceCanAccessPeer(int* can, DeviceOrdinal device, DeviceOrdinal peer) {
    STANDIN_ENTER(Driver);
    if (absent(device) || absent(peer)) return Status::InvalidDevice;
    *can = device != peer && machine().options().reaches_peers ? 1 : 0;
    return Status::Success;
}

STANDIN_EXPORT Status cuCtxEnablePeerAccess(ContextHandle peer, unsigned flags) {
    STANDIN_ENTER(Context);
    if (flags != 0 || !machine().options().reaches_peers) return Status::InvalidValue;
    const int other = of(peer)->device();
    if (other == current_device()) return Status::InvalidDevice;
    const unsigned bit = 1U << static_cast<unsigned>(other);
    const bool is_new = (current_contexts().back()->peers.fetch_or(bit) & bit) == 0;
    return is_new ? Status::Success : Status::PeerAccessAlreadyEnabled;
}

STANDIN_EXPORT Status cuCtxGetCurrent(ContextHandle* context) {
    STANDIN_ENTER(Driver);
    *context = current_contexts().empty() ? nullptr : handle_of(*current_contexts().back());
    return Status::Success;
}

STANDIN_EXPORT Status cuCtxPushCurrent_v2(ContextHandle context) {
    STANDIN_ENTER(Driver);
    if (context == nullptr || of(context)->retained == 0) {
        machine().complain("cuCtxPushCurrent of a context that is not retained");
        return Status::InvalidContext;
    }
    current_contexts().push_back(of(context));
    return Status::Success;
}

STANDIN_EXPORT Status cuCtxPopCurrent_v2(ContextHandle* context) {
    STANDIN_ENTER(Driver);
    if (current_contexts().empty()) return Status::InvalidContext;
    if (context != nullptr) *context = handle_of(*current_contexts().back());
    current_contexts().pop_back();
    return Status::Success;
}

STANDIN_EXPORT Status cuStreamGetCtx(StreamHandle stream, ContextHandle* context) {
    STANDIN_ENTER(Driver);
    if (!machine().streams.contain(cuda::of(stream))) return Status::InvalidHandle;
    *context = handle_of(primary_context(cuda::of(stream)->device));
    return Status::Success;
}

}  // namespace kinetograph::accel::cuda
