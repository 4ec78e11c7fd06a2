#include <kinetograph/compute/vae/step_graph.hpp>
#include <kinetograph/compute/vae/step_tensor.hpp>

#include <limits>
#include <optional>
#include <span>

namespace kinetograph::vae {

namespace {

using graph::Access;
using graph::Lane;
using nn::Activation;

/// Turns a Result of an enqueue into the stream's own error: the pass is recorded already when it can only fail later.
void report(accel::Stream& stream, std::string_view pass, Result<void> result) {
    if (!result) stream.enqueue(pass, [error = std::move(result.error())]() -> Result<void> { return fail(error); });
}

struct ConvSpec {
    std::int64_t c_out = 0;
    std::int64_t q = 1, r = 1, s = 1;
    tensor::DType output_dtype = tensor::DType::BF16;
    bool upsample = false;
};

/// The RMS norm that a layer begins with. The convolution before it makes it from its output while that is in the
/// cache.
struct NormSpec {
    std::string key;  ///< of the gamma
    Activation activation = Activation::Silu;
};

std::optional<NormSpec> leading_norm(const Layer& layer) {
    switch (layer.op) {
        case LayerOp::Residual:
            return NormSpec{layer.key + ".residual.0", Activation::Silu};
        case LayerOp::Attention:
            return NormSpec{layer.key + ".norm", Activation::None};
        case LayerOp::Head:
            return NormSpec{layer.key + ".0", Activation::Silu};
        case LayerOp::PointwiseConv:
        case LayerOp::CausalConv:
        case LayerOp::Upsample2d:
        case LayerOp::Upsample3d:
            break;
    }
    return std::nullopt;
}

/// What goes from layer to layer: the activation and, where the layer before made it, its norm.
struct Activations {
    Tensor bare;
    std::optional<Tensor> normed;
};

/// What a convolution leaves behind: its output, and the norm of it beside it or instead.
struct ConvOutput {
    std::optional<NormSpec> norm;
    conv::Norm keep = conv::Norm::Beside;
};

class StepDeclaration {
  public:
    StepDeclaration(graph::FrameGraph& frame, const StackDesc& stack, StepKind kind, const StepResources& resources,
                    TraceRequest* trace)
        : frame_(frame),
          stack_(stack),
          kind_(kind),
          parameters_(resources.parameters),
          operators_(resources.operators),
          find_kept_(resources.find_kept),
          trace_(trace) {}

    Result<StepImports> run(const StepMemory& memory) {
        Activations x{unpack_input(memory), std::nullopt};
        for (std::size_t i = 0; i < stack_.layers.size(); ++i) {
            const Layer& layer = stack_.layers[i];
            ConvOutput output;
            if (i + 1 < stack_.layers.size()) output.norm = leading_norm(stack_.layers[i + 1]);
            x = declare(layer, x, output);
            trace_output(layer.op == LayerOp::Head ? layer.key + ".2" : layer.key, x.bare);
        }
        if (memory.device != nullptr)
            write_frames(x.bare, *memory.device, memory.frames);
        else
            write_output(x.bare, memory);
        if (error_) return fail(std::move(*error_));
        return imports_;
    }

  private:
    // ---- one method a layer ----------------------------------------------------------------------------------------

    Activations declare(const Layer& layer, const Activations& x, const ConvOutput& output) {
        switch (layer.op) {
            case LayerOp::PointwiseConv:
                return conv(layer.key, {layer.c_out}, x.bare, nullptr, output);
            case LayerOp::CausalConv:
                return conv(layer.key, {layer.c_out, 3, 3, 3}, x.bare, nullptr, output);
            case LayerOp::Residual:
                return residual_block(layer, x, output);
            case LayerOp::Attention:
                return attention_block(layer, x, output);
            case LayerOp::Upsample2d:
                return upsample2d(layer, x.bare, output);
            case LayerOp::Upsample3d:
                return upsample2d(layer, upsample_time(layer, x.bare), output);
            case LayerOp::Head:
                return head(layer, x, output);
        }
        return x;
    }

    /// The layer's leading norm: made by the convolution before it, or by a pass of its own at the head of a stack.
    Tensor normed(const Layer& layer, const Activations& x) {
        return x.normed ? *x.normed : norm(*leading_norm(layer), x.bare);
    }

