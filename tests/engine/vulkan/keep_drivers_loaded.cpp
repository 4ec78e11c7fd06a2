// The Vulkan loader unloads layers and drivers with their instance, and leak reports can then no longer name them.
// Under the sanitizers they stay loaded, so that tests/lsan.supp can exclude libraries whose leaks are not ours, and so
// that the thread sanitizer, which stops when a library of tests/tsan.supp is unloaded, continues.
#include <dlfcn.h>

#include <initializer_list>

namespace {

[[maybe_unused]] bool keep_drivers_loaded() {
    for (const char* library :
         {"libVkLayer_khronos_validation.so", "libVkLayer_MESA_device_select.so", "libvulkan_lvp.so",
          "libvulkan_intel.so", "libvulkan_intel_hasvk.so", "libvulkan_radeon.so"})
        ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);  // null if it is not installed
    return true;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const bool kept = keep_drivers_loaded();
#endif

}  // namespace
