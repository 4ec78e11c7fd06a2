#pragma once

#include <array>
#include <cstddef>
#include <kinetograph/kernels/conv/element.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_params.hpp>
#include <kinetograph/kernels/hip/gfx950/rates.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// From a convolution to launches of FourWaveConv: which kernel, with which parameters and which packed filter. Pure
/// functions of their arguments; no device is needed.
namespace kinetograph::gfx950 {

enum class ConvPath : uint8_t {
    Uniform,
    Padded,
    Chunks,
    Pieces,
    Elements
};  ///< ConvLoader (four_wave_conv_config.hpp)

/// One convolution of frames, each a dense [h, w, c_in] block. There is no time axis: an output frame lists its q input
/// frames, so that stride, dilation, padding and history rings in time are the caller's choice of addresses. output =
/// relu(silu(scale * conv(input, filter) + bias) + beta * source), rounded once to bf16 (fp16 for fp16), or float32.
struct FourWaveConvProblem {
    Element element = Element::BF16;
    int64_t frames = 1;              ///< output frames
    int64_t h = 0, w = 0, c_in = 0;  ///< of an input frame in memory
    bool upsample = false;           ///< nearest 2x in rows and columns before the taps: [2h, 2w] is never written
    int64_t c_out = 0, q = 1, r = 1, s = 1;
    int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
    int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
    int64_t groups = 1;
    bool scales = false;  ///< a factor of the sums for each output channel
    bool bias = true, silu = false, source = false, relu = false;
    float beta = 1;
    float negative_slope = 0;  ///< of the ReLU
    bool output = true;        ///< the values themselves are stored
    bool output_f32 = false;   ///< as float32; without norm and source
    bool norm = false;         ///< RMS norm over the c_out channels of each pixel, of the rounded values, stored
    bool norm_silu = true;     ///< SiLU of the norm

