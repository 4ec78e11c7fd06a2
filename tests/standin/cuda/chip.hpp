// The chip that the stand-in for the CUDA driver poses as.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace kinetograph::accel::cuda {

struct Chip {
    int architecture = 90;                 ///< 10 * major + minor of the compute capability
    int shared_bytes = 232448;             ///< dynamic shared memory of a block, at most
    std::vector<std::uint32_t> gpcs{132};  ///< SMs of each
    std::uint32_t sms() const { return std::accumulate(gpcs.begin(), gpcs.end(), 0U); }
};

/// From Options::architecture, "sm_90", and Options::gpcs.
Chip posed_chip();

}  // namespace kinetograph::accel::cuda