    Activations residual_block(const Layer& layer, const Activations& x, const ConvOutput& output) {
        const std::string& key = layer.key;
        const NormSpec between{key + ".residual.3", Activation::Silu};
        const Activations h = conv(key + ".residual.2", {layer.c_out, 3, 3, 3}, normed(layer, x), nullptr,
                                   {between, conv::Norm::Instead});
        if (error_) return h;
        const Tensor skip =
            layer.c_in == layer.c_out ? x.bare : conv(key + ".shortcut", {layer.c_out}, x.bare, nullptr, {}).bare;
        return conv(key + ".residual.6", {layer.c_out, 3, 3, 3}, *h.normed, &skip, output);
    }

    Activations attention_block(const Layer& layer, const Activations& x, const ConvOutput& output) {
        const std::string& key = layer.key;
        const Tensor qkv = conv(key + ".to_qkv", {3 * layer.c_in}, normed(layer, x), nullptr, {}).bare;
        const Tensor mixed = attention(key + ".attention", qkv);
        return conv(key + ".proj", {layer.c_out}, mixed, &x.bare, output);
    }

    /// Causal 3x1x1 to twice the channels, whose halves are the two frames of each input frame: run as two convolutions
    /// that write every second frame. The first step passes its frames through.
    Tensor upsample_time(const Layer& layer, const Tensor& x) {
        const std::string key = layer.key + ".time_conv";
        Tensor out = x;
        if (kind_.first) return out;
        out.frames = 2 * x.frames;
        const conv::ConvProblem problem = conv_problem({x.channels, 3, 1, 1, x.dtype}, x, false);
        const auto* even = convolution(key, problem, {0, x.channels});
        const auto* odd = convolution(key, problem, {x.channels, x.channels});
        if (error_) return out;
        const graph::Buffer kept = import_kept(key, x);
        struct Data {
            Tensor in, out;
            graph::Buffer kept, workspace;
        };
        const Data& data = frame_.add_pass<Data>(
            key, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.kept = pass.read(kept, Access::KernelRead);
                d.out = write(pass, key, out);
                d.workspace = workspace(pass, key, std::max(even->workspace_bytes(), odd->workspace_bytes()));
            },
            [even, odd, key](const Data& d, accel::PassContext& lane) {
                const auto input = causal_input(lane, d.kept, d.in);
                const auto frames = addresses(lane, d.out);
                std::vector<std::byte*> half[2];
                for (std::size_t t = 0; t < frames.size(); ++t) half[t % 2].push_back(frames[t]);
                std::byte* scratch = d.workspace ? lane.address(d.workspace) : nullptr;
                report(lane.stream(), key, even->enqueue(lane.stream(), key, {input, half[0], {}, scratch}));
                report(lane.stream(), key, odd->enqueue(lane.stream(), key, {input, half[1], {}, scratch}));
            });
        keep(key, x, kept);
        trace_output(key, data.out);
        return data.out;
    }

    /// On a GPU the convolution doubles its input on the way; on the CPU a pass does, whose output the back ends there
    /// read in place.
    Activations upsample2d(const Layer& layer, const Tensor& x, const ConvOutput& output) {
        ConvSpec spec{layer.c_out, 1, 3, 3};
        spec.upsample = parameters_.device().info().kind != accel::Kind::Cpu;
        const Tensor& input = spec.upsample ? x : nearest2x(layer.key + ".upsample", x);
        return conv(layer.key + ".resample.1", spec, input, nullptr, output);
    }

    Activations head(const Layer& layer, const Activations& x, const ConvOutput& output) {
        ConvSpec spec{layer.c_out, 3, 3, 3};
        spec.output_dtype = tensor::DType::F32;
        return conv(layer.key + ".2", spec, normed(layer, x), nullptr, output);
    }

    // ---- one method a pass -----------------------------------------------------------------------------------------

