#pragma once

#include <functional>
#include <kinetograph/kernels/host_model/instructions.hpp>
#include <kinetograph/kernels/isa/tensor_map.hpp>
#include <optional>
#include <string>

/// Runs a kernel written on kernels/isa on the CPU, with strict checks and an adversarial schedule.
///
/// Every thread of the kernel is a fiber, so the source is the one that nvcc compiles: registers are local variables,
/// and an instruction of a whole warp or warpgroup waits until all of its lanes have arrived. Fibers run in random
/// order. Asynchronous work (TMA, wgmma, tcgen05, cluster launch control) lands at a random legal moment; until then
/// its destination holds poison (NaN in every float format). The seed determines the whole schedule.
///
/// Strict: the first wrong use of an instruction ends the run with one sentence that names CTA, warp, lane, instruction
/// and source line. Shared memory that asynchronous instructions touch must be accessed through isa::load_shared and
/// isa::store_shared; the model does not see plain writes and treats the bytes as never written.
namespace kinetograph::host_model {

/// The order in which threads run and asynchronous work lands.
enum class Schedule : uint8_t {
    Adversarial,  ///< random, to find what depends on the order; determined by the seed
    Orderly,      ///< warp by warp, asynchronous work lands at once: for runs whose results matter, not their schedule
};

struct Launch {
    Dim3 grid{};                ///< CTAs; a multiple of `cluster` on every axis
    Dim3 cluster{};             ///< at most 16 CTAs
    uint32_t threads = 128;     ///< of one CTA: a multiple of 32
    uint64_t shared_bytes = 0;  ///< dynamic shared memory of one CTA, at most 232448
    uint32_t registers = 0;  ///< per thread at launch; 0: 65536 / threads, at most 255, rounded down to a multiple of 8
    uint32_t resident_clusters = 2;  ///< clusters that run at once; the others wait, or launch control takes them over
    uint64_t seed = 0;               ///< seed % 3 = 0 lands asynchronous work as late as possible, 1 early, 2 mixed
    Schedule schedule = Schedule::Adversarial;
    uint32_t host_threads = 1;          ///< that share the clusters of an orderly launch; 0: one per hardware thread
    uint64_t step_limit = 400'000'000;  ///< fiber switches after which the run counts as endless
};

struct Outcome {
    std::optional<std::string> fault;  ///< why the run was stopped; none if the kernel ran to its end
    uint64_t steps = 0;                ///< fiber switches
    uint64_t landed = 0;               ///< asynchronous operations that landed
    uint64_t bank_conflicts = 0;       ///< rows that ldmatrix read from a bank that another of its rows occupied
};

/// Runs `kernel` once for each thread of the grid. Host memory serves as global memory.
Outcome run(const Launch& launch, const std::function<void()>& kernel);

/// The map that `desc` describes, for a kernel under `run`; `desc` must outlive it. If isa::broken_limit(desc) finds a
/// fault, the first load through the map reports it.
isa::TensorMap model_map(const isa::TensorMapDesc& desc);

}  // namespace kinetograph::host_model
