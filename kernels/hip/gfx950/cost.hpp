#pragma once

#include <kinetograph/kernels/conv/gate.hpp>
#include <kinetograph/kernels/hip/gfx950/conv_configs.hpp>
#include <optional>

/// Which of the compiled kernels a convolution takes, and how long it will run. The kernels read output frames one by
/// one, so that of a problem's time axis only frames_out() and the filter's q count.
namespace kinetograph::gfx950 {

/// The loader's path for the problem's channels: the widest access that never crosses pixels. (Padded takes what Chunks
/// does, in more k blocks with less arithmetic: the cheaper of the two is chosen.)
ConvPath path_of(const conv::ConvProblem& problem);

/// Whether the path takes the problem's channels and taps in k blocks of that length.
bool fits_path(const conv::ConvProblem& problem, ConvPath path, uint32_t bk);
/// Whether the tile's epilogue takes the problem's channels (four_wave_conv_config.hpp: kRagged, kNorms).
bool fits_epilogue(const conv::ConvProblem& problem, const ConvTile& tile);

/// Whether frames that follow each other in memory may be one: where all lanes of a k block read one tap, of whole
/// images.
bool joins_images(const conv::ConvProblem& problem, ConvPath path);

enum class Splitting : uint8_t { WherePaying, Never };  ///< of K

/// A kernel, and the number of parts of K that have workgroups of their own.
struct ConvChoice {
    const ConvKernel* kernel = nullptr;
    uint32_t splits = 1;
};

/// The kernel (of `path`, if given) with the least estimated time. Null if no kernel of the path takes the channels, or
/// holds those of a norm.
ConvChoice choose_kernel(const conv::ConvProblem& problem, const conv::Chip& chip, std::optional<ConvPath> path = {});

/// The same among the kernels of one k block and padding, for which a filter is packed: that of the cheapest kernel on
/// an endless grid. It depends only on channels and taps, so that one packing serves any number and size of frames,
/// with a norm and without. K is split, into as many parts for any number of frames, if a frame alone has fewer
/// workgroups than the device compute units and that pays more with one frame than it costs with many.
ConvChoice choose_kernel_for_packing(const conv::ConvProblem& problem, const conv::Chip& chip,
                                     Splitting splitting = Splitting::WherePaying);

/// The cheapest kernel of that tile, with K in `parts` parts, or in as many as it has pairs of k blocks if that is
/// less. Null if none takes the channels.
ConvChoice choose_kernel_of_tile(const conv::ConvProblem& problem, const conv::Chip& chip, const ConvTile& tile,
                                 uint32_t parts);

/// The same with so many output frames, none of whose taps are in the padding.
conv::ConvProblem of_frames(conv::ConvProblem problem, int64_t count);

/// Estimated: rounds of workgroups times the clocks of their loops, or the time to move the frames if that is longer;
/// with splits also the pass that adds them. Without the fixed cost of a launch.
double estimated_seconds(const conv::ConvProblem& problem, const ConvChoice& choice, const conv::Chip& chip);

}  // namespace kinetograph::gfx950