    Tensor unpack_input(const StepMemory& memory) {
        const Tensor out{{}, kind_.frames, stack_.height, stack_.width, stack_.layers.front().c_in, stack_.dtype};
        const graph::BufferDesc desc{
            static_cast<std::uint64_t>(out.frames * out.pixels() * out.channels) * sizeof(float), 16,
            graph::MemoryDomain::Accelerator};
        imports_.input = frame_.import_buffer("latents", desc, memory.input);
        struct Data {
            graph::Buffer in;
            Tensor out;
        };
        const Data& data = frame_.add_pass<Data>(
            "unpack_latents", Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = pass.read(imports_.input, Access::KernelRead);
                d.out = write(pass, "unpack_latents", out);
                if (memory.device != nullptr) pass.run_anew();
            },
            [operators = &operators_, scale = constant("latents.scale", stack_.scale),
             shift = constant("latents.shift", stack_.shift)](const Data& d, accel::PassContext& lane) {
                const auto* source = reinterpret_cast<const float*>(lane.address(d.in));
                for (std::byte* frame : addresses(lane, d.out)) {
                    report(lane.stream(), lane.pass_name(),
                           operators->unpack_latent(
                               lane.stream(), lane.pass_name(),
                               {source, frame, d.out.pixels(), d.out.channels, scale, shift, d.out.dtype}));
                    source += d.out.pixels() * d.out.channels;
                }
            });
        return data.out;
    }

