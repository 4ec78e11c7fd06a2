// ValidationLog: the messages of the validation layers.
#pragma once

#include <kinetograph/engine/base/thread_safety.hpp>

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace kinetograph::vulkan {

struct ValidationMessage {
    enum class Severity : std::uint8_t { Warning, Error };
    Severity severity = Severity::Warning;
    std::string id;  ///< "VUID-VkImageCreateInfo-..."
    std::string text;
};

/// Thread-safe: drivers call back from any thread. Messages that do not concern this library's use of Vulkan are
/// dropped, such as the loader's about a driver file that it could not open.
class ValidationLog {
  public:
    void add(ValidationMessage message);
    std::vector<ValidationMessage> messages() const;
    std::size_t count() const { return count_.load(); }
    void clear();
    /// One message per line; empty when there is none.
    std::string text() const;

    /// The callback to register; `user_data` is the ValidationLog.
    static VKAPI_ATTR VkBool32 VKAPI_CALL callback(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                   VkDebugUtilsMessageTypeFlagsEXT types,
                                                   const VkDebugUtilsMessengerCallbackDataEXT* data, void* user_data);

  private:
    mutable Mutex mutex_;
    std::vector<ValidationMessage> messages_ KG_GUARDED_BY(mutex_);
    std::atomic<std::size_t> count_{0};
};

}  // namespace kinetograph::vulkan
