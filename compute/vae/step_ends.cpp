#include <kinetograph/compute/vae/step_ends.hpp>

#include <limits>

namespace kinetograph::vae {

namespace {

using graph::Access;
using graph::Lane;

float limit_of(const NetworkDesc& network) { return network.clamp ? 1.0F : std::numeric_limits<float>::infinity(); }

/// A handle of another graph is reported by compile().
Result<void> check_latents(const graph::FrameGraph& frame, graph::Buffer latents, std::uint64_t bytes) {
    if (latents.resource() >= frame.resources().size()) return {};
    const graph::ResourceNode& found = frame.resources()[latents.resource()];
    if (found.bytes >= bytes) return {};
    return fail(ErrorCode::InvalidArgument, "unpack_latents: \"{}\" has {} bytes, the step's latents are {}",
                found.name, found.bytes, bytes);
}

}  // namespace

Result<Tensor> unpack_latents(const StepContext& step, const LatentBuffer& latents, const nn::Extent& shape) {
    const Tensor out = tensor_of(shape, step.network.dtype);
    const std::uint64_t frame_bytes =
        static_cast<std::uint64_t>(out.pixels() * out.channels) * tensor::bytes_per_element(latents.dtype);
    KG_CHECK(check_latents(step.frame, latents.buffer, static_cast<std::uint64_t>(out.frames) * frame_bytes));
    const NetworkDesc& network = step.network;
    KG_TRY(const auto* map, step.parameters.latent_map(network.scale, network.shift, nn::input_map(network.network)));
    struct Data {
        graph::Buffer in;
        Tensor out;
    };
    const Data& data = step.frame.add_pass<Data>(
        "unpack_latents", Lane::Accelerator,
        [&](graph::PassBuilder& pass, Data& d) {
            d.in = pass.read(latents.buffer, Access::KernelRead);
            d.out = create(pass, "unpack_latents", out);
            pass.run_anew();
        },
        [operators = &step.operators, map, soft_limit = nn::input_limit(step.network.network), dtype = latents.dtype,
         frame_bytes](const Data& d, accel::PassContext& lane) {
            const std::byte* source = lane.address(d.in);
            for (std::byte* frame : addresses(lane, d.out)) {
                report(lane, operators->unpack_latent(
                                 lane.stream(), lane.pass_name(),
                                 {source, frame, d.out.pixels(), d.out.channels, map, d.out.dtype, soft_limit, dtype}));
                source += frame_bytes;
            }
        });
    return data.out;
}

void write_output(const StepContext& step, const Tensor& x, PictureRows rows, const ClipFrames& frames,
                  Written& written) {
    const std::uint64_t row_bytes = static_cast<std::uint64_t>(x.width) * bytes_per_pixel(frames.format, x.channels);
    const graph::BufferDesc desc{static_cast<std::uint64_t>(rows.height) * row_bytes, 256, frames.domain};
    struct Data {
        Tensor in;
        Written out;
    };
    const Data& data = step.frame.add_pass<Data>(
        step.named("write_frames"), Lane::Accelerator,
        [&](graph::PassBuilder& pass, Data& d) {
            d.in = read(pass, x);
            for (std::size_t i = 0; i < static_cast<std::size_t>(x.frames); ++i)
                d.out.frames.push_back(written.frames.empty()
                                           ? pass.create(fmt::format("frame {}", i), desc, Access::KernelWrite)
                                           : pass.write(written.frames[i], Access::KernelWrite));
            if (written.not_finite) d.out.not_finite = pass.write(written.not_finite, Access::KernelWrite);
            pass.run_anew();
        },
        [format = frames.format, limit = limit_of(step.network), operators = &step.operators,
         before = static_cast<std::uint64_t>(rows.first) * row_bytes](const Data& d, accel::PassContext& lane) {
            const auto input = read_only(addresses(lane, d.in));
            std::vector<std::byte*> outputs;
            outputs.reserve(d.out.frames.size());
            for (const graph::Buffer buffer : d.out.frames) outputs.push_back(lane.address(buffer) + before);
            auto* not_finite =
                d.out.not_finite ? reinterpret_cast<std::uint32_t*>(lane.address(d.out.not_finite)) : nullptr;
            if (format == FrameFormat::Rgba8)
                return report(lane, operators->store_picture(lane.stream(), lane.pass_name(),
                                                             {input, outputs, d.in.pixels(), d.in.dtype, not_finite}));
            const auto stored = format == FrameFormat::Float16 ? tensor::DType::F16 : tensor::DType::F32;
            for (std::size_t i = 0; i < outputs.size(); ++i)
                report(lane,
                       operators->store_float(lane.stream(), lane.pass_name(),
                                              {std::span(input).subspan(i, 1), outputs[i],
                                               d.in.pixels() * d.in.channels, d.in.dtype, limit, not_finite, stored}));
        });
    written = data.out;
}

Result<Written> begin_output(const nn::Extent& shape, const ClipFrames& frames) {
    const auto count = static_cast<std::size_t>(shape.frames);
    if (frames.format == FrameFormat::Rgba8 && shape.channels != 3)
        return fail(ErrorCode::InvalidArgument, "write_frames: pictures have 3 channels, the last layer makes {}",
                    shape.channels);
    if (!frames.places.empty() && frames.places.size() != count)
        return fail(ErrorCode::InvalidArgument, "write_frames: the step makes {} frames, memory is given for {}", count,
                    frames.places.size());
    return Written{.frames = {frames.places.begin(), frames.places.end()}, .not_finite = frames.not_finite};
}

std::vector<graph::Buffer> end_output(const StepContext& step, const ClipFrames& frames, Written written) {
    if (written.not_finite) step.frame.export_contents(written.not_finite);
    if (!frames.places.empty())
        for (const graph::Buffer buffer : written.frames) step.frame.export_contents(buffer);
    return std::move(written.frames);
}

Result<void> write_trace(const StepContext& step, const Tensor& x, PictureRows rows, const nn::Extent& whole,
                         TraceRequest& trace) {
    if (!trace.memory) {
        trace.values = static_cast<std::size_t>(whole.elements());
        KG_TRY(trace.memory,
               step.parameters.device().allocate_pinned("trace " + trace.module, trace.values * sizeof(float)));
    }
    struct Data {
        Tensor in;
    };
    step.frame.add_pass<Data>(
        step.named("trace " + trace.module), Lane::Accelerator,
        [&](graph::PassBuilder& pass, Data& d) {
            d.in = read(pass, x);
            pass.has_side_effect();
        },
        [operators = &step.operators, to = reinterpret_cast<float*>(trace.memory->data()), rows](
            const Data& d, accel::PassContext& lane) {
            const auto input = read_only(addresses(lane, d.in));
            const std::int64_t row = d.in.width * d.in.channels;
            for (std::size_t i = 0; i < input.size(); ++i) {
                float* const frame = to + (static_cast<std::int64_t>(i) * rows.height + rows.first) * row;
                report(lane, operators->store_float(lane.stream(), lane.pass_name(),
                                                    {.input = std::span(input).subspan(i, 1),
                                                     .output = reinterpret_cast<std::byte*>(frame),
                                                     .elements = d.in.height * row,
                                                     .dtype = d.in.dtype}));
            }
        });
    return {};
}

}  // namespace kinetograph::vae
