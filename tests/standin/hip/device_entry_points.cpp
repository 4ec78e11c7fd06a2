// Entry points of the stand-in: devices, memory, external memory and semaphores.
#include <kinetograph/tests/standin/hip/entry_points.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::accel::hip {

int& current_device() {
    thread_local int device = 0;
    return device;
}

namespace {

bool absent(int device) { return device < 0 || device >= machine().options().devices; }

}  // namespace

STANDIN_EXPORT standin::Control* standin_control() { return &machine(); }

STANDIN_EXPORT Status hipInit(unsigned flags) {
    STANDIN_ENTER();
    return flags == 0 ? Status::Success : Status::InvalidValue;
}

STANDIN_EXPORT Status hipRuntimeGetVersion(int* version) {
    STANDIN_ENTER();
    *version = 70051831;  // 7.0.51831
    return Status::Success;
}

STANDIN_EXPORT Status hipGetDeviceCount(int* count) {
    STANDIN_ENTER();
    *count = machine().options().devices;
    return *count > 0 ? Status::Success : Status::NoDevice;
}

STANDIN_EXPORT Status hipSetDevice(int device) {
    STANDIN_ENTER();
    if (absent(device)) return Status::InvalidDevice;
    current_device() = device;
    return Status::Success;
}

/// Not one of engine/accel's: it belongs to the application, whose other work on the device it ends.
STANDIN_EXPORT Status hipDeviceReset() {
    STANDIN_ENTER();
    if (machine().live() != standin::Live{}) machine().complain("hipDeviceReset while something is alive");
    machine().recover();
    return Status::Success;
}

STANDIN_EXPORT Status hipGetDevicePropertiesR0600(DeviceProperties* properties, int device) {
    STANDIN_ENTER();
    if (absent(device)) return Status::InvalidDevice;
    const standin::Options& options = machine().options();
    std::memset(properties, 0, sizeof(*properties));
    options.name.copy(properties->name, sizeof(properties->name) - 1);
    options.architecture.copy(properties->architecture, sizeof(properties->architecture) - 1);
    std::ranges::fill(properties->uuid, static_cast<std::uint8_t>(options.uuid_byte + device));
    properties->total_global_bytes = options.memory_bytes;
    properties->shared_bytes_per_block = 160U << 10U;
    properties->wave_size = 64;
    properties->compute_units = options.compute_units == 0 ? 256 : static_cast<int>(options.compute_units);
    properties->can_map_host_memory = 1;
    properties->pci_bus = 0x75 + device;
    properties->host_register_supported = options.registers_host_memory ? 1 : 0;
    properties->timeline_semaphore_interop = options.imports_timelines.value_or(false) ? 1 : 0;
    return Status::Success;
}

STANDIN_EXPORT Status hipDeviceCanAccessPeer(int* can, int device, int peer) {
    STANDIN_ENTER();
    if (absent(device) || absent(peer)) return Status::InvalidDevice;
    *can = device != peer && machine().options().reaches_peers ? 1 : 0;
    return Status::Success;
}

STANDIN_EXPORT Status hipDeviceEnablePeerAccess(int peer, unsigned flags) {
    STANDIN_ENTER();
    if (absent(peer) || peer == current_device()) return Status::InvalidDevice;
    return flags == 0 && machine().options().reaches_peers ? Status::Success : Status::InvalidValue;
}

STANDIN_EXPORT Status hipDeviceGetAttribute(int* value, int attribute, int device) {
    STANDIN_ENTER();
    if (absent(device)) return Status::InvalidDevice;
    if (attribute != kAttributeCanUseStreamWaitValue) return Status::InvalidValue;
    *value = machine().options().waits_for_values ? 1 : 0;
    return Status::Success;
}

STANDIN_EXPORT Status hipMemGetInfo(std::size_t* free, std::size_t* total) {
    STANDIN_ENTER();
    *total = machine().options().memory_bytes;
    *free = *total - machine().addresses().held();
    return Status::Success;
}

