#include <kinetograph/compute/nn/attention.hpp>
#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/compute/nn/rms_norm.hpp>
#include <kinetograph/compute/nn/upsample.hpp>
#include <kinetograph/compute/vae/step_graph.hpp>
#include <kinetograph/engine/accel/accelerator_lane.hpp>

#include <cstring>
#include <limits>
#include <span>

namespace kinetograph::vae {

namespace {

using graph::Access;
using graph::Lane;
using nn::Activation;

/// A causal convolution looks back at this many input frames.
constexpr std::int64_t kKept = 2;

/// An activation between two passes: `frames` dense [height, width, channels] blocks, either one after the other in a
/// transient buffer or as the newest values of a history ring.
struct Tensor {
    graph::Buffer buffer;
    graph::History ring;
    std::int64_t frames = 0;       ///< in this step
    std::int64_t most_frames = 0;  ///< in the largest step of any kind: what a ring must hold
    std::int64_t height = 0, width = 0, channels = 0;
    tensor::DType dtype = tensor::DType::BF16;

    std::int64_t pixels() const { return height * width; }
    std::uint64_t frame_bytes() const {
        return static_cast<std::uint64_t>(pixels() * channels) * tensor::bytes_per_element(dtype);
    }
};

/// Addresses of frames [first, frames); first is -kKept where a convolution reads the kept frames too.
std::vector<std::byte*> addresses(const accel::PassContext& lane, const Tensor& tensor, std::int64_t first = 0) {
    std::vector<std::byte*> result;
    for (std::int64_t t = first; t < tensor.frames; ++t)
        result.push_back(tensor.ring
                             ? lane.address(tensor.ring, static_cast<std::int32_t>(t))
                             : lane.address(tensor.buffer) + static_cast<std::uint64_t>(t) * tensor.frame_bytes());
    return result;
}

std::vector<const std::byte*> read_only(const std::vector<std::byte*>& frames) {
    return {frames.begin(), frames.end()};
}

/// Turns a Result of an enqueue into the stream's own error: the pass is recorded already when it can only fail later.
void report(accel::Stream& stream, std::string_view pass, Result<void> result) {
    if (!result) stream.enqueue(pass, [error = std::move(result.error())]() -> Result<void> { return fail(error); });
}

/// One frame as float32, limited to [-limit, limit].
Result<void> store_f32(accel::PassContext& lane, const std::byte* from, std::byte* to, std::int64_t elements,
                       tensor::DType dtype, float limit) {
    if (dtype != tensor::DType::F32) {
        lane.stream().enqueue(lane.pass_name(), [=]() -> Result<void> {
            const std::vector<float> values = nn::to_f32(from, elements, dtype);
            std::memcpy(to, values.data(), values.size() * sizeof(float));
            return {};
        });
        from = to;
    }
    return nn::enqueue_clamp(lane.stream(), lane.pass_name(),
                             {std::span(&from, 1), std::span(&to, 1), elements, -limit, limit});
}

struct ConvSpec {
    std::int64_t c_out = 0;
    std::int64_t q = 1, r = 1, s = 1;
    tensor::DType output_dtype = tensor::DType::BF16;
};

class StepDeclaration {
  public:
    StepDeclaration(graph::FrameGraph& frame, const StackDesc& stack, StepKind kind, Parameters& parameters,
                    const FindHistory& find_history, const std::optional<TraceRequest>& trace)
        : frame_(frame),
          stack_(stack),
          kind_(kind),
          parameters_(parameters),
          find_history_(find_history),
          trace_(trace) {}

    Result<void> run(const StepMemory& memory) {
        Tensor x = unpack_input(memory.input);
        for (std::size_t i = 0; i < stack_.layers.size(); ++i) {
            const Layer& layer = stack_.layers[i];
            const std::string target = i + 1 < stack_.layers.size() ? ring_of_input(stack_.layers[i + 1]) : "";
            x = declare(layer, x, target);
            trace_output(layer.op == LayerOp::Head ? layer.key + ".2" : layer.key, x);
        }
        write_output(x, memory.output);
        if (error_) return fail(std::move(*error_));
        return {};
    }

