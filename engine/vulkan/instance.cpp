#include <kinetograph/engine/vulkan/instance.hpp>

#include <kinetograph/engine/vulkan/vk_result.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace kinetograph::vulkan {
namespace {

std::atomic<bool> any_left = false;  // an instance, by Instance::leave()
constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

std::vector<std::string> extensions_of(const Loader& loader, const char* layer) {
    const auto enumerate =
        loader.global<PFN_vkEnumerateInstanceExtensionProperties>("vkEnumerateInstanceExtensionProperties");
    std::uint32_t count = 0;
    if (enumerate == nullptr || enumerate(layer, &count, nullptr) != VK_SUCCESS) return {};
    std::vector<VkExtensionProperties> properties(count);
    enumerate(layer, &count, properties.data());
    std::vector<std::string> names;
    names.reserve(properties.size());
    for (const auto& property : properties) names.emplace_back(property.extensionName);
    return names;
}

bool has_layer(const Loader& loader, std::string_view wanted) {
    const auto enumerate = loader.global<PFN_vkEnumerateInstanceLayerProperties>("vkEnumerateInstanceLayerProperties");
    std::uint32_t count = 0;
    if (enumerate == nullptr || enumerate(&count, nullptr) != VK_SUCCESS) return false;
    std::vector<VkLayerProperties> layers(count);
    enumerate(&count, layers.data());
    return std::any_of(layers.begin(), layers.end(), [&](const auto& layer) { return wanted == layer.layerName; });
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(ValidationLog& log) {
    return {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
            .pNext = nullptr,
            .flags = 0,
            .messageSeverity =
                VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
            .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
            .pfnUserCallback = &ValidationLog::callback,
            .pUserData = &log};
}

Result<void> check_version(const Loader& loader) {
    const auto enumerate_version = loader.global<PFN_vkEnumerateInstanceVersion>("vkEnumerateInstanceVersion");
    std::uint32_t version = VK_API_VERSION_1_0;
    if (enumerate_version != nullptr) enumerate_version(&version);
    if (version >= VK_API_VERSION_1_3) return {};
    return kinetograph::fail(ErrorCode::Unsupported,
                             "the Vulkan loader knows version {}.{}, but 1.3 is needed: Vulkan lanes off",
                             VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
}

}  // namespace

Instance::Instance(const Loader& loader, VkInstance handle, bool owned)
    : loader_(loader), handle_(handle), owned_(owned) {
    const auto get = loader_.get_instance_proc_addr();
#define KINETOGRAPH_LOAD(name) table_.name = reinterpret_cast<PFN_##name>(get(handle_, #name));
    KINETOGRAPH_INSTANCE_FUNCTIONS(KINETOGRAPH_LOAD)
    KINETOGRAPH_INSTANCE_EXTENSION_FUNCTIONS(KINETOGRAPH_LOAD)
#undef KINETOGRAPH_LOAD
}

Result<std::unique_ptr<Instance>> Instance::create(const Loader& loader, const InstanceOptions& options) {
    KG_CHECK(check_version(loader));
    const bool validate = options.validation != Validation::Off;
    if (validate && !has_layer(loader, kValidationLayer))
        return kinetograph::fail(ErrorCode::Unsupported,
                                 "validation was asked for, but {} is not installed "
                                 "(Debian package vulkan-validationlayers)",
                                 kValidationLayer);

    const std::vector<std::string> available = extensions_of(loader, nullptr);
    std::vector<const char*> extensions;
    for (const std::string& extension : options.extensions) {
        if (!contains(available, extension))
            return kinetograph::fail(ErrorCode::Unsupported, "the Vulkan loader lacks the instance extension {}",
                                     extension);
        extensions.push_back(extension.c_str());
    }
    if (validate) {
        extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
        extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    }

    auto log = std::make_shared<ValidationLog>();
    VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(*log);
    constexpr std::array kChecks{VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT,
                                 VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    VkValidationFeaturesEXT checks{};
    checks.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
    checks.pNext = &messenger;
    checks.enabledValidationFeatureCount = options.validation == Validation::On ? 2 : 1;
    checks.pEnabledValidationFeatures = kChecks.data();
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = options.application.c_str();
    application.pEngineName = "kinetograph";
    application.apiVersion = VK_API_VERSION_1_3;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pNext = validate ? &checks : nullptr;
    info.pApplicationInfo = &application;
    info.enabledLayerCount = validate ? 1 : 0;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();

    VkInstance handle = VK_NULL_HANDLE;
    const auto create_instance = loader.global<PFN_vkCreateInstance>("vkCreateInstance");
    if (const VkResult result = create_instance(&info, nullptr, &handle); result != VK_SUCCESS) {
        if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
            return kinetograph::fail(ErrorCode::NotFound, "the Vulkan loader found no driver: Vulkan lanes off");
        return fail(result, "vkCreateInstance");
    }
    std::unique_ptr<Instance> instance(new Instance(loader, handle, true));
    instance->validation_ = std::move(log);
    instance->debug_utils_ = validate;
    if (validate) instance->table_.vkCreateDebugUtilsMessengerEXT(handle, &messenger, nullptr, &instance->messenger_);
    return instance;
}

std::unique_ptr<Instance> Instance::adopt(VkInstance instance, PFN_vkGetInstanceProcAddr get_instance_proc_addr) {
    return std::unique_ptr<Instance>(new Instance(Loader::adopt(get_instance_proc_addr), instance, false));
}

void Instance::leave() const { left_ = any_left = true; }

int end_of_program(int exit_code) {
    if (!any_left) return exit_code;
    std::fflush(nullptr);
    std::_Exit(exit_code);
}

Instance::~Instance() {
    if (messenger_ != VK_NULL_HANDLE) table_.vkDestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
    if (owned_ && !left_) table_.vkDestroyInstance(handle_, nullptr);
}

}  // namespace kinetograph::vulkan
