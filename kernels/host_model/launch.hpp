#pragma once

#include <functional>
#include <kinetograph/kernels/host_model/instructions.hpp>
#include <kinetograph/kernels/isa/tensor_map.hpp>
#include <optional>
#include <string>

/// Runs a kernel written on kernels/isa on the CPU, strictly and adversarially.
///
/// Every thread of the kernel is a fiber, so the source is the same one thread's program that nvcc compiles: registers
/// are locals, an epilogue's row is a thread's loop, and instructions of a whole warp or warpgroup wait until all of
/// its lanes have come. Fibers run in random order; asynchronous work (TMA, wgmma, tcgen05, cluster launch control)
/// lands at a random legal moment; what is in flight holds poison (NaN in every float format). A seed fixes all of it.
///
/// Strict means: the first wrong use of an instruction ends the run with one sentence that names CTA, warp, lane,
/// instruction and source line. Data in shared memory that asynchronous instructions touch must go through
/// isa::load_shared and isa::store_shared; plain writes are invisible to the model and count as never written.
namespace kinetograph::host_model {

/// In which order threads run and asynchronous work lands.
enum class Schedule : uint8_t {
    Adversarial,  ///< at random, to find what depends on it; the seed fixes it
    Orderly,      ///< warp by warp, and at once: where the results matter, and not every order that leads to them
};

struct Launch {
    Dim3 grid{};                ///< CTAs; a multiple of `cluster` on every axis
    Dim3 cluster{};             ///< at most 16 CTAs
    uint32_t threads = 128;     ///< of one CTA: a multiple of 32
    uint64_t shared_bytes = 0;  ///< dynamic shared memory of one CTA, at most 232448
    uint32_t registers = 0;     ///< per thread at launch; 0: 65536 / threads, at most 255, rounded down to 8
    uint32_t resident_clusters =
        2;              ///< clusters that run at once; the others wait, or are taken over by launch control
    uint64_t seed = 0;  ///< schedule: seed % 3 = 0 lands asynchronous work as late as possible, 1 early, 2 mixed
    Schedule schedule = Schedule::Adversarial;
    uint32_t host_threads = 1;          ///< that share the clusters of an orderly launch; 0: as many as the machine has
    uint64_t step_limit = 400'000'000;  ///< switches of fibers after which the run is called endless
};

struct Outcome {
    std::optional<std::string> fault;  ///< why the run was stopped; nothing when the kernel ran to its end
    uint64_t steps = 0;                ///< switches of fibers
    uint64_t landed = 0;               ///< asynchronous operations that landed
    uint64_t bank_conflicts = 0;       ///< rows that ldmatrix read from banks that were busy with another of its rows
};

/// Runs `kernel` once for every thread of the grid. Host memory plays global memory.
Outcome run(const Launch& launch, const std::function<void()>& kernel);

/// The map that `desc` describes, for use by a kernel under `run` while `desc` lives. A fault of the first load through
/// it repeats isa::broken_limit(desc) if there is one.
isa::TensorMap model_map(const isa::TensorMapDesc& desc);

}  // namespace kinetograph::host_model
