// The kernels that a stand-in library can launch by name: host functions over a whole grid.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <optional>
#include <string>

namespace kinetograph::standin {

struct Kernel {
    std::string name;
    std::uint64_t argument_bytes = 0;  ///< 0: not known
    std::uint32_t max_threads = 0;     ///< of a block
    std::uint32_t shared_bytes = 0;    ///< static, a block
};

struct KernelCall {
    accel::Extent3 grid, block, cluster{1, 1, 1};
    std::uint32_t dynamic_shared_bytes = 0;
    const void* arguments = nullptr;  ///< Kernel::argument_bytes, aligned to 16
};

/// The library's own kernels.
std::optional<Kernel> find_test_kernel(std::string_view name);
std::optional<std::string> run_test_kernel(std::string_view name, const KernelCall& call);

/// The kernels linked into this library. run_kernel() returns a fault as a sentence, if there was one.
std::optional<Kernel> find_kernel(std::string_view name);
std::optional<std::string> run_kernel(std::string_view name, const KernelCall& call);

}  // namespace kinetograph::standin
