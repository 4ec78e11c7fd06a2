// Parameters on a device: memory of the right size with the host's bytes in it.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

namespace kinetograph::accel {

/// Allocates `from.size()` bytes (at least one) and copies `from` there; blocks until the copy is done. For loading.
/// Errors: those of Device::allocate, Device::create_stream and Stream::upload.
Result<std::unique_ptr<Memory>> upload(Device& device, std::string_view name, std::span<const std::byte> from);

}  // namespace kinetograph::accel