    int64_t h_out() const;
    int64_t w_out() const;
    /// Upsampling before a 3x3 filter (stride, dilation and padding 1, 16-bit elements): computed as four 2x2 filters
    /// on the stored image, one for each parity of the output's row and column.
    bool sub_pixel() const;
    uint64_t input_frame_bytes() const;
    uint64_t output_frame_bytes() const;
};

struct ConvTile {
    uint32_t bm, bn, bk;
    friend bool operator==(const ConvTile&, const ConvTile&) = default;
};

/// Why FourWaveConv does not take the problem, one sentence a reason; none: it does.
std::vector<std::string> declined(const FourWaveConvProblem& problem);

/// The loader's path for the problem's channels: the widest access that never crosses pixels. (Padded takes what Chunks
/// does, in more k blocks with less arithmetic: the cheaper of the two is chosen.)
ConvPath path_of(const FourWaveConvProblem& problem);

/// What the caller may fix.
struct ConvOverrides {
    std::optional<ConvTile> tile =
        {};  ///< a tile that has a kernel for the problem's element type and path (conv_kernels())
    std::optional<ConvPath> path = {};  ///< another path than path_of() that takes the channels
    uint32_t splits = 1;                ///< parts of K; more than one: float32 sums of each part, for JoinSumsProblem
};

struct ConvKernel {
    std::string_view name;         ///< "kg_conv_bf16_128x128x64_uniform"
    std::string_view code_object;  ///< "four_wave_conv_bf16"
    Element element;
    ConvTile tile;
    ConvPath path;
};
/// Every kernel.
std::span<const ConvKernel> conv_kernels();

enum class Splitting : uint8_t { WherePaying, Never };  ///< of K

/// A kernel, and the number of parts of K that have workgroups of their own.
struct ConvChoice {
    const ConvKernel* kernel = nullptr;
    uint32_t splits = 1;
};

/// The kernel (of `path`, if given) with the least estimated time. Null if no kernel of the path takes the channels, or
/// holds those of a norm.
ConvChoice choose_kernel(const FourWaveConvProblem& problem, const conv::Chip& chip, std::optional<ConvPath> path = {});

/// The same among the kernels of one k block and padding, for which a filter is packed: that of the cheapest kernel on
/// an endless grid. It depends only on channels and taps, so that one packing serves any number and size of frames,
/// with a norm and without. K is split if a frame alone has fewer workgroups than the device compute units, and the
/// join pays.
ConvChoice choose_kernel_for_packing(const FourWaveConvProblem& problem, const conv::Chip& chip,
                                     Splitting splitting = Splitting::WherePaying);

/// Estimated: rounds of workgroups times the clocks of their loops, or the time to move the frames if that is longer;
/// with splits also the pass that adds them. Without the fixed cost of a launch.
double estimated_seconds(const FourWaveConvProblem& problem, const ConvChoice& choice, const conv::Chip& chip);

/// A problem that is not declined, bound to a kernel; complete but for the addresses.
struct FourWaveConvPlan {
    FourWaveConvProblem problem;
    const ConvKernel* kernel;
    uint32_t threads = 256;
    FourWaveConvParams params;  ///< without addresses, of a launch with params.frames frames at most
    uint32_t compute_units;     ///< of the device
    uint64_t filter_bytes;      ///< of pack_filter
    uint64_t channel_bytes;     ///< of pack_channels
    uint32_t frames_per_launch;
};

/// Errors: a sentence for a declined problem, or for overrides without a kernel.
struct ConvPlanResult {
    std::optional<FourWaveConvPlan> plan;
    std::string error;
};
ConvPlanResult plan_four_wave_conv(const FourWaveConvProblem& problem, const ConvOverrides& overrides = {},
                                   const conv::Chip& chip = mi355x());

/// Orders of a filter's axes, the innermost last: PyTorch's [k][c][q][r][s]; [k][q][r][s][c] (KRSC); [q][r][s][c][k]
/// (RSCF, QRSCF).
enum class FilterOrder : uint8_t { Kcqrs, Kqrsc, Qrsck };

/// The filter in the kernel's order: one row of filter_pitch bytes per output channel, elements [q][r][s][c]. The r * s
/// * c of each temporal tap (Padded: the c of every tap) are followed by zeros up to whole k blocks, the row by zeros
/// up to a multiple of 256 elements. Rounded once, to the problem's element type. With sub_pixel() four such filters,
/// one a parity. Pack when loading.
std::vector<std::byte> pack_filter(const FourWaveConvPlan& plan, std::span<const float> filter,
                                   FilterOrder order = FilterOrder::Kcqrs);

/// Bias, gamma or scales, padded with zeros to a multiple of 256 channels.
std::vector<float> pack_channels(const FourWaveConvPlan& plan, std::span<const float> values);

/// Device addresses of one call. Frames are dense blocks aligned to 4 bytes (input frames: to 16 for speed).
struct ConvAddresses {
    std::span<const void* const> input;   ///< frames * q: [frame][tap]; null: a frame of zeros
    std::span<void* const> output;        ///< frames; empty without output; with splits: the first part's sums
    uint64_t split_bytes = 0;             ///< with splits: from a part's output frame to the next part's
    std::span<const void* const> source;  ///< frames; empty without source; may be the output frames
    std::span<void* const> normed;        ///< frames; empty without norm
    const void* filter = nullptr;         ///< pack_filter
    const void* bias = nullptr;           ///< pack_channels
    const void* gamma = nullptr;          ///< pack_channels
    const void* scales = nullptr;         ///< pack_channels; null: none
};

struct FourWaveConvLaunch {
    uint32_t workgroups;  ///< along x; threads of each: plan.threads; LDS is the kernel's own
    FourWaveConvParams params;
};

/// The launches of one call, in any order: one, unless there are more frames than a launch can list. None for a problem
/// without output elements.
std::vector<FourWaveConvLaunch> launches(const FourWaveConvPlan& plan, const ConvAddresses& addresses);

}  // namespace kinetograph::gfx950
