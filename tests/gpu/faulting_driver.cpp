// Wraps the real CUDA driver: in place of the launch with the number KINETOGRAPH_FAULTING_LAUNCH a kernel runs that
// writes to an address of nothing. Everything else is the driver's own: the library links libcuda.so.1, where dlsym()
// finds what is not defined here.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

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

/// CUlaunchConfig (CUDA driver API).
struct LaunchConfig {
    unsigned grid[3], block[3], shared_bytes;
    void* stream;
    void* attributes;
    unsigned attribute_count;
};

constexpr const char* kAstray = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry astray()
{
    .reg .b32 value;
    .reg .b64 address;
    mov.b32 value, 1;
    mov.b64 address, 64;
    st.global.b32 [address], value;
    ret;
}
)";

/// Of the module above, which the driver compiles. Call it where no stream of the thread is being captured.
void* load_astray() {
    void *module = nullptr, *kernel = nullptr;
    const int loaded = of_the_driver<int(void**, const void*)>("cuModuleLoadData")(&module, kAstray);
    const int found =
        loaded == 0 ? of_the_driver<int(void**, void*, const char*)>("cuModuleGetFunction")(&kernel, module, "astray")
                    : 0;
    if (loaded != 0 || found != 0) {
        std::fprintf(stderr, "no kernel that faults: cuModuleLoadData %d, cuModuleGetFunction %d\n", loaded, found);
        std::abort();
    }
    return kernel;
}

/// "WHAT at N" on standard error, with the nanoseconds of the steady clock.
void say_when(const char* what) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    std::fprintf(stderr, "%s at %lld\n", what,
                 static_cast<long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
}

}  // namespace

/// CUDA driver API, cuStreamQuery, which lanes ask of what stands still. Says when the driver first tells of a loss.
extern "C" int cuStreamQuery(void* stream) {
    constexpr int kDone = 0, kNotReady = 600;
    static auto* const query = of_the_driver<int(void*)>("cuStreamQuery");
    static std::atomic<bool> told = false;
    const int status = query(stream);
    if (status != kDone && status != kNotReady && !told.exchange(true)) say_when("loss told");
    return status;
}

using Launch = int(const void* config, void* kernel, void** parameters, void** extra);

/// CUDA driver API, cuLaunchKernelEx. Says when the fault was launched.
extern "C" int cuLaunchKernelEx(const void* config, void* kernel, void** parameters, void** extra) {
    static auto* const launch = of_the_driver<Launch>("cuLaunchKernelEx");
    static void* const astray = load_astray();
    if (++launches != faulting_launch()) return launch(config, kernel, parameters, extra);
    LaunchConfig one{{1, 1, 1}, {1, 1, 1}, 0, static_cast<const LaunchConfig*>(config)->stream, nullptr, 0};
    const int status = launch(&one, astray, nullptr, nullptr);
    say_when("fault launched");
    return status;
}
