// VkResult in words, and as an Error.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <vulkan/vulkan_core.h>

namespace kinetograph::vulkan {

/// "VK_ERROR_DEVICE_LOST"
std::string to_string(VkResult result);

/// DeviceLost, OutOfMemory or Unsupported by the code's meaning, Io for anything else.
ErrorCode error_code_of(VkResult result);

/// "`doing`: VK_ERROR_...", with the fitting code.
tl::unexpected<Error> fail(VkResult result, std::string_view doing);

/// "1.5 GiB", "384.0 KiB", "12 bytes"
std::string human_bytes(std::uint64_t bytes);

}  // namespace kinetograph::vulkan
