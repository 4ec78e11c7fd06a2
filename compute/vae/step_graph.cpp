#include <kinetograph/compute/nn/fusion.hpp>
#include <kinetograph/compute/vae/step_graph.hpp>
#include <kinetograph/compute/vae/step_tensor.hpp>

#include <limits>
#include <optional>
#include <span>

namespace kinetograph::vae {

namespace {

using graph::Access;
using graph::Lane;

/// Turns a Result of an enqueue into the stream's own error: the pass is recorded already when it can only fail later.
void report(accel::Stream& stream, std::string_view pass, Result<void> result) {
    if (!result) stream.enqueue(pass, [error = std::move(result.error())]() -> Result<void> { return fail(error); });
}

/// Which frames of its values a pass works on: all, or those before the last `history` of them, or these.
enum class Part : std::uint8_t { Whole, Head, Tail };

class StepDeclaration {
  public:
    StepDeclaration(graph::FrameGraph& frame, const NetworkDesc& stack, const StackSize& size, StepKind kind,
                    const StepResources& resources, TraceRequest* trace)
        : frame_(frame),
          stack_(stack),
          size_(size),
          kind_(kind),
          parameters_(resources.parameters),
          operators_(resources.operators),
          find_kept_(resources.find_kept),
          trace_(trace),
          extents_(nn::extents(stack.network, input_extent(), kind.first)),
          tensors_(extents_.size()),
          tails_(extents_.size()),
          kept_for_(extents_.size()) {}

    /// On a GPU a convolution doubles its input on the way; on the CPU a pass does, whose output the back ends there
    /// read in place.
    Result<DeclaredStep> run(const StepMemory& memory) {
        tensors_.front() = unpack_input(memory);
        const bool on_cpu = parameters_.device().info().kind == accel::Kind::Cpu;
        const std::vector<nn::Pass> passes =
            nn::fuse(stack_.network, {.first_step = kind_.first, .upsample_in_conv = !on_cpu});
        const std::size_t split = trace_ == nullptr ? find_split(passes) : passes.size();
        for (std::size_t i = 0; i < split && !error_; ++i)
            std::visit([this](const auto& each) { declare(each); }, passes[i]);
        for (std::size_t i = split; i < passes.size() && !error_; ++i) {
            if (i == split) declare(std::get<nn::ConvPass>(passes[i]), Part::Head);
            if (i + 1 < passes.size()) declare(std::get<nn::ConvPass>(passes[i + 1]), Part::Head);
            if (!error_) declare(std::get<nn::ConvPass>(passes[i]), Part::Tail);
        }
        if (error_) return fail(std::move(*error_));
        const Tensor& output = tensors_.back();
        if (memory.device != nullptr)
            write_frames(output, *memory.device, memory.frames, memory.flag);
        else
            write_output(output, memory);
        if (error_) return fail(std::move(*error_));
        return declared_;
    }

  private:
    // ---- one method a pass -----------------------------------------------------------------------------------------

    /// A handle of another graph is told by compile().
    void check_latents(graph::Buffer latents, std::uint64_t bytes) {
        if (latents.resource() >= frame_.resources().size()) return;
        const graph::ResourceNode& found = frame_.resources()[latents.resource()];
        if (found.bytes < bytes)
            note({ErrorCode::InvalidArgument,
                  fmt::format("\"{}\" has {} bytes, the step's latents are {}", found.name, found.bytes, bytes)},
                 "unpack_latents");
    }

