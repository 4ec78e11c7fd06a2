// Network: a model as data: a list of primitives, each with its parameters and its state. What a decoder needs to know
// of its model (parameters, sizes, passes, memory) is computed from the list.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/conv/operator.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kinetograph::nn {

/// A named tensor of a checkpoint.
struct Parameter {
    std::string name;     ///< "decoder.upsamples.3.time_conv.weight"
    tensor::Shape shape;  ///< PyTorch order; a conv3d weight is [C_out, C_in, Q, R, S]
    /// The checkpoint's tensor may have more rows (its first dimension) than this network takes: the last ones are
    /// taken.
    bool last_rows = false;
};

/// The size of a value between two primitives.
struct Extent {
    std::int64_t frames = 0, height = 0, width = 0, channels = 0;
    std::int64_t elements() const { return frames * height * width * channels; }
};

namespace primitive {

/// Zeros surround each frame, so that a stride of 1 makes frames of the input's size and one of 2 halves them. Causal
/// in time: the input is preceded by the last q - stride.d input frames of the step before, or by zeros in the first
/// step in which it runs, unless it `keeps_skipped`. Parameters `key`.weight, `key`.bias.
struct Conv {
    std::string key;
    std::int64_t c_in = 0;
    conv::Filter filter;  ///< k output channels, q x r x s taps
    int weight_rank = 5;  ///< of the checkpoint's tensor; 4: without the q axis
    /// Where the checkpoint's tensor has the temporal taps: on the q axis, oldest frame first, or along its input
    /// channels ([k, q * c_in, r, s]), newest frame first, if the layer was written for frames concatenated along
    /// channels.
    enum class Taps : std::uint8_t { OwnAxis, InputChannels } taps = Taps::OwnAxis;
    /// What the output is stored as: like the input, or float32 for what leaves the network.
    enum class Stored : std::uint8_t { LikeInput, Float32 } stored = Stored::LikeInput;
    bool bias = true;
    /// Temporal taps that the checkpoint's filter has before these, for frames that this network never has.
    std::int64_t older_taps = 0;
    /// Key of a 1x1 convolution without bias, from c_in to growth * c_in channels, that comes before this one in the
    /// checkpoint. Its output has `growth` parts of c_in channels, and this one's filter convolves each of them. The
    /// two are computed as one filter, their product, with k = growth * (the checkpoint's) output channels. Empty:
    /// none.
    std::string grown_by{};
    std::int64_t growth = 1;
    /// Key of a 1x1 convolution without bias, from the channels of q frames, oldest first, to c_in, that comes before
    /// this one in the checkpoint, whose own filter has no temporal taps. Computed as one filter, their product.
    std::string pooled_by{};
    /// The checkpoint's filter convolves blocks of `block` x `block` pixels, whose channels are in `block_order`: it
    /// has block^2 times the input channels and r / block x s / block taps. `stride` is at least the block.
    std::int64_t block = 1;
    conv::PixelOrder block_order = conv::PixelOrder::RowsFirst;
    /// No tensor of the checkpoint: the input's channels, of each the values of `averages` frames x r x s pixels, are
    /// cut into k equal groups in this order, whose means are the output. Of q < averages frames: the older ones are
    /// zeros. 0: an ordinary convolution.
    std::int64_t averages = 0;
    float scale = 1, shift = 0;  ///< of the output, folded into the parameters
    /// Divides the frames of every step in which it runs, and their rows and columns.
    conv::Dhw stride{};
    /// A step that skips it keeps its last frames for the step after, as if it had run.
    bool keeps_skipped = false;
    /// Where the zeros are: (r - 1) / 2 rows above and below and (s - 1) / 2 columns on either side, or r - stride.h
    /// rows below and s - stride.w columns to the right.
    enum class Edges : std::uint8_t { Around, After } edges = Edges::Around;
    /// Key of a 1x1 convolution of k / 3 channels, with bias as this one, that comes in the checkpoint after the
    /// attention whose query, key and value this one makes. It is applied to the values instead, the last third of the
    /// output channels, as one filter: the attention's weights sum to one, so its result is the same. Empty: none.
    std::string projected_by{};
    /// Keys of the convolutions that this one is in the checkpoint, each of an equal part of its output channels, in
    /// their order; `key` names the pass alone. Empty: `key` is the one.
    std::vector<std::string> parts{};

