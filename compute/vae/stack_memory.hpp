// StackMemory: the device memory that a decoder takes, known before any of it is allocated.
#pragma once

#include <cstdint>

namespace kinetograph::vae {

/// In bytes. Nothing is allocated beyond it, whatever the clip's length.
struct StackMemory {
    std::uint64_t transients = 0;  ///< one arena for the largest step
    std::uint64_t histories = 0;   ///< frames that the causal convolutions keep from step to step
    std::uint64_t parameters = 0;  ///< as the device holds them
    std::uint64_t packed = 0;  ///< filters that back ends for the CPU pack in ordinary memory, which it does not count
    std::uint64_t io = 0;      ///< staging of input and output; beside a GPU that is the host's
    std::uint64_t total() const { return transients + histories + parameters + packed + io; }
};

}  // namespace kinetograph::vae
