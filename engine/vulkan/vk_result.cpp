#include <kinetograph/engine/vulkan/vk_result.hpp>

namespace kinetograph::vulkan {

std::string to_string(VkResult result) {
    switch (result) {
#define KINETOGRAPH_NAME(code) \
    case code:                 \
        return #code;
        KINETOGRAPH_NAME(VK_SUCCESS)
        KINETOGRAPH_NAME(VK_NOT_READY)
        KINETOGRAPH_NAME(VK_TIMEOUT)
        KINETOGRAPH_NAME(VK_INCOMPLETE)
        KINETOGRAPH_NAME(VK_SUBOPTIMAL_KHR)
        KINETOGRAPH_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
        KINETOGRAPH_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        KINETOGRAPH_NAME(VK_ERROR_INITIALIZATION_FAILED)
        KINETOGRAPH_NAME(VK_ERROR_DEVICE_LOST)
        KINETOGRAPH_NAME(VK_ERROR_MEMORY_MAP_FAILED)
        KINETOGRAPH_NAME(VK_ERROR_LAYER_NOT_PRESENT)
        KINETOGRAPH_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
        KINETOGRAPH_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
        KINETOGRAPH_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
        KINETOGRAPH_NAME(VK_ERROR_TOO_MANY_OBJECTS)
        KINETOGRAPH_NAME(VK_ERROR_FORMAT_NOT_SUPPORTED)
        KINETOGRAPH_NAME(VK_ERROR_FRAGMENTED_POOL)
        KINETOGRAPH_NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
        KINETOGRAPH_NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE)
        KINETOGRAPH_NAME(VK_ERROR_SURFACE_LOST_KHR)
        KINETOGRAPH_NAME(VK_ERROR_NATIVE_WINDOW_IN_USE_KHR)
        KINETOGRAPH_NAME(VK_ERROR_OUT_OF_DATE_KHR)
#undef KINETOGRAPH_NAME
        default:
            return fmt::format("VkResult {}", static_cast<int>(result));
    }
}

ErrorCode error_code_of(VkResult result) {
    switch (result) {
        case VK_ERROR_DEVICE_LOST:
            return ErrorCode::DeviceLost;
        case VK_ERROR_OUT_OF_HOST_MEMORY:
        case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        case VK_ERROR_OUT_OF_POOL_MEMORY:
        case VK_ERROR_FRAGMENTED_POOL:
            return ErrorCode::OutOfMemory;
        case VK_ERROR_INITIALIZATION_FAILED:
        case VK_ERROR_LAYER_NOT_PRESENT:
        case VK_ERROR_EXTENSION_NOT_PRESENT:
        case VK_ERROR_FEATURE_NOT_PRESENT:
        case VK_ERROR_INCOMPATIBLE_DRIVER:
        case VK_ERROR_FORMAT_NOT_SUPPORTED:
            return ErrorCode::Unsupported;
        default:
            return ErrorCode::Io;
    }
}

tl::unexpected<Error> fail(VkResult result, std::string_view doing) {
    return kinetograph::fail(error_code_of(result), "{}: {}", doing, to_string(result));
}

std::string human_bytes(std::uint64_t bytes) {
    constexpr double kKibi = 1024.0;
    const auto size = static_cast<double>(bytes);
    if (bytes < 1024) return fmt::format("{} bytes", bytes);
    if (size < kKibi * kKibi) return fmt::format("{:.1f} KiB", size / kKibi);
    if (size < kKibi * kKibi * kKibi) return fmt::format("{:.1f} MiB", size / (kKibi * kKibi));
    return fmt::format("{:.1f} GiB", size / (kKibi * kKibi * kKibi));
}

}  // namespace kinetograph::vulkan
