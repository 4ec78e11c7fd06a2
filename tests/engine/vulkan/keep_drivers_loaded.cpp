// The Vulkan loader unloads layers and drivers with their instance, and with them goes what a leak report could be told
// by. Under the sanitizers they stay: tests/lsan.supp can then name the libraries whose leaks are not ours, and the
// thread sanitizer, which refuses to go on when a library of tests/tsan.supp is unloaded, goes on.
#include <dlfcn.h>

#include <initializer_list>

namespace {

[[maybe_unused]] bool keep_drivers_loaded() {
    for (const char* library :
         {"libVkLayer_khronos_validation.so", "libVkLayer_MESA_device_select.so", "libvulkan_lvp.so",
          "libvulkan_intel.so", "libvulkan_intel_hasvk.so", "libvulkan_radeon.so"})
        ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);  // null where it is not installed
    return true;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const bool kept = keep_drivers_loaded();
#endif

}  // namespace