    Tensor norm(const NormSpec& spec, const Tensor& x) {
        struct Data {
            Tensor in, out;
        };
        const Data& data = frame_.add_pass<Data>(
            spec.key, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = write(pass, spec.key, x);
            },
            [operators = &operators_, gamma = value_or_note(parameters_.gamma(spec.key)), activation = spec.activation](
                const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                const auto output = addresses(lane, d.out);
                report(
                    lane.stream(), lane.pass_name(),
                    operators->rms_norm(lane.stream(), lane.pass_name(),
                                        {input, output, d.in.pixels(), d.in.channels, gamma, d.in.dtype, activation}));
            });
        return data.out;
    }

    /// The convolution with the parameters of `key`, which also names the pass. `residual` is added last, and is
    /// nobody's any more: the output takes its place.
    Activations conv(const std::string& key, const ConvSpec& spec, const Tensor& x, const Tensor* residual,
                     const ConvOutput& output) {
        Tensor out = x;
        out.channels = spec.c_out;
        out.height = spec.upsample ? 2 * x.height : x.height;
        out.width = spec.upsample ? 2 * x.width : x.width;
        out.dtype = spec.output_dtype == tensor::DType::F32 ? spec.output_dtype : x.dtype;
        ConvSpec bound = spec;
        bound.output_dtype = out.dtype;
        conv::ConvProblem problem = conv_problem(bound, x, residual != nullptr);
        if (output.norm) {
            problem.norm = output.keep;
            problem.norm_activation = output.norm->activation;
        }
        const auto* convolution = this->convolution(key, problem, {}, output.norm ? output.norm->key : "");
        if (error_) return {out, std::nullopt};
        const graph::Buffer kept = spec.q > 1 ? import_kept(key, x) : graph::Buffer{};
        struct Data {
            Tensor in, residual, out, normed;
            graph::Buffer kept, workspace;
        };
        const Data& data = frame_.add_pass<Data>(
            key, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                if (kept) d.kept = pass.read(kept, Access::KernelRead);
                if (residual != nullptr) {
                    d.residual = read(pass, *residual);
                    d.out = *residual;
                    d.out.buffer = pass.write(residual->buffer, Access::KernelWrite);
                } else if (problem.norm != conv::Norm::Instead) {
                    d.out = write(pass, key, out);
                }
                if (output.norm) d.normed = write(pass, output.norm->key, out);
                d.workspace = workspace(pass, key, convolution->workspace_bytes());
            },
            [convolution](const Data& d, accel::PassContext& lane) {
                const auto input = causal_input(lane, d.kept, d.in);
                const auto skip = read_only(addresses(lane, d.residual));
                const auto stored = addresses(lane, d.out), normed = addresses(lane, d.normed);
                report(lane.stream(), lane.pass_name(),
                       convolution->enqueue(
                           lane.stream(), lane.pass_name(),
                           {input, stored, skip, d.workspace ? lane.address(d.workspace) : nullptr, normed}));
            });
        if (kept) keep(key, x, kept);
        return {data.out, output.norm ? std::optional(data.normed) : std::nullopt};
    }

    Tensor attention(const std::string& name, const Tensor& qkv) {
        Tensor out = qkv;
        out.channels = qkv.channels / 3;
        auto created = operators_.attention({qkv.pixels(), out.channels, qkv.dtype});
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
                d.out = write(pass, name, out);
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
        out.height = 2 * x.height;
        out.width = 2 * x.width;
        struct Data {
            Tensor in, out;
        };
        const Data& data = frame_.add_pass<Data>(
            name, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = write(pass, name, out);
            },
            [operators = &operators_](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                const auto output = addresses(lane, d.out);
                report(
                    lane.stream(), lane.pass_name(),
                    operators->upsample_nearest2x(lane.stream(), lane.pass_name(),
                                                  {input, output, d.in.height, d.in.width, d.in.channels, d.in.dtype}));
            });
        return data.out;
    }

    /// The caller's memory gets the result as float32, clamped where the stack says so.
    void write_output(const Tensor& x, const StepMemory& memory) {
        const graph::Buffer output =
            frame_.import_buffer("frames", {memory.output.bytes, 64, graph::MemoryDomain::Accelerator}, memory.output);
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
            [limit = limit(), not_finite = memory.not_finite, operators = &operators_](const Data& d,
                                                                                       accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                report(lane.stream(), lane.pass_name(),
                       operators->store_f32(lane.stream(), lane.pass_name(),
                                            {input, reinterpret_cast<float*>(lane.address(d.out)),
                                             d.in.pixels() * d.in.channels, d.in.dtype, limit, not_finite}));
            });
        frame_.export_contents(data.out);
    }

    /// Every frame to memory of its own, in the format that was asked for; then what the caller does with them.
    void write_frames(const Tensor& x, const DeviceOutput& output, std::span<const graph::Physical> memory) {
        const bool given = output.memory == DeviceOutput::Memory::Given;
        const auto count = static_cast<std::size_t>(x.frames);
        if (output.format == FrameFormat::Rgba8 && x.channels != 3)
            return note({ErrorCode::InvalidArgument,
                         fmt::format("pictures have 3 channels, the last layer makes {}", x.channels)},
                        "write_frames");
        if (given && memory.size() != count)
            return note({ErrorCode::InvalidArgument,
                         fmt::format("the step makes {} frames, memory is given for {}", count, memory.size())},
                        "write_frames");
        const graph::BufferDesc desc{static_cast<std::uint64_t>(x.pixels()) * bytes_per_pixel(output.format), 256,
                                     output.domain};
        for (std::size_t i = 0; given && i < count; ++i)
            imports_.frames.push_back(frame_.import_buffer(fmt::format("frame {}", i), desc, memory[i]));
        struct Data {
            Tensor in;
            std::vector<graph::Buffer> out;
        };
        const Data& data = frame_.add_pass<Data>(
            "write_frames", Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                for (std::size_t i = 0; i < count; ++i)
                    d.out.push_back(given ? pass.write(imports_.frames[i], Access::KernelWrite)
                                          : pass.create(fmt::format("frame {}", i), desc, Access::KernelWrite));
                pass.run_anew();
            },
            [format = output.format, limit = limit(), operators = &operators_](const Data& d,
                                                                               accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                std::vector<std::byte*> frames;
                frames.reserve(d.out.size());
                for (const graph::Buffer buffer : d.out) frames.push_back(lane.address(buffer));
                if (format == FrameFormat::Rgba8)
                    return report(lane.stream(), lane.pass_name(),
                                  operators->store_picture(lane.stream(), lane.pass_name(),
                                                           {input, frames, d.in.pixels(), d.in.dtype}));
                for (std::size_t i = 0; i < frames.size(); ++i)
                    report(lane.stream(), lane.pass_name(),
                           operators->store_f32(lane.stream(), lane.pass_name(),
                                                {std::span(input).subspan(i, 1), reinterpret_cast<float*>(frames[i]),
                                                 d.in.pixels() * d.in.channels, d.in.dtype, limit}));
            });
        if (given)
            for (const graph::Buffer buffer : data.out) frame_.export_contents(buffer);
        if (output.then) output.then(frame_, data.out);
    }

    float limit() const { return stack_.clamp ? 1.0F : std::numeric_limits<float>::infinity(); }

    void trace_output(const std::string& module, const Tensor& x) {
        if (trace_ == nullptr || trace_->module != module || error_) return;
        trace_->values = static_cast<std::size_t>(x.frames * x.pixels() * x.channels);
        auto memory = parameters_.device().allocate_pinned("trace " + module, trace_->values * sizeof(float));
        if (!memory) return note(std::move(memory.error()), "");
        trace_->memory = std::move(*memory);
        struct Data {
            Tensor in;
        };
        frame_.add_pass<Data>(
            "trace " + module, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                pass.has_side_effect();
            },
            [operators = &operators_, output = reinterpret_cast<float*>(trace_->memory->data())](
                const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                report(lane.stream(), lane.pass_name(),
                       operators->store_f32(lane.stream(), lane.pass_name(),
                                            {input, output, d.in.pixels() * d.in.channels, d.in.dtype}));
            });
    }

    // ---- what they share -------------------------------------------------------------------------------------------

    /// The last frames that the convolution `key` has seen, from one step to the next.
    graph::Buffer import_kept(const std::string& key, const Tensor& x) {
        const std::uint64_t bytes = kKept * x.frame_bytes();
        return frame_.import_buffer(key + ".kept", {bytes, 256, graph::MemoryDomain::Accelerator},
                                    find_kept_(key, bytes));
    }

    /// Behind the convolution: the newest of `x` take the place of the frames that it has read.
    void keep(const std::string& key, const Tensor& x, graph::Buffer kept) {
        struct Data {
            Tensor in;
            graph::Buffer out;
        };
        const Data& data = frame_.add_pass<Data>(
            key + ".keep", Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = pass.write(kept, Access::KernelWrite);
            },
            [](const Data& d, accel::PassContext& lane) {
                const std::uint64_t bytes = d.in.frame_bytes();
                const auto fresh = static_cast<std::uint64_t>(std::min(d.in.frames, kKept)), old = kKept - fresh;
                std::byte* slots = lane.address(d.out);
                const std::byte* in = lane.address(d.in.buffer);
                lane.stream().copy(slots, slots + fresh * bytes, old * bytes);
                lane.stream().copy(slots + old * bytes, in + (static_cast<std::uint64_t>(d.in.frames) - fresh) * bytes,
                                   fresh * bytes);
            });
        frame_.export_contents(data.out);
    }

    static Tensor read(graph::PassBuilder& pass, Tensor tensor) {
        tensor.buffer = pass.read(tensor.buffer, Access::KernelRead);
        return tensor;
    }

    static Tensor write(graph::PassBuilder& pass, const std::string& name, Tensor tensor) {
        tensor.buffer = pass.create(
            name + ".out",
            {static_cast<std::uint64_t>(tensor.frames) * tensor.frame_bytes(), 256, graph::MemoryDomain::Accelerator},
            Access::KernelWrite);
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
        problem.upsample = spec.upsample;
        problem.filter = {spec.c_out, spec.q, spec.r, spec.s};
        problem.pad.top = problem.pad.bottom = spec.r / 2;
        problem.pad.left = problem.pad.right = spec.s / 2;
        problem.dtype = x.dtype;
        problem.output_dtype = spec.output_dtype;
        problem.residual = residual;
        return problem;
    }

    const conv::Convolution* convolution(const std::string& key, const conv::ConvProblem& problem,
                                         OutputChannels channels = {}, const std::string& norm_key = "") {
        auto found = parameters_.convolution(key, problem, channels, norm_key);
        if (found) return *found;
        note(std::move(found.error()), "");
        return nullptr;
    }

    const float* constant(const std::string& name, const std::vector<float>& values) {
        return value_or_note(parameters_.constant(name, values));
    }

    const float* value_or_note(Result<const float*> found) {
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
    const nn::Operators& operators_;
    const FindKept& find_kept_;
    TraceRequest* trace_;
    StepImports imports_;
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

Result<StepImports> declare_step(graph::FrameGraph& frame, const StackDesc& stack, StepKind kind,
                                 const StepResources& resources, const StepMemory& memory, TraceRequest* trace) {
    return StepDeclaration(frame, stack, kind, resources, trace).run(memory);
}

}  // namespace kinetograph::vae
