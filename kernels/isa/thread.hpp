#pragma once

#include <kinetograph/kernels/isa/target.hpp>

/// The identity of a thread, and operations of the threads of one warp. A kernel is written for one thread, as in CUDA;
/// the host model runs every thread as a fiber, so per-thread code needs no second form.
namespace kinetograph::isa {

inline constexpr uint32_t kWarpLanes = 32;

struct Index3 {
    uint32_t x, y, z;
};

/// PTX ISA, Special registers: %tid.x (blocks are one-dimensional here).
KG_DEVICE uint32_t thread_index() {
#if KG_HOST_MODEL
    return host_model::thread_index();
#else
    return threadIdx.x;
#endif
}

/// PTX ISA, Special registers: %ctaid.
KG_DEVICE Index3 block_index() {
#if KG_HOST_MODEL
    const auto index = host_model::block_index();
    return {index.x, index.y, index.z};
#else
    return {blockIdx.x, blockIdx.y, blockIdx.z};
#endif
}

/// PTX ISA, Special registers: %nctaid.
KG_DEVICE Index3 grid_size() {
#if KG_HOST_MODEL
    const auto size = host_model::grid_size();
    return {size.x, size.y, size.z};
#else
    return {gridDim.x, gridDim.y, gridDim.z};
#endif
}

/// The thread's index in its warp, 0..31.
KG_DEVICE uint32_t lane_index() { return thread_index() % kWarpLanes; }

/// `value`, opaque to the compiler: it cannot keep what it derives from `value` in registers from one use to the next.
KG_DEVICE uint32_t recomputed(uint32_t value) {
#if !KG_HOST_MODEL
    asm volatile("" : "+r"(value));
#endif
    return value;
}

/// The compiler moves no load across this point: more loads in flight would not fit the registers.
KG_DEVICE void limit_loads_in_flight() {
#if !KG_HOST_MODEL
    asm volatile("" ::: "memory");
#endif
}

/// The index of this thread's warp in its CTA, uniform by construction; all 32 lanes must call it. PTX ISA, shfl.sync
/// (by which the compiler knows that it is uniform).
KG_DEVICE uint32_t warp_index(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    return host_model::broadcast(host_model::thread_index() / kWarpLanes, 0, KG_AT("shfl.sync.idx"));
#else
    return __shfl_sync(0xffffffffu, threadIdx.x / kWarpLanes, 0);
#endif
}

/// Waits for all lanes of the warp; orders their memory accesses. PTX ISA, bar.warp.sync.
KG_DEVICE void sync_warp(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::sync_warp(KG_AT("bar.warp.sync"));
#else
    __syncwarp();
#endif
}

/// True in one lane of the warp, always the same one; all 32 lanes must call it. PTX ISA, elect.sync.
KG_DEVICE bool elect_one(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    return host_model::elect_one(KG_AT("elect.sync"));
#else
    uint32_t elected = 0;
    asm volatile(
        "{\n.reg .pred p;\n"
        "elect.sync _|p, 0xffffffff;\n"
        "selp.b32 %0, 1, 0, p;\n}"
        : "=r"(elected));
    return elected != 0;
#endif
}

/// The value that lane `source` holds, in every lane of the warp. PTX ISA, shfl.sync.idx.
KG_DEVICE uint32_t broadcast(uint32_t value, uint32_t source KG_SITE) {
#if KG_HOST_MODEL
    return host_model::broadcast(value, source, KG_AT("shfl.sync.idx"));
#else
    return __shfl_sync(0xffffffffu, value, source);
#endif
}

/// Raises or lowers this warpgroup's registers per thread to `kCount`. Raising waits until the CTA's pool of 65,536
/// registers has room. PTX ISA, setmaxnreg (24..256 in steps of 8, all warps of the warpgroup).
template <uint32_t kCount>
KG_DEVICE void raise_registers(KG_SITE_ONLY) {
    static_assert(kCount >= 24 && kCount <= 256 && kCount % 8 == 0, "setmaxnreg takes 24..256 in steps of 8");
#if KG_HOST_MODEL
    host_model::set_registers(kCount, true, KG_AT("setmaxnreg.inc"));
#else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
#endif
}
template <uint32_t kCount>
KG_DEVICE void lower_registers(KG_SITE_ONLY) {
    static_assert(kCount >= 24 && kCount <= 256 && kCount % 8 == 0, "setmaxnreg takes 24..256 in steps of 8");
#if KG_HOST_MODEL
    host_model::set_registers(kCount, false, KG_AT("setmaxnreg.dec"));
#else
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
#endif
}

}  // namespace kinetograph::isa