STANDIN_EXPORT const char* hipGetErrorName(Status status) {
    switch (status) {
        case Status::Success:
            return "hipSuccess";
        case Status::InvalidValue:
            return "hipErrorInvalidValue";
        case Status::OutOfMemory:
            return "hipErrorOutOfMemory";
        case Status::NotInitialized:
            return "hipErrorNotInitialized";
        case Status::PeerAccessAlreadyEnabled:
            return "hipErrorPeerAccessAlreadyEnabled";
        case Status::InvalidConfiguration:
            return "hipErrorInvalidConfiguration";
        case Status::NoDevice:
            return "hipErrorNoDevice";
        case Status::InvalidDevice:
            return "hipErrorInvalidDevice";
        case Status::InvalidImage:
            return "hipErrorInvalidImage";
        case Status::NoBinaryForGpu:
            return "hipErrorNoBinaryForGpu";
        case Status::EccNotCorrectable:
            return "hipErrorECCNotCorrectable";
        case Status::InvalidHandle:
            return "hipErrorInvalidHandle";
        case Status::IllegalState:
            return "hipErrorIllegalState";
        case Status::NotFound:
            return "hipErrorNotFound";
        case Status::NotReady:
            return "hipErrorNotReady";
        case Status::IllegalAddress:
            return "hipErrorIllegalAddress";
        case Status::LaunchTimeOut:
            return "hipErrorLaunchTimeOut";
        case Status::Assert:
            return "hipErrorAssert";
        case Status::LaunchFailure:
            return "hipErrorLaunchFailure";
        case Status::NotSupported:
            return "hipErrorNotSupported";
        case Status::StreamCaptureUnsupported:
            return "hipErrorStreamCaptureUnsupported";
        case Status::StreamCaptureInvalidated:
            return "hipErrorStreamCaptureInvalidated";
        case Status::Unknown:
            return "hipErrorUnknown";
    }
    return "hipErrorUnknown";
}

STANDIN_EXPORT Status hipMalloc(void** address, std::size_t bytes) {
    STANDIN_ENTER();
    *address = bytes == 0 ? nullptr : machine().addresses().allocate(bytes, current_device());
    return bytes == 0 || *address != nullptr ? Status::Success : Status::OutOfMemory;
}

STANDIN_EXPORT Status hipExtMallocWithFlags(void** address, std::size_t bytes, unsigned flags) {
    STANDIN_ENTER();
    if (flags != kMallocSignalMemory) return Status::InvalidValue;
    if (bytes != sizeof(std::uint64_t)) return Status::InvalidValue;
    *address = machine().addresses().allocate_signal();
    return *address != nullptr ? Status::Success : Status::OutOfMemory;
}

STANDIN_EXPORT Status hipFree(void* address) {
    STANDIN_ENTER();
    if (address == nullptr) return Status::Success;
    machine().wait_until_idle();
    standin::AddressSpace& addresses = machine().addresses();
    for (const AddressKind kind : {AddressKind::Device, AddressKind::Signal, AddressKind::Imported})
        if (addresses.release(address, kind)) return Status::Success;
    machine().complain("hipFree of what is not allocated");
    return Status::InvalidValue;
}

STANDIN_EXPORT Status hipHostMalloc(void** host, std::size_t bytes, unsigned flags) {
    STANDIN_ENTER();
    if ((flags & ~(kHostMallocPortable | kHostMallocMapped | kHostMallocCoherent)) != 0) return Status::InvalidValue;
    *host = machine().addresses().allocate_pinned(bytes);
    return *host != nullptr ? Status::Success : Status::OutOfMemory;
}

STANDIN_EXPORT Status hipHostFree(void* host) {
    STANDIN_ENTER();
    machine().wait_until_idle();
    if (machine().addresses().release(host, AddressKind::Pinned)) return Status::Success;
    machine().complain("hipHostFree of what is not allocated");
    return Status::InvalidValue;
}

