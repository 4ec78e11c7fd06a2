// The chip that the stand-in for the CUDA driver poses as.
#pragma once

namespace kinetograph::accel::cuda {

struct Chip {
    int architecture = 90;      ///< 10 * major + minor of the compute capability
    int shared_bytes = 232448;  ///< dynamic shared memory of a block, at most
};

/// From Options::architecture, "sm_90".
Chip posed_chip();

}  // namespace kinetograph::accel::cuda