    std::int64_t history() const { return filter.q - stride.d; }  ///< input frames that it keeps from step to step
    conv::Padding padding() const;
    Extent output(Extent x) const;
    void list(std::vector<Parameter>& parameters) const;
};

/// RMS norm over the channels of each pixel (conv::NormProblem). Parameter `key`.gamma.
struct Norm {
    std::string key;
    std::int64_t channels = 0;
    int gamma_rank = 4;  ///< of the checkpoint's tensor: [channels, 1, 1, 1] or [channels, 1, 1]

    Extent output(Extent x) const { return x; }
    void list(std::vector<Parameter>& parameters) const;
};

struct Activate {
    conv::Activation function = conv::Activation::Silu;
    float negative_slope = 0;  ///< of Relu: conv::ConvProblem::negative_slope

    Extent output(Extent x) const { return x; }
    void list(std::vector<Parameter>&) const {}
};

/// Norm of groups of channels over a whole frame, and the activation after it (conv::GroupNormProblem). Parameters
/// `key`.weight, `key`.bias.
struct GroupNorm {
    std::string key;  ///< of the pass, too
    std::int64_t channels = 0, groups = 1;
    float epsilon = 1e-6F;
    conv::Activation activation = conv::Activation::None;  ///< or Silu

    Extent output(Extent x) const { return x; }
    void list(std::vector<Parameter>& parameters) const;
    conv::OpProblem problem(Extent x, conv::Storage value) const {
        return conv::GroupNormProblem{x.height * x.width, channels, groups, epsilon, value, value, activation};
    }
};

/// One head over the pixels of each frame; the input's channels are query, key and value, a third each.
struct Attention {
    std::string key;  ///< of the pass

    Extent output(Extent x) const { return {x.frames, x.height, x.width, x.channels / 3}; }
    void list(std::vector<Parameter>&) const {}
};

/// Nearest neighbour: every pixel becomes a block of 2 x 2.
struct UpsampleSpace {
    std::string key;  ///< of the pass

    Extent output(Extent x) const { return {x.frames, 2 * x.height, 2 * x.width, x.channels}; }
    void list(std::vector<Parameter>&) const {}
    conv::OpProblem problem(Extent x, conv::Storage value) const {
        return conv::UpsampleProblem{x.height, x.width, x.channels, value, value};
    }
};

/// Channels become pixels, and every pixel becomes 2 x 2: pixel (2 y + dy, 2 x + dx) has channel
/// (4 c + i) * c_in / (4 channels) of pixel (y, x) as its channel c, where i numbers the four. With c_in = 4 channels
/// every channel goes to one place; with fewer, each goes to several.
struct DepthToSpace {
    std::string key;            ///< of the pass
    std::int64_t channels = 0;  ///< of the output
    conv::PixelOrder order = conv::PixelOrder::RowsFirst;

    Extent output(Extent x) const { return {x.frames, 2 * x.height, 2 * x.width, channels}; }
    void list(std::vector<Parameter>&) const {}
    conv::OpProblem problem(Extent x, conv::Storage value) const {
        return conv::DepthToSpaceProblem{x.height, x.width, x.channels, channels, order, value, value};
    }
};

/// Every frame `factor` times, one after the other.
struct RepeatFrames {
    std::int64_t factor = 2;

    Extent output(Extent x) const { return {factor * x.frames, x.height, x.width, x.channels}; }
    void list(std::vector<Parameter>&) const {}
};

/// Channels become frames: of `factor` equal parts of the channels, part i is frame factor * t + i.
struct TimeShuffle {
    std::int64_t factor = 2;

    Extent output(Extent x) const { return {factor * x.frames, x.height, x.width, x.channels / factor}; }
    void list(std::vector<Parameter>&) const {}
};

/// limit * tanh(x / limit), only of a network's input.
struct SoftLimit {
    float limit = 1;

    Extent output(Extent x) const { return x; }
    void list(std::vector<Parameter>&) const {}
};

/// All frames but the first `count`.
struct DropFrames {
    std::int64_t count = 1;

    Extent output(Extent x) const { return {x.frames - count, x.height, x.width, x.channels}; }
    void list(std::vector<Parameter>&) const {}
};

/// The sum of two values of one size.
struct Add {
    Extent output(Extent x) const { return x; }
    void list(std::vector<Parameter>&) const {}
};

}  // namespace primitive

