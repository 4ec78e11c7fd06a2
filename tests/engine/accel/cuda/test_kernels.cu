// The stand-in's test kernels for a real GPU, under the same names, and one for what a stand-in does not play.
#include <kinetograph/tests/engine/accel/cuda/test_kernels.hpp>

namespace kinetograph::standin {

extern "C" __global__ void standin_scale_add(const ScaleAddParams params) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < params.count) params.out[i] = params.scale * params.in[i] + params.offset;
}

extern "C" __global__ void standin_spin(const SpinParams params) {
    unsigned long long begin = 0, now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < params.nanoseconds);
}

}  // namespace kinetograph::standin

namespace kinetograph::accel::cuda {

/// Adds up the block's numbers in as much dynamic shared memory as the launch gives.
extern "C" __global__ void sum_in_shared(const SharedSumParams params) {
    extern __shared__ float partial[];
    for (unsigned i = threadIdx.x; i < params.count; i += blockDim.x) partial[i] = params.in[i];
    __syncthreads();
    if (threadIdx.x != 0) return;
    float sum = 0;
    for (unsigned i = 0; i < params.count; ++i) sum += partial[i];
    *params.out = sum;
}

/// Every block writes its rank in its cluster; without clusters, 0.
extern "C" __global__ void write_cluster_rank(const ClusterRankParams params) {
    unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    params.out[blockIdx.x] = rank;
}

/// Reads an address that was never allocated.
extern "C" __global__ void read_nowhere(const ReadNowhereParams params) {
    *params.out = *reinterpret_cast<const float*>(params.address);
}

}  // namespace kinetograph::accel::cuda
