#include "handles.hpp"

#include <kinetograph/engine/accel/open.hpp>

namespace kinetograph::c {
namespace {

Result<void> check_version(std::uint32_t header) {
    if (header <= KG_VERSION) return {};
    return fail(ErrorCode::Unsupported, "kinetograph.h is of version {}.{}, the library of version {}.{}", header >> 16,
                header & 0xFFFF, KG_VERSION_MAJOR, KG_VERSION_MINOR);
}

Log log_of(const kg_instance_desc& desc) {
    if (desc.log == nullptr) return Log();
    return Log([log = desc.log, user = desc.log_user](LogLevel level, std::string_view message) {
        log(user, static_cast<std::uint32_t>(level), std::string(message).c_str());
    });
}

Result<HostAllocator> allocator_of(const kg_instance_desc& desc) {
    if ((desc.allocate == nullptr) != (desc.release == nullptr))
        return fail(ErrorCode::InvalidArgument, "kg_instance_desc has one of allocate and release: both or neither");
    if (desc.allocate == nullptr) return HostAllocator();
    return HostAllocator{[allocate = desc.allocate, user = desc.allocator_user](
                             std::size_t bytes, std::size_t alignment) { return allocate(user, bytes, alignment); },
                         [release = desc.release, user = desc.allocator_user](void* memory, std::size_t bytes) {
                             release(user, memory, bytes);
                         }};
}

kg_device_info info_of(const accel::Availability& found, const std::string& name) {
    kg_device_info info{};
    info.size = sizeof(info);
    info.ordinal = found.ordinal;
    info.available = found.device ? 1 : 0;
    info.kind = found.kind.data();
    info.name = name.c_str();
    info.product = found.device ? found.device->name.c_str() : "";
    info.situation = found.situation.c_str();
    if (found.device) {
        info.memory_bytes = found.device->memory_bytes;
        std::ranges::copy(found.device->uuid, info.uuid);
    }
    return info;
}

}  // namespace
}  // namespace kinetograph::c

using namespace kinetograph;
using namespace kinetograph::c;

kg_result kg_instance_create(const kg_instance_desc* desc, kg_instance** instance) {
    auto made = without_exceptions("kg_instance_create", [&]() -> Outcome {
        KG_CHECK(check_given(instance, "instance"));
        KG_TRY(const auto known, read(desc, "kg_instance_desc"));
        KG_CHECK(check_version(known.header_version));
        KG_TRY(auto allocator, allocator_of(known));
        *instance =
            hand_out<kg_instance>({std::make_shared<Root>(Root{.log = log_of(known), .host = std::move(allocator)})});
        return KG_OK;
    });
    return made ? *made : report(made.error());
}

kg_result kg_instance_destroy(kg_instance* instance) { return destroy("kg_instance_destroy", instance); }

kg_result kg_list_devices(kg_instance* instance, void (*each)(void* user, const kg_device_info* device), void* user) {
    return with("kg_list_devices", instance, [&](const auto&) -> Outcome {
        if (each == nullptr) return fail(ErrorCode::InvalidArgument, "each is NULL");
        for (const accel::Availability& found : accel::inspect_accelerators()) {
            const std::string name = found.name();
            const kg_device_info info = info_of(found, name);
            each(user, &info);
        }
        return KG_OK;
    });
}
