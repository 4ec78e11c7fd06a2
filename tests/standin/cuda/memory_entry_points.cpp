// Entry points of the stand-in: memory, and objects exported by other APIs.
#include <kinetograph/tests/standin/cuda/entry_points.hpp>

#include <unistd.h>

namespace kinetograph::accel::cuda {

STANDIN_EXPORT Status cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    STANDIN_ENTER(HealthyContext);
    *total = machine().options().memory_bytes;
    *free = *total - machine().addresses().held();
    return Status::Success;
}

STANDIN_EXPORT Status cuMemAlloc_v2(DeviceAddress* address, std::size_t bytes) {
    STANDIN_ENTER(HealthyContext);
    STANDIN_LEAVE_UNLESS(refuse_during_captures(__func__));
    if (bytes == 0) return Status::InvalidValue;
    void* memory = machine().addresses().allocate(bytes, current_device());
    if (memory == nullptr) return Status::OutOfMemory;
    *address = address_of(memory);
    return Status::Success;
}

STANDIN_EXPORT Status cuMemFree_v2(DeviceAddress address) {
    STANDIN_ENTER(Context);
    STANDIN_LEAVE_UNLESS(refuse_during_captures(__func__));
    if (address == 0) return Status::Success;
    machine().wait_until_idle();
    for (const AddressKind kind : {AddressKind::Device, AddressKind::Imported})
        if (machine().addresses().release(pointer(address), kind)) return machine().fault();
    machine().complain("cuMemFree of what is not allocated");
    return Status::InvalidValue;
}

STANDIN_EXPORT Status cuMemHostAlloc(void** host, std::size_t bytes, unsigned flags) {
    STANDIN_ENTER(HealthyContext);
    STANDIN_LEAVE_UNLESS(refuse_during_captures(__func__));
    if (bytes == 0 || (flags & ~(kHostAllocPortable | kHostAllocMapped)) != 0) return Status::InvalidValue;
    *host = machine().addresses().allocate_pinned(bytes);
    return *host != nullptr ? Status::Success : Status::OutOfMemory;
}

STANDIN_EXPORT Status cuMemFreeHost(void* host) {
    STANDIN_ENTER(Context);
    STANDIN_LEAVE_UNLESS(refuse_during_captures(__func__));
    machine().wait_until_idle();
    if (machine().addresses().release(host, AddressKind::Pinned)) return machine().fault();
    machine().complain("cuMemFreeHost of what is not allocated");
    return Status::InvalidValue;
}

STANDIN_EXPORT Status cuMemHostGetDevicePointer_v2(DeviceAddress* address, void* host, unsigned flags) {
    STANDIN_ENTER(HealthyContext);
    void* device = flags == 0 ? machine().addresses().device_address(host) : nullptr;
    if (device == nullptr) return Status::InvalidValue;
    *address = address_of(device);
    return Status::Success;
}

STANDIN_EXPORT Status cuMemHostRegister_v2(void* host, std::size_t bytes, unsigned flags) {
    STANDIN_ENTER(HealthyContext);
    STANDIN_LEAVE_UNLESS(refuse_during_captures(__func__));
    if (bytes == 0 || (flags & ~(kHostRegisterPortable | kHostRegisterMapped)) != 0) return Status::InvalidValue;
    if (!machine().options().registers_host_memory) return Status::NotSupported;
    return machine().addresses().register_host(host, bytes) ? Status::Success : Status::HostMemoryAlreadyRegistered;
}

STANDIN_EXPORT Status cuMemHostUnregister(void* host) {
    STANDIN_ENTER(Context);
    STANDIN_LEAVE_UNLESS(refuse_during_captures(__func__));
    machine().wait_until_idle();
    if (machine().addresses().release(host, AddressKind::Registered)) return machine().fault();
    machine().complain("cuMemHostUnregister of what is not registered");
    return Status::HostMemoryNotRegistered;
}

STANDIN_EXPORT Status cuPointerGetAttributes(unsigned count, PointerAttribute* attributes, void** values,
                                             DeviceAddress address) {
    STANDIN_ENTER(HealthyContext);
    const auto owner = machine().addresses().owner(pointer(address));
    const bool is_host = owner && (owner->kind == AddressKind::Pinned || owner->kind == AddressKind::Registered);
    for (unsigned i = 0; i < count; ++i) {
        switch (attributes[i]) {
            case PointerAttribute::MemoryType:
                *static_cast<MemoryType*>(values[i]) = !owner    ? MemoryType::None
                                                       : is_host ? MemoryType::Host
                                                                 : MemoryType::Device;
                break;
            case PointerAttribute::IsManaged:
                *static_cast<std::uint32_t*>(values[i]) = 0;
                break;
            case PointerAttribute::DeviceOrdinal:
                *static_cast<int*>(values[i]) = owner ? owner->device : -2;
                break;
        }
    }
    return Status::Success;
}