  private:
    // ---- one method a layer ----------------------------------------------------------------------------------------

    Tensor declare(const Layer& layer, const Tensor& x, const std::string& target) {
        switch (layer.op) {
            case LayerOp::PointwiseConv:
                return conv(layer.key, layer.key, {layer.c_out}, x, nullptr, target);
            case LayerOp::CausalConv:
                return conv(layer.key, layer.key, {layer.c_out, 3, 3, 3}, x, nullptr, target);
            case LayerOp::Residual:
                return residual_block(layer, x, target);
            case LayerOp::Attention:
                return attention_block(layer, x, target);
            case LayerOp::Upsample2d:
                return upsample2d(layer, x, target);
            case LayerOp::Upsample3d:
                return upsample2d(layer, upsample_time(layer, x), target);
            case LayerOp::Head:
                return head(layer, x, target);
        }
        return x;
    }

    Tensor residual_block(const Layer& layer, const Tensor& x, const std::string& target) {
        const std::string& key = layer.key;
        Tensor h = norm(key + ".residual.0", x, Activation::Silu, key + ".residual.2");
        h = conv(key + ".residual.2", key + ".residual.2", {layer.c_out, 3, 3, 3}, h, nullptr, "");
        h = norm(key + ".residual.3", h, Activation::Silu, key + ".residual.6");
        const Tensor skip =
            layer.c_in == layer.c_out ? x : conv(key + ".shortcut", key + ".shortcut", {layer.c_out}, x, nullptr, "");
        return conv(key + ".residual.6", key + ".residual.6", {layer.c_out, 3, 3, 3}, h, &skip, target);
    }

    Tensor attention_block(const Layer& layer, const Tensor& x, const std::string& target) {
        const std::string& key = layer.key;
        const Tensor normed = norm(key + ".norm", x, Activation::None, "");
        const Tensor qkv = conv(key + ".to_qkv", key + ".to_qkv", {3 * layer.c_in}, normed, nullptr, "");
        const Tensor mixed = attention(key + ".attention", qkv);
        return conv(key + ".proj", key + ".proj", {layer.c_out}, mixed, &x, target);
    }

