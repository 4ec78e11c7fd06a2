#include <cassert>
#include <kinetograph/kernels/host_model/kernel_registry.hpp>
#include <map>

namespace kinetograph::host_model {
namespace {

/// A function's static: registrations of other files run before this file's own statics exist.
std::map<std::string_view, WaveKernel>& registry() {
    static std::map<std::string_view, WaveKernel> kernels;
    return kernels;
}

}  // namespace

KernelRegistration::KernelRegistration(const WaveKernel& kernel) {
    [[maybe_unused]] const bool first = registry().emplace(kernel.name, kernel).second;
    assert(first && "two kernels of one name");
}

const WaveKernel* find_wave_kernel(std::string_view name) {
    const auto found = registry().find(name);
    return found == registry().end() ? nullptr : &found->second;
}

std::vector<const WaveKernel*> wave_kernels() {
    std::vector<const WaveKernel*> kernels;
    kernels.reserve(registry().size());
    for (const auto& [name, kernel] : registry()) kernels.push_back(&kernel);
    return kernels;
}

}  // namespace kinetograph::host_model