STANDIN_EXPORT Status hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
    STANDIN_ENTER();
    if (flags != 0) return Status::InvalidValue;
    *device = machine().addresses().device_address(host);
    return *device != nullptr ? Status::Success : Status::InvalidValue;
}

STANDIN_EXPORT Status hipPointerGetAttributes(PointerAttributes* attributes, const void* address) {
    STANDIN_ENTER();
    const auto owner = machine().addresses().owner(address);
    if (!owner) return Status::InvalidValue;
    const bool is_host = owner->kind == AddressKind::Pinned || owner->kind == AddressKind::Registered;
    *attributes = PointerAttributes{};
    attributes->type = is_host ? kMemoryHost : kMemoryDevice;
    attributes->device = owner->device;
    return Status::Success;
}

STANDIN_EXPORT Status hipHostRegister(void* host, std::size_t bytes, unsigned flags) {
    STANDIN_ENTER();
    if ((flags & ~kHostRegisterPortable) != kHostRegisterMapped) return Status::InvalidValue;
    return machine().addresses().register_host(host, bytes) ? Status::Success : Status::InvalidValue;
}

STANDIN_EXPORT Status hipHostUnregister(void* host) {
    STANDIN_ENTER();
    machine().wait_until_idle();
    if (machine().addresses().release(host, AddressKind::Registered)) return Status::Success;
    machine().complain("hipHostUnregister of what is not registered");
    return Status::InvalidValue;
}

STANDIN_EXPORT Status hipImportExternalMemory(ExternalMemoryHandle* memory, const ExternalMemoryHandleDesc* desc) {
    STANDIN_ENTER();
    if (desc->type != ExternalMemoryType::OpaqueFd || desc->size == 0) return Status::InvalidValue;
    auto file = standin::ExternalMemory::open(desc->handle.fd, desc->size);
    if (file == nullptr) return Status::OutOfMemory;
    *memory = handle_of(machine().external_memories.add(std::move(file)));
    return Status::Success;
}

STANDIN_EXPORT Status hipExternalMemoryGetMappedBuffer(void** address, ExternalMemoryHandle memory,
                                                       const ExternalMemoryBufferDesc* desc) {
    STANDIN_ENTER();
    const auto& file = *of(memory);
    if (desc->flags != 0 || desc->offset + desc->size > file.bytes) return Status::InvalidValue;
    *address = machine().addresses().import(file.fd, file.data + desc->offset, desc->size);
    return *address != nullptr ? Status::Success : Status::OutOfMemory;
}

STANDIN_EXPORT Status hipDestroyExternalMemory(ExternalMemoryHandle memory) {
    STANDIN_ENTER();
    if (machine().external_memories.remove(of(memory))) return Status::Success;
    machine().complain("hipDestroyExternalMemory of what is not imported");
    return Status::InvalidHandle;
}

STANDIN_EXPORT Status hipImportExternalSemaphore(ExternalSemaphoreHandle* /*semaphore*/,
                                                 const ExternalSemaphoreHandleDesc* /*desc*/) {
    STANDIN_ENTER();
    return Status::NotSupported;  // as on Linux
}

STANDIN_EXPORT Status hipDestroyExternalSemaphore(ExternalSemaphoreHandle /*semaphore*/) {
    STANDIN_ENTER();
    return Status::NotSupported;
}

STANDIN_EXPORT Status hipWaitExternalSemaphoresAsync(const ExternalSemaphoreHandle* /*semaphores*/,
                                                     const ExternalSemaphoreParams* /*params*/, unsigned /*count*/,
                                                     StreamHandle /*stream*/) {
    STANDIN_ENTER();
    return Status::NotSupported;
}

STANDIN_EXPORT Status hipSignalExternalSemaphoresAsync(const ExternalSemaphoreHandle* /*semaphores*/,
                                                       const ExternalSemaphoreParams* /*params*/, unsigned /*count*/,
                                                       StreamHandle /*stream*/) {
    STANDIN_ENTER();
    return Status::NotSupported;
}

}  // namespace kinetograph::accel::hip
