// The stand-in without the host model: it can launch only its own kernels.
#include <kinetograph/tests/standin/kernels.hpp>

namespace kinetograph::standin {

std::optional<Kernel> find_kernel(std::string_view name) { return find_test_kernel(name); }

std::optional<std::string> run_kernel(std::string_view name, const KernelCall& call) {
    return run_test_kernel(name, call);
}

}  // namespace kinetograph::standin