    Tensor unpack_input(const StepMemory& memory) {
        const Tensor out = tensor(input_extent(), stack_.dtype);
        const graph::BufferDesc desc{
            static_cast<std::uint64_t>(out.frames * out.pixels() * out.channels) * sizeof(float), 16,
            graph::MemoryDomain::Accelerator};
        if (!memory.latents) declared_.input = frame_.import_buffer("latents", desc, memory.input);
        const graph::Buffer latents = memory.latents ? memory.latents : declared_.input;
        check_latents(latents, desc.bytes);
        struct Data {
            graph::Buffer in;
            Tensor out;
        };
        const Data& data = frame_.add_pass<Data>(
            "unpack_latents", Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = pass.read(latents, Access::KernelRead);
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

    void declare(const nn::NormPass& norm) {
        const std::string& name = norm.norm.norm->key;
        const Tensor& x = tensors_[norm.input];
        struct Data {
            Tensor in, out;
        };
        const Data& data = frame_.add_pass<Data>(
            name, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = write(pass, name, x);
            },
            [operators = &operators_, gamma = value_or_note(parameters_.gamma(name)),
             activation = norm.norm.activation](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                const auto output = addresses(lane, d.out);
                report(
                    lane.stream(), lane.pass_name(),
                    operators->rms_norm(lane.stream(), lane.pass_name(),
                                        {input, output, d.in.pixels(), d.in.channels, gamma, d.in.dtype, activation}));
            });
        made(norm.norm.output, data.out);
    }

    /// Named by its parameters' key. A time shuffle makes several convolutions of it, each of which writes every
    /// second, third... frame.
    void declare(const nn::ConvPass& fused, Part part = Part::Whole) {
        const std::string& key = fused.conv->key;
        const Tensor x = part_of(fused.input, part);
        const conv::ConvProblem whole = nn::conv_problem(fused, {x.frames, x.height, x.width, x.channels}, x.dtype);
        Tensor out = tensor(extents_[fused.output], whole.output_dtype);
        if (part != Part::Whole) out.frames = x.frames;
        const std::vector<const conv::Convolution*> parts = convolutions(fused, whole);
        if (error_) return;
        const Tensor before = frames_before(fused, x, part);
        struct Data {
            Tensor before, in, residual, out, normed;
            graph::Buffer workspace;
        };
        const Data& data = frame_.add_pass<Data>(
            part == Part::Tail ? key + ".tail" : key, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                if (before.buffer) d.before = read(pass, before);
                if (fused.residual) {
                    d.residual = read(pass, part_of(*fused.residual, part));
                    d.out = part_of(*fused.residual, part);
                    d.out.buffer = pass.write(d.out.buffer, Access::KernelWrite);
                } else if (fused.stored != conv::Norm::Instead) {
                    d.out = place(pass, key, fused.output, part, out);
                }
                if (fused.norm) d.normed = place(pass, fused.norm->norm->key, fused.norm->output, part, out);
                std::uint64_t bytes = 0;
                for (const conv::Convolution* each : parts) bytes = std::max(bytes, each->workspace_bytes());
                d.workspace = workspace(pass, key, bytes);
            },
            [parts](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.before, d.in));
                const auto skip = read_only(addresses(lane, d.residual));
                const auto stored = addresses(lane, d.out), normed = addresses(lane, d.normed);
                std::byte* scratch = d.workspace ? lane.address(d.workspace) : nullptr;
                if (parts.size() == 1)
                    return report(lane.stream(), lane.pass_name(),
                                  parts.front()->enqueue(lane.stream(), lane.pass_name(),
                                                         {input, stored, skip, scratch, normed}));
                for (std::size_t i = 0; i < parts.size(); ++i) {
                    std::vector<std::byte*> shuffled;
                    for (std::size_t t = i; t < stored.size(); t += parts.size()) shuffled.push_back(stored[t]);
                    report(lane.stream(), lane.pass_name(),
                           parts[i]->enqueue(lane.stream(), lane.pass_name(), {input, shuffled, {}, scratch}));
                }
            });
        if (before.buffer && part == Part::Whole && !stack_.one_step) keep(key, before.frames, x, before.buffer);
        if (fused.norm) made(fused.norm->output, part, data.normed);
        if (data.out.buffer) made(fused.output, part, data.out);
    }

    /// One for each part that a time shuffle stores as frames.
    std::vector<const conv::Convolution*> convolutions(const nn::ConvPass& fused, conv::ConvProblem problem) {
        problem.residual = fused.residual.has_value();
        std::string norm_key;
        if (fused.norm) {
            problem.norm = fused.stored;
            problem.norm_activation = fused.norm->activation;
            norm_key = fused.norm->norm->key;
        }
        std::vector<const conv::Convolution*> parts;
        if (fused.shuffle == 1) {
            parts.push_back(convolution(fused.conv->key, problem, {}, norm_key));
            return parts;
        }
        problem.filter.k /= fused.shuffle;
        for (std::int64_t i = 0; i < fused.shuffle; ++i)
            parts.push_back(convolution(fused.conv->key, problem, {i * problem.filter.k, problem.filter.k}, norm_key));
        return parts;
    }

