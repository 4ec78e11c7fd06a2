#pragma once

#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/pixel_order.hpp>
#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/conv/storage.hpp>
#include <limits>

/// Operators: the passes of a decoder besides its convolutions. Each is a problem without addresses, with the gates
/// that hold for it on every device (`valid`); chips have methods and plans for them, as plan.hpp has for convolutions.
namespace kinetograph::conv {

/// The addresses of one call, on the device. Frames lie anywhere.
struct OpTensors {
    std::span<const std::byte* const> input{};  ///< frames
    std::span<std::byte* const> output{};       ///< as many, except KeepFramesProblem's
    std::byte* workspace = nullptr;             ///< OpPlan::workspace_bytes, 256-byte aligned
    std::span<std::byte* const> sum{};          ///< as many as the input, if the problem adds
    const float* parameters = nullptr;          ///< of the problem; lives until the stream has passed
    std::uint32_t* not_finite = nullptr;        ///< becomes 1 if an input is infinite or NaN; null: not asked
};

/// "BF16" of a value that must be a type of float, with requirements of what a problem's storages are.
template <class Problem, Storage Problem::*kValue>
inline constexpr Gate<Problem> kFloats{
    "F32, BF16 or F16",
    [](const Problem& p) {
        const Element element = (p.*kValue).element;
        return element == Element::F32 || element == Element::BF16 || element == Element::F16;
    },
    [](const Problem& p) { return std::string(element_spelling((p.*kValue).element)); }};
template <class Problem>
inline constexpr Gate<Problem> kStoredAlike{
    "an output stored as the input", [](const Problem& p) { return p.input == p.output; },
    [](const Problem& p) {
        return std::string(element_spelling(p.output.element)) + " of scale " + std::to_string(p.output.scale);
    }};

/// Planar latents to channel-last frames: out[pixel][c] = soft(sum over i of latent[i][pixel] * map[i][c] +
/// map[channels][c]), rounded once; soft(x) = soft_limit * tanh(x / soft_limit).
///
/// input       [channels, pixels]
/// output      [pixels, channels]
/// parameters  map [channels + 1, channels]; null: out is latent
struct UnpackLatentProblem {
    static constexpr std::string_view kName = "unpacking latents";
    std::int64_t pixels = 0, channels = 0;
    Storage input = Element::F32, output{};
    float soft_limit = 0;  ///< 0: none
    friend bool operator==(const UnpackLatentProblem&, const UnpackLatentProblem&) = default;
};

/// y = x * sqrt(C) / max(||x||_2, 1e-12) * gamma for every pixel's C channels, then the activation. No bias, no mean,
/// no epsilon under the root; a pixel of zeros stays zero. If it adds, the input is added to the sum in place, rounded
/// once, and x is the sum. A frame of output may be its input frame.
///
/// input, output, sum  [pixels, channels]
/// parameters          gamma [channels], 16-byte aligned
struct NormProblem {
    static constexpr std::string_view kName = "RMS norm";
    std::int64_t pixels = 0, channels = 0;
    Storage input{}, output{};
    Activation activation = Activation::None;
    bool adds = false;
    friend bool operator==(const NormProblem&, const NormProblem&) = default;
};

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, then the activation. Mean and variance, sums in float32
/// or more, are those of a frame's values in each of `groups` equal parts of the channels, the variance over their
/// number. Neither the sums nor their order depend on how many frames a call has.
///
/// input, output  [pixels, channels]
/// parameters     weight [channels], then bias [channels], 16-byte aligned
struct GroupNormProblem {
    static constexpr std::string_view kName = "group norm";
    std::int64_t pixels = 0, channels = 0, groups = 1;
    float epsilon = 1e-6F;
    Storage input{}, output{};
    Activation activation = Activation::None;  ///< or Silu
    friend bool operator==(const GroupNormProblem&, const GroupNormProblem&) = default;
};

/// softmax(q k^T / sqrt(channels)) v over the tokens of a frame: one head as wide as the channels, no mask. The
/// tokens x tokens matrix of scores is never stored whole. If it adds, the result is added to the sum in place, and the
/// output is the RMS norm of the rounded sums.
///
/// input        [tokens, 3 * channels]: query, key, value of a token in this order
/// output, sum  [tokens, channels]
/// parameters   gamma [channels] of the norm, 16-byte aligned
struct AttentionProblem {
    static constexpr std::string_view kName = "attention";
    std::int64_t tokens = 0;    ///< pixels of one frame
    std::int64_t channels = 0;  ///< width of the one head
    Storage input{}, output{};  ///< softmax and sums are float32
    bool adds = false;
    Activation norm_activation = Activation::None;  ///< of that norm
    friend bool operator==(const AttentionProblem&, const AttentionProblem&) = default;
};

/// Nearest neighbour, by two in height and width: every pixel becomes a 2x2 block.
///
/// input   [height, width, channels]
/// output  [2 height, 2 width, channels]
struct UpsampleProblem {
    static constexpr std::string_view kName = "upsampling";
    std::int64_t height = 0, width = 0, channels = 0;  ///< of the input
    Storage input{}, output{};
    friend bool operator==(const UpsampleProblem&, const UpsampleProblem&) = default;
};

/// Channels to blocks of 2x2 pixels: out[2 y + dy, 2 x + dx, c] = in[y, x, (4 c + i) * channels_in / (4 channels_out)],
/// i = place_in_block(order, dy, dx).
///
/// input   [height, width, channels_in]
/// output  [2 height, 2 width, channels_out]
struct DepthToSpaceProblem {
    static constexpr std::string_view kName = "channels to pixels";
    std::int64_t height = 0, width = 0;  ///< of the input
    std::int64_t channels_in = 0;        ///< divides 4 channels_out
    std::int64_t channels_out = 0;
    PixelOrder order = PixelOrder::RowsFirst;
    Storage input{}, output{};
    friend bool operator==(const DepthToSpaceProblem&, const DepthToSpaceProblem&) = default;
};

/// Moves a queue of frames on: the output, which is the queue, loses its oldest frames and gets the input at its end,
/// so that afterwards it holds the last output.size() of all.
///
/// input   [elements] each, the oldest first; at most as many as are kept
/// output  [elements] each, the oldest first
struct KeepFramesProblem {
    static constexpr std::string_view kName = "keeping frames";
    std::int64_t elements = 0;  ///< of a frame
    Storage input{}, output{};
    friend bool operator==(const KeepFramesProblem&, const KeepFramesProblem&) = default;

