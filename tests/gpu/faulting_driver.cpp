// Wraps the real CUDA driver: the launch with the number KINETOGRAPH_FAULTING_LAUNCH gets arguments whose every byte is
// 0x55, so that sizes are large and pointers invalid. Everything else is the driver's own: the library links
// libcuda.so.1, where dlsym() finds what is not defined here.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

std::atomic<long> launches{0};

long faulting_launch() {
    const char* text = std::getenv("KINETOGRAPH_FAULTING_LAUNCH");
    return text != nullptr ? std::strtol(text, nullptr, 10) : 0;
}

template <class Function>
Function* of_the_driver(const char* name) {
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(dlsym(driver, name));
}

}  // namespace

using Launch = int(const void* config, void* kernel, void** parameters, void** extra);
using ParameterInfo = int(void* kernel, std::size_t index, std::size_t* offset, std::size_t* bytes);

/// CUDA driver API, cuLaunchKernelEx. Says on standard error when the fault was launched: nanoseconds of the steady
/// clock.
extern "C" int cuLaunchKernelEx(const void* config, void* kernel, void** parameters, void** extra) {
    static auto* const launch = of_the_driver<Launch>("cuLaunchKernelEx");
    static auto* const info = of_the_driver<ParameterInfo>("cuFuncGetParamInfo");
    if (++launches != faulting_launch()) return launch(config, kernel, parameters, extra);
    std::size_t offset = 0, bytes = 0;
    if (info(kernel, 0, &offset, &bytes) != 0) std::abort();
    std::vector<std::max_align_t> astray(bytes / sizeof(std::max_align_t) + 1);
    std::memset(astray.data(), 0x55, bytes);
    void* parameter = astray.data();
    const int status = launch(config, kernel, &parameter, nullptr);
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    std::fprintf(stderr, "fault launched at %lld\n",
                 static_cast<long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
    return status;
}
