// Memory of a GPU: its own, pinned on the host, registered, and imported from another API.
#pragma once

#include <kinetograph/engine/accel/gpu/context.hpp>

namespace kinetograph::accel::gpu {

// See Device::allocate and its siblings.
Result<std::unique_ptr<Memory>> allocate(const std::shared_ptr<Context>& context, std::string_view name,
                                         std::uint64_t bytes);
Result<std::unique_ptr<Memory>> allocate_pinned(const std::shared_ptr<Context>& context, std::string_view name,
                                                std::uint64_t bytes);
Result<std::unique_ptr<Memory>> import_host(const std::shared_ptr<Context>& context, std::string_view name,
                                            std::span<std::byte> memory);
Result<std::unique_ptr<Memory>> import_memory(const std::shared_ptr<Context>& context, std::string_view name,
                                              const ExternalMemoryDesc& desc);

}  // namespace kinetograph::accel::gpu
