#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_config.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_problem.hpp>
#include <span>
#include <string>
#include <string_view>

/// Which of the compiled tiles a convolution takes.
namespace kinetograph::sm80 {

struct NamedConvConfig {
    std::string_view kernel;  ///< entry point in the fat binary: "sm80_conv_bf16_128x96"
    ConvConfig config;
};

/// All that are compiled.
std::span<const NamedConvConfig> conv_configs();

/// What the choice needs to know of a GPU.
struct ConvChip {
    uint32_t sm_count = 108;
    uint32_t shared_bytes_per_sm = 164 * 1024;  ///< 100 KiB on sm_86, sm_89 and sm_120; 228 on sm_90 and sm_100
};

/// CTAs that are resident on one SM, by shared memory and by the registers that the kernel was compiled for.
uint32_t resident_ctas(const ConvConfig& config, const ConvChip& chip);

/// CTAs of the whole problem.
int64_t conv_ctas(const ConvConfig& config, const ConvShape& shape);

/// Clocks that the problem takes with that tile: waves of CTAs that share the pipes of their SM, by constants that were
/// fitted to measurements on an H200. For comparing tiles, on other chips too.
double conv_cost(const ConvConfig& config, const ConvShape& shape, const ConvChip& chip);

/// Whether that tile can do it: its element, copies as wide as the channels allow, and for a norm all channels.
bool fits(const ConvConfig& config, const ConvShape& shape, const ConvEpilogue& epilogue);

/// Why no tile can do this, or "": element types other than bf16 and fp16, more temporal taps than a launch has room
/// for, sub-pixels with other than 3 x 3 taps, norm over more channels than the widest tile has.
std::string declined(const ConvShape& shape, const ConvEpilogue& epilogue);

/// The cheapest tile of the shape's element that can copy its channels and, for a norm, holds them all. The shape is
/// not declined and not empty.
const NamedConvConfig& choose_config(const ConvShape& shape, const ConvEpilogue& epilogue, const ConvChip& chip);

}  // namespace kinetograph::sm80
