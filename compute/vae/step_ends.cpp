#include <kinetograph/compute/vae/step_ends.hpp>

#include <algorithm>
#include <functional>
#include <limits>

namespace kinetograph::vae {

namespace {

using graph::Access;

float limit_of(const NetworkDesc& network) {
    const bool pictures = network.network.ends().output == nn::End::Pictures;
    return network.clamp && pictures ? 1.0F : std::numeric_limits<float>::infinity();
}

std::string_view word_of(nn::End end) { return end == nn::End::Latents ? "latents" : "pictures"; }

/// A handle of another graph is reported by compile().
Result<void> check_bytes(const StepContext& step, graph::Buffer input, std::uint64_t bytes) {
    if (input.resource() >= step.frame.resources().size()) return {};
    const graph::ResourceNode& found = step.frame.resources()[input.resource()];
    if (found.bytes >= bytes) return {};
    const std::string_view word = word_of(step.network.network.ends().input);
    return fail(ErrorCode::InvalidArgument, "unpack_{0}: \"{1}\" has {2} bytes, the step's {0} are {3}", word,
                found.name, found.bytes, bytes);
}

/// Whether one factor and one summand do for all values.
Result<void> check_maps_no_channels(const NetworkDesc& network, const std::string& pass) {
    const auto differ = [](const std::vector<float>& values) {
        return std::ranges::adjacent_find(values, std::not_equal_to{}) != values.end();
    };
    if (nn::input_map(network.network) == nullptr && !differ(network.scale) && !differ(network.shift)) return {};
    return fail(ErrorCode::InvalidArgument, "{}: this network maps the channels of its input: it takes planes", pass);
}

}  // namespace

Result<Tensor> read_input(const StepContext& step, const InputBuffer& input, const Tensor& out) {
    const NetworkDesc& network = step.network;
    const std::string name = fmt::format("unpack_{}", word_of(network.network.ends().input));
    const std::uint64_t frame_bytes =
        static_cast<std::uint64_t>(out.pixels() * out.channels) * tensor::bytes_per_element(input.dtype);
    KG_CHECK(check_bytes(step, input.buffer, static_cast<std::uint64_t>(out.frames) * frame_bytes));
    // Values of pixels are stored in the order in which they come: as latents of one channel.
    const bool are_pixels = input.layout == InputLayout::Pixels;
    if (are_pixels) KG_CHECK(check_maps_no_channels(network, name));
    Parameters& parameters = *step.placement.parameters;
    KG_TRY(const auto* map, are_pixels
                                ? parameters.value_map(network.scale, network.shift)
                                : parameters.latent_map(network.scale, network.shift, nn::input_map(network.network)));
    const std::int64_t channels = are_pixels ? 1 : out.channels;
    KG_TRY_IN(name, auto op,
              step.operators.get(conv::UnpackLatentProblem{out.pixels() * out.channels / channels, channels,
                                                           input.dtype, out.stored, nn::input_limit(network.network)}));
    struct Data {
        graph::Buffer in;
        Tensor out;
    };
    const Data& data = step.frame.add_pass<Data>(
        name, step.placement.lane,
        [&](graph::PassBuilder& pass, Data& d) {
            d.in = pass.read(input.buffer, Access::KernelRead);
            d.out = create(pass, name, out, step.placement.memory);
            pass.run_anew();
        },
        [op, map, frame_bytes](const Data& d, accel::PassContext& lane) {
            const std::byte* source = lane.address(d.in);
            for (std::byte* frame : addresses(lane, d.out)) {
                report(lane, op->enqueue(
                                 lane.stream(), lane.pass_name(),
                                 {.input = std::span(&source, 1), .output = std::span(&frame, 1), .parameters = map}));
                source += frame_bytes;
            }
        });
    return data.out;
}

namespace {

/// What stores frames like `x` in the format.
conv::OpProblem stored_as(const StepContext& step, const Tensor& x, FrameFormat format) {
    if (format == FrameFormat::Rgba8) return conv::StorePictureProblem{x.pixels(), x.stored};
    const Element stored = format == FrameFormat::Float16 ? Element::F16 : Element::F32;
    return conv::StoreFloatProblem{x.pixels() * x.channels, x.stored, stored, limit_of(step.network)};
}

}  // namespace

Result<void> write_output(const StepContext& step, const Tensor& x, PictureRows rows, const StepOutput& frames,
                          Written& written) {
    KG_TRY_IN("write_frames", auto op, step.operators.get(stored_as(step, x, frames.format)));
    const std::uint64_t row_bytes = static_cast<std::uint64_t>(x.width) * bytes_per_pixel(frames.format, x.channels);
    const graph::BufferDesc desc{static_cast<std::uint64_t>(rows.height) * row_bytes, 256, frames.domain};
    struct Data {
        Tensor in;
        Written out;
    };
    const Data& data = step.frame.add_pass<Data>(
        step.named("write_frames"), step.placement.lane,
        [&](graph::PassBuilder& pass, Data& d) {
            d.in = read(pass, x);
            for (std::size_t i = 0; i < static_cast<std::size_t>(x.frames); ++i)
                d.out.frames.push_back(written.frames.empty()
                                           ? pass.create(fmt::format("frame {}", i), desc, Access::KernelWrite)
                                           : pass.write(written.frames[i], Access::KernelWrite));
            if (written.not_finite) d.out.not_finite = pass.write(written.not_finite, Access::KernelWrite);
            pass.run_anew();
        },
        [op, together = frames.format == FrameFormat::Rgba8,
         before = static_cast<std::uint64_t>(rows.first) * row_bytes](const Data& d, accel::PassContext& lane) {
            const auto input = read_only(addresses(lane, d.in));
            std::vector<std::byte*> outputs;
            outputs.reserve(d.out.frames.size());
            for (const graph::Buffer buffer : d.out.frames) outputs.push_back(lane.address(buffer) + before);
            auto* not_finite =
                d.out.not_finite ? reinterpret_cast<std::uint32_t*>(lane.address(d.out.not_finite)) : nullptr;
            const std::size_t count = together ? outputs.size() : 1;
            for (std::size_t i = 0; i < outputs.size(); i += count)
                report(lane, op->enqueue(lane.stream(), lane.pass_name(),
                                         {.input = std::span(input).subspan(i, count),
                                          .output = std::span(outputs).subspan(i, count),
                                          .not_finite = not_finite}));
        });
    written = data.out;
    return {};
}

Result<Written> begin_output(const nn::Network& network, const nn::Extent& shape, const StepOutput& frames) {
    const auto count = static_cast<std::size_t>(shape.frames);
    if (frames.format == FrameFormat::Rgba8 && network.ends().output != nn::End::Pictures)
        return fail(ErrorCode::InvalidArgument, "write_frames: the network ends in latents, which are no pictures");
    if (frames.format == FrameFormat::Rgba8 && shape.channels != 3)
        return fail(ErrorCode::InvalidArgument, "write_frames: pictures have 3 channels, the last layer makes {}",
                    shape.channels);
    if (!frames.places.empty() && frames.places.size() != count)
        return fail(ErrorCode::InvalidArgument, "write_frames: the step makes {} frames, memory is given for {}", count,
                    frames.places.size());
    return Written{.frames = {frames.places.begin(), frames.places.end()}, .not_finite = frames.not_finite};
}

std::vector<graph::Buffer> end_output(const StepContext& step, const StepOutput& frames, Written written) {
    if (written.not_finite) step.frame.export_contents(written.not_finite);
    if (!frames.places.empty())
        for (const graph::Buffer buffer : written.frames) step.frame.export_contents(buffer);
    return std::move(written.frames);
}

Result<void> write_trace(const StepContext& step, const Tensor& x, PictureRows rows, const nn::Extent& whole,
                         TraceRequest& trace) {
    trace.values = static_cast<std::size_t>(whole.elements());
    if (!trace.memory || trace.memory->bytes() < trace.values * sizeof(float)) {
        KG_TRY(trace.memory, step.placement.parameters->device().allocate_pinned("trace " + trace.module,
                                                                                 trace.values * sizeof(float)));
    }
    KG_TRY(auto op, step.operators.get(conv::StoreFloatProblem{x.pixels() * x.channels, x.stored, Element::F32}));
    const std::string name = step.named("trace " + trace.module);
    const std::uint64_t bytes = trace.memory->bytes();
    const graph::Buffer copy =
        step.frame.import_buffer(name, {bytes, alignof(float), step.placement.memory},
                                 {reinterpret_cast<std::uintptr_t>(trace.memory->data()), 0, bytes});
    struct Data {
        Tensor in;
        graph::Buffer out;
    };
    step.frame.add_pass<Data>(
        name, step.placement.lane,
        [&](graph::PassBuilder& pass, Data& d) {
            d.in = read(pass, x);
            d.out = pass.write(copy, Access::KernelWrite);
            pass.has_side_effect();
        },
        [op, rows](const Data& d, accel::PassContext& lane) {
            const auto input = read_only(addresses(lane, d.in));
            auto* const output = reinterpret_cast<float*>(lane.address(d.out));
            const std::int64_t row = d.in.width * d.in.channels;
            for (std::size_t i = 0; i < input.size(); ++i) {
                float* const frame = output + (static_cast<std::int64_t>(i) * rows.height + rows.first) * row;
                auto* const to = reinterpret_cast<std::byte*>(frame);
                report(lane, op->enqueue(lane.stream(), lane.pass_name(),
                                         {.input = std::span(input).subspan(i, 1), .output = std::span(&to, 1)}));
            }
        });
    return {};
}

Tensor copy_rows(graph::FrameGraph& frame, const std::string& name, graph::Lane lane, const Tensor& from,
                 graph::MemoryDomain memory) {
    struct Data {
        Tensor in, out;
    };
    return frame
        .add_pass<Data>(
            name, lane,
            [&](graph::PassBuilder& pass, Data& d) {
                Tensor dense = from;
                dense.first = dense.top = dense.frame_height = 0;
                d.in = read(pass, from);
                d.out = create(pass, name, dense, memory);
                pass.run_anew();
            },
            [](const Data& d, accel::PassContext& context) {
                const auto in = addresses(context, d.in), out = addresses(context, d.out);
                for (std::size_t i = 0; i < in.size(); ++i) context.stream().copy(out[i], in[i], d.in.frame_bytes());
            })
        .out;
}

void put_rows(graph::FrameGraph& frame, const std::string& name, graph::Lane lane, const FrameRows& rows,
              Written& written) {
    struct Data {
        std::vector<graph::Buffer> in, out;
    };
    const Data& data = frame.add_pass<Data>(
        name, lane,
        [&](graph::PassBuilder& pass, Data& d) {
            for (std::size_t i = 0; i < rows.frames.size(); ++i) {
                d.in.push_back(pass.read(rows.frames[i], Access::KernelRead));
                d.out.push_back(pass.write(written.frames[i], Access::KernelWrite));
            }
            pass.run_anew();
        },
        [begin = rows.begin, bytes = rows.bytes](const Data& d, accel::PassContext& context) {
            for (std::size_t i = 0; i < d.in.size(); ++i)
                context.stream().copy(context.address(d.out[i]) + begin, context.address(d.in[i]), bytes);
        });
    written.frames = data.out;
}

}  // namespace kinetograph::vae
