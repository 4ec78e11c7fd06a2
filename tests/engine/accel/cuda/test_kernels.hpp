// Parameters of the kernels in test_kernels.cu.
#pragma once

#include <kinetograph/tests/standin/standin.hpp>

namespace kinetograph::accel::cuda {

using standin::ClusterRankParams;
using standin::SharedSumParams;

struct ReadNowhereParams {
    std::uint64_t address;
    float* out;
};

}  // namespace kinetograph::accel::cuda
