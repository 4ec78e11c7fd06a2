// Memory of a CUDA device: its own, pinned on the host, registered, and imported from another API.
#pragma once

#include <kinetograph/engine/accel/cuda/context.hpp>

namespace kinetograph::accel::cuda {

/// cuMemAlloc. Errors: OutOfMemory, with what is free.
Result<std::unique_ptr<Memory>> allocate(const std::shared_ptr<Context>& context, std::string_view name,
                                         std::uint64_t bytes);
/// cuMemHostAlloc, portable and mapped.
Result<std::unique_ptr<Memory>> allocate_pinned(const std::shared_ptr<Context>& context, std::string_view name,
                                                std::uint64_t bytes);
/// cuMemHostRegister of the caller's pages.
Result<std::unique_ptr<Memory>> import_host(const std::shared_ptr<Context>& context, std::string_view name,
                                            std::span<std::byte> memory);
/// cuImportExternalMemory, mapped as one buffer.
Result<std::unique_ptr<Memory>> import_memory(const std::shared_ptr<Context>& context, std::string_view name,
                                              const ExternalMemoryDesc& desc);

}  // namespace kinetograph::accel::cuda
