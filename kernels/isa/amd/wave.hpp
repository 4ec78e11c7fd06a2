#pragma once

#include <kinetograph/kernels/isa/amd/lanes.hpp>

/// The identity of a wave, and how the waves of a workgroup wait for memory and for each other. Sources: AMD, "CDNA3
/// Instruction Set Architecture" (SOPP, "Manually inserted wait states"), "CDNA4 Instruction Set Architecture"; LLVM,
/// "User Guide for AMDGPU Backend".
namespace kinetograph::isa::amd {

struct Index3 {
    uint32_t x, y, z;
};

/// The workgroup in the grid.
KG_DEVICE Index3 workgroup_index() {
#if KG_HOST_MODEL
    const auto index = host_model::wave_workgroup();
    return {index.x, index.y, index.z};
#else
    return {__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z()};
#endif
}

/// 0 ... 63, in order.
KG_DEVICE Lanes<uint32_t> lane_index() {
#if KG_HOST_MODEL
    Lanes<uint32_t> index;
    for (uint32_t i = 0; i < kWaveLanes; ++i) index.lane[i] = i;
    return index;
#else
    return __builtin_amdgcn_workitem_id_x() % kWaveLanes;
#endif
}

/// The value of lane 0, as a scalar. v_readfirstlane_b32.
KG_DEVICE uint32_t read_first_lane(const Lanes<uint32_t>& value) {
#if KG_HOST_MODEL
    return value.lane[0];
#else
    return __builtin_amdgcn_readfirstlane(value);
#endif
}

/// The wave in its workgroup (workgroups are one-dimensional here).
KG_DEVICE uint32_t wave_index() {
#if KG_HOST_MODEL
    return host_model::wave_in_workgroup();
#else
    return __builtin_amdgcn_readfirstlane(__builtin_amdgcn_workitem_id_x() / kWaveLanes);
#endif
}

/// Waits until all but the last `kPending` of this wave's loads to LDS and stores have landed. Do not count loads to
/// registers: the compiler waits for them. s_waitcnt vmcnt.
template <uint32_t kPending>
KG_DEVICE void wait_vector_memory(KG_SITE_ONLY) {
    static_assert(kPending <= 63, "vmcnt has 6 bits");
#if KG_HOST_MODEL
    host_model::wait_vector_memory(kPending, KG_AT("s_waitcnt vmcnt"));
#else
    asm volatile("s_waitcnt vmcnt(%0)" ::"n"(kPending) : "memory");
#endif
}

/// Waits until this wave's reads and writes of LDS are done: reads before other waves may overwrite the data, writes
/// before other waves may read it. s_waitcnt lgkmcnt(0).
KG_DEVICE void wait_lds(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::wait_lds(KG_AT("s_waitcnt lgkmcnt"));
#else
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
#endif
}

/// Joins all waves of the workgroup. It waits for no memory access: wait before it for those that other waves depend
/// on. s_barrier.
KG_DEVICE void barrier(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::wave_barrier(KG_AT("s_barrier"));
#else
    asm volatile("s_barrier" ::: "memory");
#endif
}

/// wait_lds and barrier: afterwards every wave sees what any wave wrote to LDS with write_lds before it.
KG_DEVICE void sync_workgroup(KG_SITE_ONLY) {
#if KG_HOST_MODEL
    host_model::wait_lds(KG_AT("s_waitcnt lgkmcnt"));
    host_model::wave_barrier(KG_AT("s_barrier"));
#else
    asm volatile("s_waitcnt lgkmcnt(0)\n\ts_barrier" ::: "memory");
#endif
}

/// The compiler moves no access to memory across this point, in particular no LDS read down to where its value is used.
KG_DEVICE void keep_lds_reads() {
#if !KG_HOST_MODEL
    asm volatile("" ::: "memory");
#endif
}

/// Makes the compiler compute these scalars before this point, and what is derived from them after it.
template <class... Scalar>
KG_DEVICE void forget_uniform(Scalar&... values) {
#if KG_HOST_MODEL
    (static_cast<void>(values), ...);
#else
    const auto forget_one = [](uint32_t& value) { asm volatile("" : "+s"(value)); };
    (forget_one(values), ...);
#endif
}

/// The compiler moves no instruction across this point. LLVM, llvm.amdgcn.sched.barrier with mask 0.
KG_DEVICE void schedule_fence() {
#if !KG_HOST_MODEL
    __builtin_amdgcn_sched_barrier(0);
#endif
}

}  // namespace kinetograph::isa::amd

#if KG_HOST_MODEL
#include <kinetograph/kernels/host_model/kernel_registry.hpp>
/// KG_KERNEL(name, Params, threads, waves_per_simd) { ... } defines a kernel that the device finds by `name`. It takes
/// one plain struct, called `params`, by value. `threads` per workgroup: exactly this many are launched, along x.
/// `waves_per_simd`: at most 512 / waves_per_simd registers per lane. The host's build registers it under the same
/// name.
#define KG_KERNEL(name, Params, threads, waves_per_simd)                                 \
    static void name##_body(const Params& params);                                       \
    static const kinetograph::host_model::KernelRegistration name##_registration(        \
        {#name, sizeof(Params), threads,                                                 \
         [](const void* params) { name##_body(*static_cast<const Params*>(params)); }}); \
    static void name##_body(const Params& params)
#else
#define KG_KERNEL(name, Params, threads, waves_per_simd)                                 \
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads),     \
                              amdgpu_waves_per_eu(waves_per_simd, waves_per_simd))) void \
    name(const Params params)
#endif
