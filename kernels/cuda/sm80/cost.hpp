#pragma once

#include <kinetograph/kernels/conv/gate.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_config.hpp>

/// Which of the compiled tiles a convolution gets, and how long it will run.
namespace kinetograph::sm80 {

struct NamedConvConfig {
    std::string_view kernel;  ///< entry point in the fat binary: "sm80_conv_bf16_128x96"
    ConvConfig config;
};

/// All compiled tiles.
std::span<const NamedConvConfig> conv_configs();

/// CTAs resident on one SM, limited by shared memory and by the registers that the kernel was compiled for.
uint32_t resident_ctas(const ConvConfig& config, const conv::Chip& chip);

/// CTAs of the whole problem.
int64_t conv_ctas(const ConvConfig& config, const conv::ConvProblem& problem);

/// Clocks of an SM's matrix units for that many multiply-adds of 16 bits with fp32 sums; 0 on chips where other limits
/// come first. A100 312 TFLOP/s, RTX 3090 71, 4090 165, 5090 210 (data sheets and architecture white papers).
double matrix_clocks(double multiply_adds, const conv::Chip& chip);

/// What CTAs of a launch cost, in clocks of an SM.
struct CtaClocks {
    double shared;  ///< that each CTA occupies the SM's pipes
    double alone;   ///< that a CTA takes if it has the SM to itself
};
/// Seconds of `ctas` CTAs of which `resident` share an SM, wave by wave.
double wave_seconds(const CtaClocks& clocks, int64_t ctas, int64_t resident, const conv::Chip& chip);

/// Seconds that the problem takes with that tile: waves of CTAs that share the pipes of their SM, with constants fitted
/// to measurements on an H200.
double conv_seconds(const ConvConfig& config, const conv::ConvProblem& problem, const conv::Chip& chip);

/// Whether that tile can run it: its element, copies as wide as the channels allow, and for a norm all channels in the
/// narrowest tile that holds them. (A norm's last bit depends on the width, and must depend on nothing else.)
bool fits(const ConvConfig& config, const conv::ConvProblem& problem);

/// Whether any tile fits; none does for a norm over more channels than the widest tile has.
bool some_tile_fits(const conv::ConvProblem& problem);

/// The cheapest tile that fits. At least one must fit, and the problem must not be empty.
const NamedConvConfig& choose_config(const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::sm80
