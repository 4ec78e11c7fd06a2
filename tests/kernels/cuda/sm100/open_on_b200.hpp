#pragma once

#include <kinetograph/kernels/cuda/sm100/gates.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>

namespace kinetograph::sm100 {

/// Whether the halo kernel would take `problem` on a B200.
inline bool is_open_on_b200(const conv::ConvProblem& problem) {
    conv::Chip chip;
    chip.kind = "cuda";
    chip.architecture = "sm_100";
    return conv::reasons(implicit_gemm_gates(), {problem, chip}).empty() && choose_halo_config(problem) != nullptr;
}

}  // namespace kinetograph::sm100