    void declare(const nn::AttentionPass& attention) {
        const std::string& name = attention.attention->key;
        const Tensor& qkv = tensors_[attention.input];
        const Tensor out = tensor(extents_[attention.output], qkv.dtype);
        auto created = operators_.attention({qkv.pixels(), out.channels, qkv.dtype});
        if (!created) return note(std::move(created.error()), name);
        const std::shared_ptr<const nn::Attention> kernel = std::move(*created);
        struct Data {
            Tensor in, out;
            graph::Buffer workspace;
        };
        const Data& data = frame_.add_pass<Data>(
            name, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, qkv);
                d.out = write(pass, name, out);
                d.workspace = workspace(pass, name, kernel->workspace_bytes());
            },
            [kernel](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                const auto output = addresses(lane, d.out);
                report(lane.stream(), lane.pass_name(),
                       kernel->enqueue(lane.stream(), lane.pass_name(),
                                       {input, output, d.workspace ? lane.address(d.workspace) : nullptr}));
            });
        made(attention.output, data.out);
    }

    void declare(const nn::UpsamplePass& upsample) {
        const std::string& name = upsample.upsample->key;
        const Tensor& x = tensors_[upsample.input];
        struct Data {
            Tensor in, out;
        };
        const Data& data = frame_.add_pass<Data>(
            name, Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                d.out = write(pass, name, tensor(extents_[upsample.output], x.dtype));
            },
            [operators = &operators_](const Data& d, accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                const auto output = addresses(lane, d.out);
                report(
                    lane.stream(), lane.pass_name(),
                    operators->upsample_nearest2x(lane.stream(), lane.pass_name(),
                                                  {input, output, d.in.height, d.in.width, d.in.channels, d.in.dtype}));
            });
        made(upsample.output, data.out);
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

    /// Every frame to memory of its own, in the format that was asked for.
    void write_frames(const Tensor& x, const DeviceOutput& output, std::span<const graph::Physical> memory,
                      const graph::Physical& flag) {
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
            declared_.places.push_back(frame_.import_buffer(fmt::format("frame {}", i), desc, memory[i]));
        if (flag.object != 0) declared_.flag = frame_.import_buffer("not finite", {sizeof(std::uint32_t), 4}, flag);
        struct Data {
            Tensor in;
            std::vector<graph::Buffer> out;
            graph::Buffer flag;
        };
        const Data& data = frame_.add_pass<Data>(
            "write_frames", Lane::Accelerator,
            [&](graph::PassBuilder& pass, Data& d) {
                d.in = read(pass, x);
                for (std::size_t i = 0; i < count; ++i)
                    d.out.push_back(given ? pass.write(declared_.places[i], Access::KernelWrite)
                                          : pass.create(fmt::format("frame {}", i), desc, Access::KernelWrite));
                if (declared_.flag) d.flag = pass.write(declared_.flag, Access::KernelWrite);
                pass.run_anew();
            },
            [format = output.format, limit = limit(), operators = &operators_](const Data& d,
                                                                               accel::PassContext& lane) {
                const auto input = read_only(addresses(lane, d.in));
                std::vector<std::byte*> frames;
                frames.reserve(d.out.size());
                for (const graph::Buffer buffer : d.out) frames.push_back(lane.address(buffer));
                auto* not_finite = d.flag ? reinterpret_cast<std::uint32_t*>(lane.address(d.flag)) : nullptr;
                if (format == FrameFormat::Rgba8)
                    return report(lane.stream(), lane.pass_name(),
                                  operators->store_picture(lane.stream(), lane.pass_name(),
                                                           {input, frames, d.in.pixels(), d.in.dtype, not_finite}));
                for (std::size_t i = 0; i < frames.size(); ++i)
                    report(lane.stream(), lane.pass_name(),
                           operators->store_f32(lane.stream(), lane.pass_name(),
                                                {std::span(input).subspan(i, 1), reinterpret_cast<float*>(frames[i]),
                                                 d.in.pixels() * d.in.channels, d.in.dtype, limit, not_finite}));
            });
        if (data.flag) frame_.export_contents(data.flag);
        if (given)
            for (const graph::Buffer buffer : data.out) frame_.export_contents(buffer);
        declared_.frames = data.out;
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

    // ---- the end of a network, part by part ------------------------------------------------------------------------
    //
    // The frames that a convolution keeps are the last of its input. If the pass before it writes them where they are
    // kept, no copy is needed, but the frames kept so far must be read first. So each pass of the network's end runs
    // twice: over all frames but the last `history` (its head), then over these (its tail):
    //
    //   head 0, head 1, tail 0, head 2, tail 1, head 3, tail 2, ...
    //
    //   head n+1   reads the frames kept for n+1
    //   tail n     writes what n+1 keeps in their place
    //   tail n+1   reads those, and the head's last frames before them
    //
    // Values of fewer frames exist at a time, too. On a GPU the bits are those of whole passes: a frame's sums do not
    // depend on how many frames a launch has.

    /// The first pass of the network's end that runs in parts; the number of passes if none does. From there on all are
    /// convolutions over as many frames as the output has. What one of them keeps is made by the pass before it and
    /// read by no other.
    std::size_t find_split(const std::vector<nn::Pass>& passes) {
        const std::int64_t frames = extents_.back().frames;
        std::int64_t history = 0;
        std::size_t first = passes.size();
        for (; first > 0; --first) {
            const auto* pass = std::get_if<nn::ConvPass>(&passes[first - 1]);
            if (pass == nullptr || pass->shuffle != 1 || extents_[pass->input].frames != frames ||
                extents_[pass->output].frames != frames)
                break;
            const std::int64_t its = pass->conv->history();
            if (its > 0 && history > 0 && its != history) break;
            history = std::max(history, its);
        }
        if (stack_.one_step || history == 0 || frames < 2 * history) return passes.size();
        while (first < passes.size() && !can_split(passes, first)) ++first;
        tail_frames_ = history;
        return first;
    }

    static bool can_split(const std::vector<nn::Pass>& passes, std::size_t first) {
        const auto makes = [&](std::size_t at, nn::Value value) {
            const auto& pass = std::get<nn::ConvPass>(passes[at]);
            return pass.output == value || (pass.norm && pass.norm->output == value);
        };
        const auto made_since = [&](std::size_t end, nn::Value value) {
            for (std::size_t at = first; at < end; ++at)
                if (makes(at, value)) return true;
            return false;
        };
        const auto readers = [&](nn::Value value) {
            std::size_t count = 0;
            for (std::size_t at = first; at < passes.size(); ++at) {
                const auto& pass = std::get<nn::ConvPass>(passes[at]);
                count += (pass.input == value ? 1U : 0U) + (pass.residual == value ? 1U : 0U);
            }
            return count;
        };
        const auto& start = std::get<nn::ConvPass>(passes[first]);
        if (start.conv->history() > 0 || start.residual) return false;
        bool keeps = false;
        for (std::size_t at = first + 1; at < passes.size(); ++at) {
            const auto& pass = std::get<nn::ConvPass>(passes[at]);
            if (!made_since(at, pass.input) || (pass.residual && !made_since(at, *pass.residual))) return false;
            if (pass.conv->history() == 0) continue;
            const auto& before = std::get<nn::ConvPass>(passes[at - 1]);
            const bool in_residuals_place = before.residual && before.output == pass.input;
            if (!makes(at - 1, pass.input) || in_residuals_place || readers(pass.input) != 1) return false;
            keeps = true;
        }
        return keeps;
    }

    /// A value's frames; of one that was made whole, a view.
    Tensor part_of(nn::Value value, Part part) const {
        Tensor x = tensors_[value];
        if (part == Part::Whole || (part == Part::Head && x.frames != extents_[value].frames)) return x;
        if (tails_[value].buffer && part == Part::Tail) return tails_[value];
        x.frames -= tail_frames_;
        if (part == Part::Head) return x;
        x.first = x.frames;
        x.frames = tail_frames_;
        return x;
    }

    /// What the convolution reads before `x`: the frames that it has kept, or the last of its head.
    Tensor frames_before(const nn::ConvPass& fused, Tensor x, Part part) {
        const std::int64_t history = fused.conv->history();
        if (history == 0) return {};
        if (part == Part::Tail) {
            x = part_of(fused.input, Part::Head);
            x.first += x.frames - history;
            x.frames = history;
            return x;
        }
        x.frames = history;
        x.first = 0;
        x.buffer = import_kept(fused.conv->key, history, x);
        if (part == Part::Head) kept_for_[fused.input] = x.buffer;
        return x;
    }

    /// Where a pass writes `value`. The network's output stays in one piece.
    Tensor place(graph::PassBuilder& pass, const std::string& name, nn::Value value, Part part, Tensor out) {
        const bool is_output = value + 1 == tensors_.size();
        if (part == Part::Head && is_output) {
            const std::int64_t frames = out.frames;
            out.frames = extents_[value].frames;
            out = write(pass, name, out);
            out.frames = frames;
            return out;
        }
        if (part != Part::Tail) return write(pass, name, out);
        if (!is_output && !kept_for_[value]) return write(pass, name + ".tail", out);
        out.first = is_output ? tensors_[value].frames : 0;
        out.buffer = pass.write(is_output ? tensors_[value].buffer : kept_for_[value], Access::KernelWrite);
        return out;
    }

    void made(nn::Value value, Part part, const Tensor& tensor) {
        if (part == Part::Whole) return made(value, tensor);
        if (part == Part::Head) {
            tensors_[value] = tensor;
            return;
        }
        tails_[value] = tensor;
        if (kept_for_[value]) frame_.export_contents(tensor.buffer);
        if (value + 1 < tensors_.size()) return;
        tensors_[value].buffer = tensor.buffer;
        tensors_[value].frames += tensor.frames;
    }

    // ---- what they share -------------------------------------------------------------------------------------------

    nn::Extent input_extent() const {
        return {kind_.frames, size_.height, size_.width, stack_.network.input_channels()};
    }

    static Tensor tensor(const nn::Extent& extent, tensor::DType dtype) {
        return {{}, extent.frames, extent.height, extent.width, extent.channels, dtype};
    }

    /// From here on passes that read `value` find it in `tensor`.
    void made(nn::Value value, const Tensor& tensor) {
        tensors_[value] = tensor;
        for (const auto& [named, module] : stack_.network.modules())
            if (named == value) trace_output(module, tensor);
    }

    /// The last frames that the convolution `key` has seen, from one step to the next.
    graph::Buffer import_kept(const std::string& key, std::int64_t history, const Tensor& x) {
        const std::uint64_t bytes = static_cast<std::uint64_t>(history) * x.frame_bytes();
        return frame_.import_buffer(key + ".kept", {bytes, 256, graph::MemoryDomain::Accelerator},
                                    find_kept_(stack_.one_step ? "" : key, bytes));
    }

    /// After the convolution: the newest of `x` take the place of the frames that it has read.
    void keep(const std::string& key, std::int64_t history, const Tensor& x, graph::Buffer kept) {
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
            [history](const Data& d, accel::PassContext& lane) {
                const std::uint64_t bytes = d.in.frame_bytes();
                const auto fresh = static_cast<std::uint64_t>(std::min(d.in.frames, history));
                const std::uint64_t old = static_cast<std::uint64_t>(history) - fresh;
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
    const NetworkDesc& stack_;
    const StackSize& size_;
    StepKind kind_;
    Parameters& parameters_;
    const nn::Operators& operators_;
    const FindKept& find_kept_;
    TraceRequest* trace_;
    std::vector<nn::Extent> extents_;  ///< [nn::Value]
    std::vector<Tensor> tensors_;      ///< [nn::Value], of those that were made so far; heads of those made in parts
    std::vector<Tensor> tails_;        ///< [nn::Value], of those made in parts
    std::vector<graph::Buffer> kept_for_;  ///< [nn::Value], where a tail is kept for the next step
    std::int64_t tail_frames_ = 0;
    DeclaredStep declared_;
    std::optional<Error> error_;
};

}  // namespace

nn::Extent output_shape(const NetworkDesc& network, const StackSize& size, StepKind kind) {
    return nn::extents(network.network, {kind.frames, size.height, size.width, network.network.input_channels()},
                       kind.first)
        .back();
}

std::uint64_t input_bytes(const NetworkDesc& network, const StackSize& size, std::int64_t frames) {
    return static_cast<std::uint64_t>(frames * network.network.input_channels() * size.height * size.width) *
           sizeof(float);
}

std::uint64_t output_bytes(const NetworkDesc& network, const StackSize& size, StepKind kind) {
    return static_cast<std::uint64_t>(output_shape(network, size, kind).elements()) * sizeof(float);
}

Result<DeclaredStep> declare_step(graph::FrameGraph& frame, const NetworkDesc& network, const StackSize& size,
                                  StepKind kind, const StepResources& resources, const StepMemory& memory,
                                  TraceRequest* trace) {
    return StepDeclaration(frame, network, size, kind, resources, trace).run(memory);
}

}  // namespace kinetograph::vae
