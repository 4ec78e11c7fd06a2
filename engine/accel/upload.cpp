#include <kinetograph/engine/accel/upload.hpp>

#include <algorithm>

namespace kinetograph::accel {

Result<std::unique_ptr<Memory>> upload(Device& device, std::string_view name, std::span<const std::byte> from) {
    KG_TRY(auto memory, device.allocate(name, std::max<std::uint64_t>(from.size(), 1)));
    KG_TRY(auto stream, device.create_stream(name));
    KG_CHECK_IN(name, stream->upload(memory->data(), from));
    return memory;
}

}  // namespace kinetograph::accel
