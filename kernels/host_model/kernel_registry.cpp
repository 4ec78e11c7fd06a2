#include <cassert>
#include <kinetograph/kernels/host_model/kernel_registry.hpp>
#include <map>

namespace kinetograph::host_model {
namespace {

/// Function-local: registrations in other files run before this file's statics are initialised.
std::map<std::string_view, ModelKernel>& registry() {
    static std::map<std::string_view, ModelKernel> kernels;
    return kernels;
}

}  // namespace

KernelRegistration::KernelRegistration(const ModelKernel& kernel) {
    [[maybe_unused]] const bool first = registry().emplace(kernel.name, kernel).second;
    assert(first && "two kernels of one name");
}

const ModelKernel* find_model_kernel(std::string_view name) {
    const auto found = registry().find(name);
    return found == registry().end() ? nullptr : &found->second;
}

std::vector<const ModelKernel*> model_kernels() {
    std::vector<const ModelKernel*> kernels;
    kernels.reserve(registry().size());
    for (const auto& [name, kernel] : registry()) kernels.push_back(&kernel);
    return kernels;
}

}  // namespace kinetograph::host_model
