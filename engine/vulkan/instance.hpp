// Instance: the library's own VkInstance, or a host application's.
#pragma once

#include <kinetograph/engine/vulkan/instance_table.hpp>
#include <kinetograph/engine/vulkan/loader.hpp>
#include <kinetograph/engine/vulkan/validation.hpp>

#include <atomic>
#include <memory>
#include <vector>

namespace kinetograph::vulkan {

/// Checks of VK_LAYER_KHRONOS_validation.
enum class Validation : std::uint8_t {
    Off,
    /// Core and best practices, for programs in which one host thread waits for timelines while another signals them:
    /// the synchronization checks of layer 1.3.239 hold one lock for both, and each wait then takes ten seconds.
    WithoutSynchronization,
    On,  ///< core, best practices and synchronization
};

struct InstanceOptions {
    std::string application = "kinetograph";
    Validation validation = Validation::Off;
    std::vector<std::string> extensions{};  ///< further ones; for windows: present::Window::instance_extensions()
};

class Instance {
  public:
    /// Errors: Unsupported (loader older than Vulkan 1.3, a missing extension or the validation layer, by name).
    static Result<std::unique_ptr<Instance>> create(const Loader& loader, const InstanceOptions& options = {});
    /// The host application's instance, made for Vulkan 1.3 or newer; the application owns it, and it outlives this
    /// object.
    static std::unique_ptr<Instance> adopt(VkInstance instance, PFN_vkGetInstanceProcAddr get_instance_proc_addr);

    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    ~Instance();

    VkInstance handle() const { return handle_; }
    const InstanceTable& table() const { return table_; }
    const Loader& loader() const { return loader_; }
    /// The layers' messages, including those while the instance is destroyed; always empty if validation is off.
    const std::shared_ptr<ValidationLog>& validation() const { return validation_; }
    bool has_debug_names() const { return debug_utils_; }
    /// A device was left with work that stalls. The instance is never destroyed then, because NVIDIA's driver
    /// would wait for that work.
    void leave() const;

  private:
    Instance(const Loader& loader, VkInstance handle, bool owned);
    Loader loader_;
    VkInstance handle_;
    bool owned_;
    bool debug_utils_ = false;
    mutable std::atomic<bool> left_ = false;
    InstanceTable table_;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    std::shared_ptr<ValidationLog> validation_ = std::make_shared<ValidationLog>();
};

/// For the end of main(): returns `exit_code`, unless an instance was left (Instance::leave). Then the process ends
/// here, because the driver would wait for ever in its exit handlers.
int end_of_program(int exit_code);

}  // namespace kinetograph::vulkan
