#pragma once

#include <kinetograph/kernels/host_model/instructions.hpp>
#include <kinetograph/kernels/host_model/kernel_registry.hpp>
#include <optional>
#include <string>

/// Runs a kernel written on kernels/isa/amd on the CPU, with strict checks and an adversarial schedule.
///
/// Every wave of a workgroup is a fiber that executes each instruction for its 64 lanes at once. Workgroups run one
/// after another on each of the launch's host threads. A load to LDS lands at a random legal moment between its issue
/// and the s_waitcnt that waits for it; until then its destination holds poison (NaN in every float format). The seed
/// determines the whole schedule.
///
/// Strict: the first wrong use of an instruction ends the run with one sentence that names workgroup, wave, instruction
/// and source line. For every dword of LDS the model records its last writer and its readers since. Data may be read by
/// the writing wave after its s_waitcnt, by other waves after a barrier that follows, and may be overwritten after the
/// same steps for its readers, whatever the schedule of this run. Buffer accesses are range-checked as the hardware
/// does it; the run stops where the hardware would access memory outside the buffer.
namespace kinetograph::host_model {

struct WaveLaunch {
    Dim3 grid{};                          ///< workgroups; an empty grid runs nothing
    uint64_t seed = 0;                    ///< seed % 3 = 0: loads to LDS land as late as possible, 1: at once, 2: mixed
    uint32_t threads = 1;                 ///< of the host; 0: one per hardware thread
    uint64_t step_limit = 4'000'000'000;  ///< instructions of one workgroup after which the run is called endless
};

struct WaveOutcome {
    std::optional<std::string> fault;  ///< why the run was stopped; none if the kernel ran to its end
    uint64_t matrix_products = 0;      ///< MFMA instructions
    uint64_t lds_reads = 0;            ///< read instructions of waves
    uint64_t lds_read_conflicts = 0;   ///< extra LDS cycles that ds_read_b128 needed because of bank conflicts
    uint64_t loads_to_lds = 0;         ///< direct-to-LDS instructions of waves
};

/// Runs `kernel` for every wave of the grid. Host memory serves as global memory; `parameters` are
/// kernel.parameter_bytes bytes. Does not throw; several threads may call it at once.
WaveOutcome launch_waves(const ModelKernel& kernel, const WaveLaunch& launch, const void* parameters);

}  // namespace kinetograph::host_model
