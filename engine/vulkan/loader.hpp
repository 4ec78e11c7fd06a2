// Loader: the source of Vulkan's functions, opened at run time so that one binary also runs without Vulkan.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <vulkan/vulkan_core.h>

namespace kinetograph::vulkan {

class Loader {
  public:
    /// Opens the system's loader, which stays loaded for the life of the process: drivers do not survive being
    /// unloaded. Errors: NotFound ("libvulkan.so.1 not found: Vulkan lanes off").
    static Result<Loader> open(const std::string& library = "libvulkan.so.1");
    /// Functions of a host application that has already loaded Vulkan.
    static Loader adopt(PFN_vkGetInstanceProcAddr get_instance_proc_addr) { return Loader(get_instance_proc_addr); }

    PFN_vkGetInstanceProcAddr get_instance_proc_addr() const { return get_instance_proc_addr_; }
    /// A function that needs no instance (vkCreateInstance, vkEnumerateInstance...); null if absent.
    template <class Function>
    Function global(const char* name) const {
        return reinterpret_cast<Function>(get_instance_proc_addr_(VK_NULL_HANDLE, name));
    }

  private:
    explicit Loader(PFN_vkGetInstanceProcAddr get) : get_instance_proc_addr_(get) {}
    PFN_vkGetInstanceProcAddr get_instance_proc_addr_;
};

}  // namespace kinetograph::vulkan