    std::uint64_t frame_bytes() const { return static_cast<std::uint64_t>(elements) * element_bytes(input.element); }
};
/// The frame that becomes output[i].
inline const std::byte* source_of_kept(const OpTensors& tensors, std::size_t i) {
    const std::size_t stay = tensors.output.size() - tensors.input.size();
    return i < stay ? tensors.output[i + tensors.input.size()] : tensors.input[i - stay];
}

/// Frames limited to [-limit, limit] and stored as float32 or half, rounded to nearest even; NaN stays NaN. A frame of
/// output may be its input frame if both are F32.
///
/// input, output  [elements]
struct StoreFloatProblem {
    static constexpr std::string_view kName = "storing frames of floats";
    std::int64_t elements = 0;  ///< of one frame
    Storage input{}, output = Element::F32;
    float limit = std::numeric_limits<float>::infinity();
    friend bool operator==(const StoreFloatProblem&, const StoreFloatProblem&) = default;
};

/// Frames of three channels, nominal range [-1, 1], as opaque pictures of 8 bits: round((v + 1) * 127.5), halves up,
/// limited to 0..255; NaN becomes 0.
///
/// input   [pixels, 3]
/// output  [pixels, 4] bytes, 4-byte aligned
struct StorePictureProblem {
    static constexpr std::string_view kName = "storing a picture";
    std::int64_t pixels = 0;
    Storage input{};
    friend bool operator==(const StorePictureProblem&, const StorePictureProblem&) = default;
};

/// `Of<Problem>` of any operator.
template <template <class> class Of>
using EachOperator = std::variant<Of<UnpackLatentProblem>, Of<NormProblem>, Of<GroupNormProblem>, Of<AttentionProblem>,
                                  Of<UpsampleProblem>, Of<DepthToSpaceProblem>, Of<KeepFramesProblem>,
                                  Of<StoreFloatProblem>, Of<StorePictureProblem>>;
using OpProblem = EachOperator<std::type_identity_t>;

struct OpPlan {
    std::vector<KernelName> kernels{};  ///< indexed by ConvLaunch::kernel
    std::uint64_t workspace_bytes = 0;
    double seconds = 0;  ///< predicted, for one frame; 0: no model
    /// The steps of one call, to be enqueued in order in one stream; each waits for those before it.
    std::function<std::vector<ConvStep>(const OpTensors&, const EncodeMap&)> steps;
};

/// An implementation of an operator for some chips, named <method>-<chip>. Of a chip's methods that take a problem, the
/// one whose plan predicts the fewest seconds runs; the first of equals.
template <class Problem>
struct OpMethodOf {
    std::string_view name;         ///< "mma-sm80"
    bool (*runs_on)(const Chip&);  ///< whether its kernels are for this chip
    std::span<const Gate<SubjectOf<Problem>>> gates;
    OpPlan (*plan)(const Problem&, const Chip&);  ///< only for problems that pass the gates
    bool adds = true;  ///< takes problems that add; one that does not plans them without, and a norm that adds follows
};
using OpMethod = EachOperator<OpMethodOf>;

/// The steps of KeepFramesProblem as copies, for any device.
std::vector<ConvStep> copies_of_kept(const KeepFramesProblem& problem, const OpTensors& tensors);

// ---- what holds for a problem on every device ------------------------------------------------------------------

inline constexpr Gate<UnpackLatentProblem> kValidUnpackLatent[] = {
    {"a pixel and a channel or more", [](const UnpackLatentProblem& p) { return p.pixels >= 1 && p.channels >= 1; },
     [](const UnpackLatentProblem& p) { return std::to_string(p.pixels) + " and " + std::to_string(p.channels); }},
    kFloats<UnpackLatentProblem, &UnpackLatentProblem::input>,
    kFloats<UnpackLatentProblem, &UnpackLatentProblem::output>,
};
inline constexpr Gate<NormProblem> kValidNorm[] = {
    {"a pixel and a channel or more", [](const NormProblem& p) { return p.pixels >= 1 && p.channels >= 1; },
     [](const NormProblem& p) { return std::to_string(p.pixels) + " and " + std::to_string(p.channels); }},
    kFloats<NormProblem, &NormProblem::input>,
    kStoredAlike<NormProblem>,
};
inline constexpr Gate<GroupNormProblem> kValidGroupNorm[] = {
    {"a pixel or more", [](const GroupNormProblem& p) { return p.pixels >= 1; },
     [](const GroupNormProblem& p) { return std::to_string(p.pixels); }},
    {"channels that are a multiple of the groups",
     [](const GroupNormProblem& p) { return p.channels >= 1 && p.groups >= 1 && p.channels % p.groups == 0; },
     [](const GroupNormProblem& p) { return std::to_string(p.channels) + " and " + std::to_string(p.groups); }},
    kFloats<GroupNormProblem, &GroupNormProblem::input>,
    kStoredAlike<GroupNormProblem>,
};
inline constexpr Gate<AttentionProblem> kValidAttention[] = {
    {"1 to 1048576 tokens", [](const AttentionProblem& p) { return p.tokens >= 1 && p.tokens <= 1 << 20; },
     [](const AttentionProblem& p) { return std::to_string(p.tokens); }},
    {"1 to 16384 channels", [](const AttentionProblem& p) { return p.channels >= 1 && p.channels <= 16384; },
     [](const AttentionProblem& p) { return std::to_string(p.channels); }},
    kFloats<AttentionProblem, &AttentionProblem::input>,
    kStoredAlike<AttentionProblem>,
};
inline constexpr Gate<UpsampleProblem> kValidUpsample[] = {
    {"a pixel and a channel or more",
     [](const UpsampleProblem& p) { return p.height >= 1 && p.width >= 1 && p.channels >= 1; },
     [](const UpsampleProblem& p) {
         return std::to_string(p.height) + 'x' + std::to_string(p.width) + " and " + std::to_string(p.channels);
     }},
    kFloats<UpsampleProblem, &UpsampleProblem::input>,
    kStoredAlike<UpsampleProblem>,
};
inline constexpr Gate<DepthToSpaceProblem> kValidDepthToSpace[] = {
    {"a pixel or more", [](const DepthToSpaceProblem& p) { return p.height >= 1 && p.width >= 1; },
     [](const DepthToSpaceProblem& p) { return std::to_string(p.height) + 'x' + std::to_string(p.width); }},
    {"input channels that divide four times the output's",
     [](const DepthToSpaceProblem& p) {
         return p.channels_in >= 1 && p.channels_out >= 1 && 4 * p.channels_out % p.channels_in == 0;
     },
     [](const DepthToSpaceProblem& p) {
         return std::to_string(p.channels_in) + " for " + std::to_string(p.channels_out);
     }},
    kFloats<DepthToSpaceProblem, &DepthToSpaceProblem::input>,
    kStoredAlike<DepthToSpaceProblem>,
};
inline constexpr Gate<KeepFramesProblem> kValidKeepFrames[] = {
    {"an element or more", [](const KeepFramesProblem& p) { return p.elements >= 1; },
     [](const KeepFramesProblem& p) { return std::to_string(p.elements); }},
    kStoredAlike<KeepFramesProblem>,
};
inline constexpr Gate<StoreFloatProblem> kValidStoreFloat[] = {
    {"an element or more", [](const StoreFloatProblem& p) { return p.elements >= 1; },
     [](const StoreFloatProblem& p) { return std::to_string(p.elements); }},
    {"a limit of 0 or more", [](const StoreFloatProblem& p) { return p.limit >= 0; },
     [](const StoreFloatProblem& p) { return std::to_string(p.limit); }},
    kFloats<StoreFloatProblem, &StoreFloatProblem::input>,
    {"frames stored as F32 or F16",
     [](const StoreFloatProblem& p) { return p.output == Storage(Element::F32) || p.output == Storage(Element::F16); },
     [](const StoreFloatProblem& p) { return std::string(element_spelling(p.output.element)); }},
};
inline constexpr Gate<StorePictureProblem> kValidStorePicture[] = {
    {"a pixel or more", [](const StorePictureProblem& p) { return p.pixels >= 1; },
     [](const StorePictureProblem& p) { return std::to_string(p.pixels); }},
    kFloats<StorePictureProblem, &StorePictureProblem::input>,
};
constexpr std::span<const Gate<UnpackLatentProblem>> valid(const UnpackLatentProblem&) { return kValidUnpackLatent; }
constexpr std::span<const Gate<NormProblem>> valid(const NormProblem&) { return kValidNorm; }
constexpr std::span<const Gate<GroupNormProblem>> valid(const GroupNormProblem&) { return kValidGroupNorm; }
constexpr std::span<const Gate<AttentionProblem>> valid(const AttentionProblem&) { return kValidAttention; }
constexpr std::span<const Gate<UpsampleProblem>> valid(const UpsampleProblem&) { return kValidUpsample; }
constexpr std::span<const Gate<DepthToSpaceProblem>> valid(const DepthToSpaceProblem&) { return kValidDepthToSpace; }
constexpr std::span<const Gate<KeepFramesProblem>> valid(const KeepFramesProblem&) { return kValidKeepFrames; }
constexpr std::span<const Gate<StoreFloatProblem>> valid(const StoreFloatProblem&) { return kValidStoreFloat; }
constexpr std::span<const Gate<StorePictureProblem>> valid(const StorePictureProblem&) { return kValidStorePicture; }

}  // namespace kinetograph::conv
