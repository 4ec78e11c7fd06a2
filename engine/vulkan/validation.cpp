#include <kinetograph/engine/vulkan/validation.hpp>

#include <string_view>

#include <algorithm>
#include <array>

namespace kinetograph::vulkan {
namespace {

/// Messages that do not concern our use of Vulkan, and why.
constexpr std::array<std::string_view, 4> kNotOurs{
    // The loader's reports on driver files, for example one for another processor.
    "Loader Message",
    // The layer warns of VK_EXT_debug_utils and VK_EXT_validation_features, which we use to receive its messages.
    "UNASSIGNED-BestPractices-vkCreateInstance-specialuse-extension-debugging",
    // Graphs of an accelerator are replayed before the previous replay has ended.
    "UNASSIGNED-BestPractices-vkBeginCommandBuffer-simultaneous-use",
    // The layer loses sight of a timeline that the host signals while a queue waits for it, gives up its own wait after
    // ten seconds, and says that this is most likely its bug (Vulkan-ValidationLayers, issues 4968 and 8461).
    "UNASSIGNED-VkSemaphore-state-timeout",
};

}  // namespace

void ValidationLog::add(ValidationMessage message) {
    const Lock lock(mutex_);
    messages_.push_back(std::move(message));
    ++count_;
}

std::vector<ValidationMessage> ValidationLog::messages() const {
    const Lock lock(mutex_);
    return messages_;
}

void ValidationLog::clear() {
    const Lock lock(mutex_);
    messages_.clear();
    count_ = 0;
}

std::string ValidationLog::text() const {
    const Lock lock(mutex_);
    std::string text;
    for (const ValidationMessage& message : messages_) {
        text += message.severity == ValidationMessage::Severity::Error ? "error " : "warning ";
        text += message.id + ": " + message.text + "\n";
    }
    return text;
}

VKAPI_ATTR VkBool32 VKAPI_CALL ValidationLog::callback(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                       VkDebugUtilsMessageTypeFlagsEXT,
                                                       const VkDebugUtilsMessengerCallbackDataEXT* data,
                                                       void* user_data) {
    const std::string_view id = data->pMessageIdName != nullptr ? data->pMessageIdName : "";
    if (std::find(kNotOurs.begin(), kNotOurs.end(), id) != kNotOurs.end()) return VK_FALSE;
    const bool is_error = (severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) != 0;
    static_cast<ValidationLog*>(user_data)->add(
        {is_error ? ValidationMessage::Severity::Error : ValidationMessage::Severity::Warning, std::string(id),
         data->pMessage != nullptr ? data->pMessage : ""});
    return VK_FALSE;
}

}  // namespace kinetograph::vulkan