STANDIN_EXPORT Status cuMemcpyAsync(DeviceAddress to, DeviceAddress from, std::size_t bytes, StreamHandle stream) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    return standin::copy(*of(stream), pointer(to), pointer(from), bytes);
}

STANDIN_EXPORT Status cuMemsetD8Async(DeviceAddress address, unsigned char value, std::size_t bytes,
                                      StreamHandle stream) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    if (!machine().addresses().find(pointer(address), bytes)) return Status::InvalidValue;
    return of(stream)->push(standin::fill(pointer(address), value, bytes));
}

STANDIN_EXPORT Status cuImportExternalMemory(ExternalMemoryHandle* memory, const ExternalMemoryHandleDesc* desc) {
    STANDIN_ENTER(HealthyContext);
    if (desc->type != ExternalMemoryType::OpaqueFd || desc->size == 0 || (desc->flags & ~kExternalMemoryDedicated) != 0)
        return Status::InvalidValue;
    auto file = standin::ExternalMemory::open(desc->handle.fd, desc->size);
    if (file == nullptr) return Status::OperatingSystem;
    ::close(desc->handle.fd);  // which belongs to the driver now
    *memory = handle_of(machine().external_memories.add(std::move(file)));
    return Status::Success;
}

STANDIN_EXPORT Status cuExternalMemoryGetMappedBuffer(DeviceAddress* address, ExternalMemoryHandle memory,
                                                      const ExternalMemoryBufferDesc* desc) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().external_memories, of(memory), __func__)) return Status::InvalidHandle;
    const standin::ExternalMemory& file = *of(memory);
    if (desc->flags != 0 || desc->offset + desc->size > file.bytes) return Status::InvalidValue;
    void* mapped = machine().addresses().import(file.fd, file.data + desc->offset, desc->size);
    if (mapped == nullptr) return Status::MapFailed;
    *address = address_of(mapped);
    return Status::Success;
}

STANDIN_EXPORT Status cuDestroyExternalMemory(ExternalMemoryHandle memory) {
    STANDIN_ENTER(Context);
    if (machine().external_memories.remove(of(memory))) return machine().fault();
    machine().complain("cuDestroyExternalMemory of what is not imported");
    return Status::InvalidHandle;
}

STANDIN_EXPORT Status cuImportExternalSemaphore(ExternalSemaphoreHandle* semaphore,
                                                const ExternalSemaphoreHandleDesc* desc) {
    STANDIN_ENTER(HealthyContext);
    if (!machine().options().imports_timelines.value_or(true)) return Status::NotSupported;
    if (desc->type != ExternalSemaphoreType::TimelineSemaphoreFd || desc->flags != 0) return Status::InvalidValue;
    auto counter = machine().import_semaphore(desc->handle.fd);
    if (counter == nullptr) return Status::OperatingSystem;
    ::close(desc->handle.fd);  // which belongs to the driver now
    *semaphore = handle_of(machine().external_semaphores.add(
        std::make_unique<standin::ExternalSemaphore>(standin::ExternalSemaphore{std::move(counter)})));
    return Status::Success;
}

STANDIN_EXPORT Status cuDestroyExternalSemaphore(ExternalSemaphoreHandle semaphore) {
    STANDIN_ENTER(Context);
    if (machine().external_semaphores.remove(of(semaphore))) return machine().fault();
    machine().complain("cuDestroyExternalSemaphore of what is not imported");
    return Status::InvalidHandle;
}

STANDIN_EXPORT Status cuWaitExternalSemaphoresAsync(const ExternalSemaphoreHandle* semaphores,
                                                    const ExternalSemaphoreParams* params, unsigned count,
                                                    StreamHandle stream) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    for (unsigned i = 0; i < count; ++i) {
        if (unknown(machine().external_semaphores, of(semaphores[i]), __func__)) return Status::InvalidHandle;
        if (params[i].flags != 0) return Status::InvalidValue;
        STANDIN_LEAVE_UNLESS(of(stream)->push(standin::wait_for(of(semaphores[i])->counter, params[i].value)));
    }
    return Status::Success;
}

STANDIN_EXPORT Status cuSignalExternalSemaphoresAsync(const ExternalSemaphoreHandle* semaphores,
                                                      const ExternalSemaphoreParams* params, unsigned count,
                                                      StreamHandle stream) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    for (unsigned i = 0; i < count; ++i) {
        if (unknown(machine().external_semaphores, of(semaphores[i]), __func__)) return Status::InvalidHandle;
        if (params[i].flags != 0) return Status::InvalidValue;
        STANDIN_LEAVE_UNLESS(of(stream)->push(standin::signal(of(semaphores[i])->counter, params[i].value)));
    }
    return Status::Success;
}

}  // namespace kinetograph::accel::cuda
