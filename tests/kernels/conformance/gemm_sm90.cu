#include "gemm_sm90.hpp"

using namespace kinetograph;
using Alone = conformance::GemmSm90<96, 1, 4>;
using Pair = conformance::GemmSm90<192, 2, 3>;

extern "C" __global__ void __launch_bounds__(Alone::kThreads, 1)
    gemm_sm90(const __grid_constant__ conformance::GemmSm90Params params) {
    Alone::run(params);
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(Pair::kThreads, 1)
    gemm_sm90_pair(const __grid_constant__ conformance::GemmSm90Params params) {
    Pair::run(params);
}