using Primitive =
    std::variant<primitive::Conv, primitive::Norm, primitive::GroupNorm, primitive::Activate, primitive::Attention,
                 primitive::UpsampleSpace, primitive::DepthToSpace, primitive::RepeatFrames, primitive::TimeShuffle,
                 primitive::SoftLimit, primitive::DropFrames, primitive::Add>;

/// A primitive that is a pass of its own: `key` names the pass, `problem` is its operator on each frame of a value,
/// which it stores as the value is. A GroupNorm's has parameters.
template <class Any>
concept OwnPass = requires(const Any& any) {
    any.key;
    any.problem(Extent{}, conv::Storage{});
};
inline bool is_own_pass(const Primitive& primitive) {
    return std::visit([]<class Any>(const Any&) { return OwnPass<Any>; }, primitive);
}

/// Names what a primitive makes: 0 is the network's input, n what the n-th primitive (from 1) makes.
using Value = std::size_t;

/// The steps of a clip in which a primitive runs; in the others its input passes through.
enum class Steps : std::uint8_t { All, First, AfterFirst };
constexpr bool runs(Steps steps, bool first_step) {
    return steps == Steps::All || (steps == Steps::First) == first_step;
}

struct Node {
    Primitive primitive;
    Value input = 0;
    Value other = 0;  ///< the second operand of an Add
    Steps steps = Steps::All;
};

/// `in` of the input become `out` of the output, in lowest terms.
struct Rate {
    std::int64_t in = 1, out = 1;
    std::int64_t of(std::int64_t input) const { return input * out / in; }
    friend bool operator==(const Rate&, const Rate&) = default;
};

/// Frames after a clip's first step, and pixels a side.
struct Rates {
    Rate time, space;
    std::int64_t first = 1;  ///< input frames that become a clip's first output frame: one, or time.in
    /// Output frames that a clip's first `input` frames become: the first of them one, the later ones by the rate.
    std::int64_t frames_of(std::int64_t input) const { return input < first ? 0 : 1 + time.of(input - first); }
    /// Whether a step may take so many input frames.
    bool takes(std::int64_t input, bool first_step) const {
        return first_step && first != time.in ? input == first : input % time.in == 0;
    }
    friend bool operator==(const Rates&, const Rates&) = default;
};

/// What the values at an end of a network are. Moments: means of latents, then logarithms of their variances.
enum class End : std::uint8_t { Latents, Pictures, Moments };
struct Ends {
    End input = End::Latents, output = End::Pictures;  ///< a decoder's
};

/// Primitives in an order in which they can run. The last one makes the output.
class Network {
  public:
    explicit Network(std::int64_t input_channels, Ends ends = {}) : input_channels_(input_channels), ends_(ends) {}

    static constexpr Value input() { return 0; }
    /// Appends a primitive that reads `x`, and names what it makes.
    Value append(Value x, Primitive primitive, Steps steps = Steps::All);
    /// `x` + `skip`. The sum is stored in the place of `skip`, which nothing may read afterwards.
    Value add(Value x, Value skip);
    /// Gives `x` a module's name ("decoder.middle.1") for traces, and returns `x`.
    Value module(std::string name, Value x);

    /// The same results in a clip's first step of Rates::first frames, and in no other: convolutions of a single frame
    /// have their newest temporal tap only, as the others would multiply the zeros before a clip.
    Network of_first_step() const;
    bool has_first_step_only() const { return has_first_step_only_; }

    std::int64_t input_channels() const { return input_channels_; }
    Ends ends() const { return ends_; }
    const std::vector<Node>& nodes() const { return nodes_; }
    Value output() const { return nodes_.size(); }
    /// Values that have a module's name, in the order in which they are made.
    const std::vector<std::pair<Value, std::string>>& modules() const { return modules_; }

  private:
    std::int64_t input_channels_;
    Ends ends_;
    std::vector<Node> nodes_;
    std::vector<std::pair<Value, std::string>> modules_;
    bool has_first_step_only_ = false;
};

/// All parameters, in the order of the primitives.
std::vector<Parameter> parameters(const Network& network);

/// The extent of every value in one step, indexed by Value; `input` is that of the network's input and has its
/// channels.
std::vector<Extent> extents(const Network& network, Extent input, bool first_step);

/// How every value is stored, indexed by Value: as the network's input, which is `input`, except what a convolution
/// stores otherwise (primitive::Conv::stored), and what is made of that.
std::vector<conv::Storage> storages(const Network& network, conv::Storage input);

Rates rates(const Network& network);

}  // namespace kinetograph::nn
