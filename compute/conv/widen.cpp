#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/widen.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

namespace kinetograph::conv {
namespace {

[[gnu::always_inline]] inline void widen_loop(const std::uint16_t* from, float* to, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = tensor::from_bf16(from[i]);
}

}  // namespace

void widen(const std::byte* from, float* to, std::int64_t count) {
    CpuClones<widen_loop>()(reinterpret_cast<const std::uint16_t*>(from), to, count);
}

}  // namespace kinetograph::conv
