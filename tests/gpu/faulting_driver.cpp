// Wraps the real CUDA driver: of the launch with the number KINETOGRAPH_FAULTING_LAUNCH, or the first one after it that
// has any, every pointer among the arguments leads nowhere. The rest stays, so that the kernel ends by its fault: one
// of absurd sizes might run for ever instead. Everything else is the driver's own: the library links libcuda.so.1,
// where dlsym() finds what is not defined here.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

/// A copy of a kernel's parameters, whose words that could be device addresses are addresses of nothing; empty if it
/// has none.
std::vector<std::uint64_t> astray(const void* parameters, std::size_t bytes) {
    constexpr std::uint64_t kLeast = std::uint64_t{1} << 32, kMost = std::uint64_t{1} << 49,
                            kNowhere = 0x5555555555555500;
    std::vector<std::uint64_t> words((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    std::memcpy(words.data(), parameters, bytes);
    bool any = false;
    for (std::uint64_t& word : words) {
        if (word < kLeast || word >= kMost || word % 16 != 0) continue;
        word = kNowhere;
        any = true;
    }
    if (!any) words.clear();
    return words;
}

}  // namespace

using Launch = int(const void* config, void* kernel, void** parameters, void** extra);
using ParameterInfo = int(void* kernel, std::size_t index, std::size_t* offset, std::size_t* bytes);

/// CUDA driver API, cuLaunchKernelEx. Says on standard error when the fault was launched: nanoseconds of the steady
/// clock.
extern "C" int cuLaunchKernelEx(const void* config, void* kernel, void** parameters, void** extra) {
    static auto* const launch = of_the_driver<Launch>("cuLaunchKernelEx");
    static auto* const info = of_the_driver<ParameterInfo>("cuFuncGetParamInfo");
    static std::atomic<bool> faulted{false};
    if (faulting_launch() == 0 || ++launches < faulting_launch() || faulted)
        return launch(config, kernel, parameters, extra);
    std::size_t offset = 0, bytes = 0;
    if (info(kernel, 0, &offset, &bytes) != 0) std::abort();
    std::vector<std::uint64_t> words = astray(parameters[0], bytes);
    if (words.empty() || faulted.exchange(true)) return launch(config, kernel, parameters, extra);
    void* parameter = words.data();
    const int status = launch(config, kernel, &parameter, nullptr);
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    std::fprintf(stderr, "fault launched at %lld\n",
                 static_cast<long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
    return status;
}
