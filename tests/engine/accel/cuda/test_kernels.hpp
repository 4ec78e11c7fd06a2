// Parameters of the kernels in test_kernels.cu.
#pragma once

#include <kinetograph/tests/standin/standin.hpp>

namespace kinetograph::accel::cuda {

struct SharedSumParams {
    const float* in;
    float* out;
    std::uint32_t count;
};

struct ClusterRankParams {
    std::uint32_t* out;  ///< one a block
};

struct ReadNowhereParams {
    std::uint64_t address;
    float* out;
};

}  // namespace kinetograph::accel::cuda
