#pragma once

#include <kinetograph/kernels/host_model/instructions.hpp>
#include <kinetograph/kernels/host_model/kernel_registry.hpp>
#include <optional>
#include <string>

/// Runs a kernel written on kernels/isa/amd on the CPU, strictly and adversarially.
///
/// Every wave of a workgroup is a fiber that executes each instruction for its 64 lanes at once; workgroups run one
/// after another, on as many threads of the host as asked for. Loads to LDS land at a random legal moment between their
/// issue and the s_waitcnt that waits for them; until then their place holds poison (NaN in every float format). A seed
/// fixes all of it.
///
/// Strict means: the first wrong use of an instruction ends the run with one sentence that names workgroup, wave,
/// instruction and source line. Every dword of LDS knows who wrote it and who has read it since: data is
/// read by its own wave only after its s_waitcnt, by others only after a barrier that follows it, and is overwritten
/// only after the same for its readers, whatever the schedule of this run happens to be. Buffer accesses are
/// range-checked as the hardware does it, and stopped where the hardware would touch foreign memory.
namespace kinetograph::host_model {

struct WaveLaunch {
    Dim3 grid{};                          ///< workgroups; an empty grid runs nothing
    uint64_t seed = 0;                    ///< seed % 3 = 0: loads to LDS land as late as possible, 1: at once, 2: mixed
    uint32_t threads = 1;                 ///< of the host, at least 1; 0: as many as the machine has
    uint64_t step_limit = 4'000'000'000;  ///< instructions of one workgroup after which the run is called endless
};

struct WaveOutcome {
    std::optional<std::string> fault;  ///< why the run was stopped; nothing when the kernel ran to its end
    uint64_t matrix_products = 0;      ///< MFMA instructions
    uint64_t lds_reads = 0;            ///< read instructions of waves
    uint64_t lds_read_conflicts = 0;   ///< further LDS cycles that ds_read_b128 needed because lanes met in a bank
    uint64_t loads_to_lds = 0;         ///< direct-to-LDS instructions of waves
};

/// Runs `kernel` for every wave of the grid. Host memory plays global memory; `parameters` are kernel.parameter_bytes
/// bytes. Does not throw; may be called from several threads at once.
WaveOutcome launch_waves(const ModelKernel& kernel, const WaveLaunch& launch, const void* parameters);

}  // namespace kinetograph::host_model