    /// Causal 3x1x1 to twice the channels, whose halves are the two frames of each input frame: run as two convolutions
    /// that write every second frame. The first step passes its frames through.
    Tensor upsample_time(const Layer& layer, const Tensor& x) {
        const std::string key = layer.key + ".time_conv";
        Tensor out = x;
        out.most_frames = 2 * x.most_frames;
        if (kind_.first) return out;
        out.ring = {};
        out.frames = 2 * x.frames;
        const conv::ConvProblem problem = conv_problem({x.channels, 3, 1, 1, x.dtype}, x, false);
        const auto* even = convolution(key, problem, {0, x.channels});
        const auto* odd = convolution(key, problem, {x.channels, x.channels});
        if (error_) return out;
        struct Data {
            Tensor in, out;
            graph::Buffer workspace;
        };
        const Data& data = frame_.add_pass<Data>(
            key, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = write(pass, key, out, "");
                d.workspace = workspace(pass, key, std::max(even->workspace_bytes(), odd->workspace_bytes()));
            },
            [even, odd, key](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in, -kKept));
                const auto frames = addresses(lane, d.out);
                std::vector<std::byte*> half[2];
                for (std::size_t t = 0; t < frames.size(); ++t) half[t % 2].push_back(frames[t]);
                std::byte* scratch = d.workspace ? lane.address(d.workspace) : nullptr;
                report(lane.stream(), key, even->enqueue(lane.stream(), key, {input, half[0], {}, scratch}));
                report(lane.stream(), key, odd->enqueue(lane.stream(), key, {input, half[1], {}, scratch}));
            });
        trace_output(key, data.out);
        return data.out;
    }

    Tensor upsample2d(const Layer& layer, const Tensor& x, const std::string& target) {
        const Tensor large = nearest2x(layer.key + ".upsample", x);
        return conv(layer.key + ".resample.1", layer.key + ".resample.1", {layer.c_out, 1, 3, 3}, large, nullptr,
                    target);
    }

    Tensor head(const Layer& layer, const Tensor& x, const std::string& target) {
        const Tensor h = norm(layer.key + ".0", x, Activation::Silu, layer.key + ".2");
        ConvSpec spec{layer.c_out, 3, 3, 3};
        spec.output_dtype = tensor::DType::F32;
        return conv(layer.key + ".2", layer.key + ".2", spec, h, nullptr, target);
    }

    // ---- one method a pass -----------------------------------------------------------------------------------------

    Tensor unpack_input(const graph::Physical& memory) {
        Tensor out{
            {},          {}, kind_.frames, stack_.max_frames, stack_.height, stack_.width, stack_.layers.front().c_in,
            stack_.dtype};
        const graph::Buffer input =
            frame_.import_buffer("latents", {memory.bytes, 64, graph::MemoryDomain::Accelerator}, memory);
        struct Data {
            graph::Buffer in;
            Tensor out;
        };
        const Data& data = frame_.add_pass<Data>(
            "unpack_latents", Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = pass.read(input, Access::KernelRead);
                d.out = write(pass, "unpack_latents", out, ring_of_input(stack_.layers.front()));
            },
            [scale = stack_.scale, shift = stack_.shift](const Data& d, accel::PassContext& lane) {
                const auto* source = reinterpret_cast<const float*>(lane.address(d.in));
                for (std::byte* frame : addresses(lane, d.out)) {
                    report(lane.stream(), lane.pass_name(),
                           nn::enqueue_unpack_latent(
                               lane.stream(), lane.pass_name(),
                               {source, frame, d.out.pixels(), d.out.channels, scale, shift, d.out.dtype}));
                    source += d.out.pixels() * d.out.channels;
                }
            });
        return data.out;
    }

    Tensor norm(const std::string& key, const Tensor& x, Activation activation, const std::string& target) {
        Tensor out = x;
        out.ring = {};
        struct Data {
            Tensor in, out;
        };
        const Data& data = frame_.add_pass<Data>(
            key, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = write(pass, key, out, target);
            },
            [gamma = parameters_.gamma(key), activation](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                const auto output = addresses(lane, d.out);
                report(
                    lane.stream(), lane.pass_name(),
                    nn::enqueue_rms_norm(lane.stream(), lane.pass_name(),
                                         {input, output, d.in.pixels(), d.in.channels, gamma, d.in.dtype, activation}));
            });
        return data.out;
    }

    /// `residual` is added last; the output goes to the ring named `target`, or to a transient if that is empty.
    Tensor conv(const std::string& name, const std::string& key, const ConvSpec& spec, const Tensor& x,
                const Tensor* residual, const std::string& target) {
        Tensor out = x;
        out.ring = {};
        out.channels = spec.c_out;
        out.dtype = spec.output_dtype == tensor::DType::F32 ? spec.output_dtype : x.dtype;
        ConvSpec bound = spec;
        bound.output_dtype = out.dtype;
        const auto* convolution = this->convolution(key, conv_problem(bound, x, residual != nullptr));
        if (error_) return out;
        struct Data {
            Tensor in, residual, out;
            graph::Buffer workspace;
        };
        const Data& data = frame_.add_pass<Data>(
            name, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                if (residual != nullptr) d.residual = read(pass, *residual);
                d.out = write(pass, name, out, target);
                d.workspace = workspace(pass, name, convolution->workspace_bytes());
            },
            [convolution, first = spec.q > 1 ? -kKept : 0](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in, first));
                const auto skip = read_only(addresses(lane, d.residual));
                const auto output = addresses(lane, d.out);
                report(lane.stream(), lane.pass_name(),
                       convolution->enqueue(lane.stream(), lane.pass_name(),
                                            {input, output, skip, d.workspace ? lane.address(d.workspace) : nullptr}));
            });
        return data.out;
    }

    Tensor attention(const std::string& name, const Tensor& qkv) {
        Tensor out = qkv;
        out.channels = qkv.channels / 3;
        auto created = nn::Attention::create(parameters_.device(), {qkv.pixels(), out.channels, qkv.dtype});
        if (!created) {
            note(std::move(created.error()), name);
            return out;
        }
        const std::shared_ptr<const nn::Attention> attention = std::move(*created);
        struct Data {
            Tensor in, out;
            graph::Buffer workspace;
        };
        const Data& data = frame_.add_pass<Data>(
            name, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, qkv);
                d.out = write(pass, name, out, "");
                d.workspace = workspace(pass, name, attention->workspace_bytes());
            },
            [attention](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                const auto output = addresses(lane, d.out);
                report(lane.stream(), lane.pass_name(),
                       attention->enqueue(lane.stream(), lane.pass_name(),
                                          {input, output, d.workspace ? lane.address(d.workspace) : nullptr}));
            });
        return data.out;
    }

    Tensor nearest2x(const std::string& name, const Tensor& x) {
        Tensor out = x;
        out.ring = {};
        out.height = 2 * x.height;
        out.width = 2 * x.width;
        struct Data {
            Tensor in, out;
        };
        const Data& data = frame_.add_pass<Data>(
            name, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = write(pass, name, out, "");
            },
            [](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                const auto output = addresses(lane, d.out);
                report(lane.stream(), lane.pass_name(),
                       nn::enqueue_upsample_nearest2x(
                           lane.stream(), lane.pass_name(),
                           {input, output, d.in.height, d.in.width, d.in.channels, d.in.dtype}));
            });
        return data.out;
    }

    /// The caller's memory gets the result as float32, clamped where the stack says so.
    void write_output(const Tensor& x, const graph::Physical& memory) {
        const graph::Buffer output =
            frame_.import_buffer("frames", {memory.bytes, 64, graph::MemoryDomain::Accelerator}, memory);
        struct Data {
            Tensor in;
            graph::Buffer out;
        };
        const Data& data = frame_.add_pass<Data>(
            "write_frames", Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = pass.write(output, Access::KernelWrite);
            },
            [limit = stack_.clamp ? 1.0F : std::numeric_limits<float>::infinity()](const Data& d,
                                                                                   accel::PassContext& lane) {
                const std::int64_t elements = d.in.pixels() * d.in.channels;
                std::byte* to = lane.address(d.out);
                for (const std::byte* from : addresses(lane, d.in)) {
                    report(lane.stream(), lane.pass_name(), store_f32(lane, from, to, elements, d.in.dtype, limit));
                    to += static_cast<std::uint64_t>(elements) * sizeof(float);
                }
            });
        frame_.export_contents(data.out);
    }

    void trace_output(const std::string& module, const Tensor& x) {
        if (!trace_ || trace_->module != module) return;
        struct Data {
            Tensor in;
        };
        frame_.add_pass<Data>(
            "trace " + module, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                pass.has_side_effect();
            },
            [values = trace_->values](const Data& d, accel::PassContext& lane) {
                const std::int64_t elements = d.in.pixels() * d.in.channels;
                for (const std::byte* frame : addresses(lane, d.in))
                    lane.stream().enqueue(lane.pass_name(),
                                          [frame, elements, dtype = d.in.dtype, values]() -> Result<void> {
                                              const std::vector<float> converted = nn::to_f32(frame, elements, dtype);
                                              values->insert(values->end(), converted.begin(), converted.end());
                                              return {};
                                          });
            });
    }

    // ---- what they share -------------------------------------------------------------------------------------------

    /// Name of the ring that a layer wants its input in; empty where it keeps none.
    std::string ring_of_input(const Layer& layer) const {
        if (layer.op == LayerOp::CausalConv) return layer.key;
        if (layer.op == LayerOp::Upsample3d && !kind_.first) return layer.key + ".time_conv";
        return "";
    }

    static Tensor read(graph::PassBuilder& pass, Tensor tensor) {
        if (tensor.ring)
            tensor.ring = pass.read(tensor.ring, Access::KernelRead);
        else
            tensor.buffer = pass.read(tensor.buffer, Access::KernelRead);
        return tensor;
    }

    Tensor write(graph::PassBuilder& pass, const std::string& name, Tensor tensor, const std::string& ring) {
        tensor.buffer = {};
        tensor.ring = {};
        if (ring.empty()) {
            tensor.buffer = pass.create(name + ".out",
                                        {static_cast<std::uint64_t>(tensor.frames) * tensor.frame_bytes(), 256,
                                         graph::MemoryDomain::Accelerator},
                                        Access::KernelWrite);
            return tensor;
        }
        graph::HistoryStorage* storage =
            find_history_(ring, {tensor.frame_bytes(), static_cast<std::uint32_t>(kKept + tensor.most_frames),
                                 graph::MemoryDomain::Accelerator});
        const graph::History history = frame_.import_history(
            *storage, {static_cast<std::uint32_t>(kKept), static_cast<std::uint32_t>(tensor.frames)});
        tensor.ring = pass.push(history, Access::KernelWrite);
        return tensor;
    }

    static graph::Buffer workspace(graph::PassBuilder& pass, const std::string& name, std::uint64_t bytes) {
        if (bytes == 0) return {};
        return pass.create(name + ".workspace", {bytes, 256, graph::MemoryDomain::Accelerator}, Access::KernelWrite);
    }

    static conv::ConvProblem conv_problem(const ConvSpec& spec, const Tensor& x, bool residual) {
        conv::ConvProblem problem;
        problem.d = x.frames + (spec.q > 1 ? kKept : 0);
        problem.h = x.height;
        problem.w = x.width;
        problem.c_in = x.channels;
        problem.filter = {spec.c_out, spec.q, spec.r, spec.s};
        problem.pad.top = problem.pad.bottom = spec.r / 2;
        problem.pad.left = problem.pad.right = spec.s / 2;
        problem.dtype = x.dtype;
        problem.output_dtype = spec.output_dtype;
        problem.residual = residual;
        return problem;
    }

    const conv::Convolution* convolution(const std::string& key, const conv::ConvProblem& problem,
                                         OutputChannels channels = {}) {
        auto found = parameters_.convolution(key, problem, channels);
        if (found) return *found;
        note(std::move(found.error()), "");
        return nullptr;
    }

    void note(Error error, const std::string& context) {
        if (error_) return;
        if (!context.empty()) error.message = context + ": " + error.message;
        error_ = std::move(error);
    }

    graph::FrameGraph& frame_;
    const StackDesc& stack_;
    StepKind kind_;
    Parameters& parameters_;
    const FindHistory& find_history_;
    const std::optional<TraceRequest>& trace_;
    std::optional<Error> error_;
};

}  // namespace

StepShape output_shape(const StackDesc& stack, StepKind kind) {
    StepShape shape{kind.frames, stack.height, stack.width, stack.layers.back().c_out};
    for (const Layer& layer : stack.layers) {
        const bool doubles_time = layer.op == LayerOp::Upsample3d && !kind.first;
        if (doubles_time) shape.frames *= 2;
        if (layer.op == LayerOp::Upsample2d || layer.op == LayerOp::Upsample3d) {
            shape.height *= 2;
            shape.width *= 2;
        }
    }
    return shape;
}

Result<void> declare_step(graph::FrameGraph& frame, const StackDesc& stack, StepKind kind, Parameters& parameters,
                          const FindHistory& find_history, const StepMemory& memory,
                          const std::optional<TraceRequest>& trace) {
    return StepDeclaration(frame, stack, kind, parameters, find_history, trace).run(memory);
}

}  // namespace kinetograph::vae
