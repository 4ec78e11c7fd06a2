#pragma once

#include <kinetograph/kernels/cuda/sm100/gates.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>

namespace kinetograph::sm100 {

/// Whether the halo kernel would take `problem` on a B200, in a build that has the kernel.
inline bool is_open_on_b200(const conv::ConvProblem& problem) {
    conv::Chip chip;
    chip.kind = "cuda";
    chip.architecture = "sm_100";
    for (const conv::Gate& gate : implicit_gemm_gates())
        if (gate.requirement != "kernels for sm_100f in this build" && !gate.holds({problem, chip})) return false;
    return choose_halo_config(problem) != nullptr;
}

}  // namespace kinetograph::sm100
