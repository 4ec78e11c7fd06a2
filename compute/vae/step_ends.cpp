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

Result<Tensor> unpack_latents(const StepContext& step, graph::Buffer latents, const nn::Extent& shape, bool anew) {
    const Tensor out = tensor_of(shape, step.network.dtype);
    KG_CHECK(check_latents(step.frame, latents,
                           static_cast<std::uint64_t>(out.frames * out.pixels() * out.channels) * sizeof(float)));
    KG_TRY(const auto* scale, step.parameters.constant("latents.scale", step.network.scale));
    KG_TRY(const auto* shift, step.parameters.constant("latents.shift", step.network.shift));
    struct Data {
        graph::Buffer in;
        Tensor out;
    };
    const Data& data = step.frame.add_pass<Data>(
        "unpack_latents", Lane::Accelerator,
        [&](graph::PassBuilder& pass, Data& d) {
            d.in = pass.read(latents, Access::KernelRead);
            d.out = create(pass, "unpack_latents", out);
            if (anew) pass.run_anew();
        },
        [operators = &step.operators, scale, shift](const Data& d, accel::PassContext& lane) {
            const auto* source = reinterpret_cast<const float*>(lane.address(d.in));
            for (std::byte* frame : addresses(lane, d.out)) {
                report(lane, operators->unpack_latent(
                                 lane.stream(), lane.pass_name(),
                                 {source, frame, d.out.pixels(), d.out.channels, scale, shift, d.out.dtype}));
                source += d.out.pixels() * d.out.channels;
            }
        });
    return data.out;
}

Result<std::vector<graph::Buffer>> write_frames(const StepContext& step, const Tensor& x, const ClipFrames& frames) {
    const bool given = !frames.places.empty();
    const auto count = static_cast<std::size_t>(x.frames);
    if (frames.format == FrameFormat::Rgba8 && x.channels != 3)
        return fail(ErrorCode::InvalidArgument, "write_frames: pictures have 3 channels, the last layer makes {}",
                    x.channels);
    if (given && frames.places.size() != count)
        return fail(ErrorCode::InvalidArgument, "write_frames: the step makes {} frames, memory is given for {}", count,
                    frames.places.size());
    const graph::BufferDesc desc{static_cast<std::uint64_t>(x.pixels()) * bytes_per_pixel(frames.format), 256,
                                 frames.domain};
    struct Data {
        Tensor in;
        std::vector<graph::Buffer> out;
        graph::Buffer flag;
    };
    const Data& data = step.frame.add_pass<Data>(
        "write_frames", Lane::Accelerator,
        [&](graph::PassBuilder& pass, Data& d) {
            d.in = read(pass, x);
            for (std::size_t i = 0; i < count; ++i)
                d.out.push_back(given ? pass.write(frames.places[i], Access::KernelWrite)
                                      : pass.create(fmt::format("frame {}", i), desc, Access::KernelWrite));
            if (frames.not_finite) d.flag = pass.write(frames.not_finite, Access::KernelWrite);
            pass.run_anew();
        },
        [format = frames.format, limit = limit_of(step.network), operators = &step.operators](
            const Data& d, accel::PassContext& lane) {
            const auto input = read_only(addresses(lane, d.in));
            std::vector<std::byte*> outputs;
            outputs.reserve(d.out.size());
            for (const graph::Buffer buffer : d.out) outputs.push_back(lane.address(buffer));
            auto* not_finite = d.flag ? reinterpret_cast<std::uint32_t*>(lane.address(d.flag)) : nullptr;
            if (format == FrameFormat::Rgba8)
                return report(lane, operators->store_picture(lane.stream(), lane.pass_name(),
                                                             {input, outputs, d.in.pixels(), d.in.dtype, not_finite}));
            for (std::size_t i = 0; i < outputs.size(); ++i)
                report(lane, operators->store_f32(lane.stream(), lane.pass_name(),
                                                  {std::span(input).subspan(i, 1), reinterpret_cast<float*>(outputs[i]),
                                                   d.in.pixels() * d.in.channels, d.in.dtype, limit, not_finite}));
        });
    if (data.flag) step.frame.export_contents(data.flag);
    if (given)
        for (const graph::Buffer buffer : data.out) step.frame.export_contents(buffer);
    return data.out;
}

void write_values(const StepContext& step, const Tensor& x, const ClipValues& values) {
    const graph::Buffer output =
        step.frame.import_buffer("frames", {values.output.bytes, 64, graph::MemoryDomain::Accelerator}, values.output);
    struct Data {
        Tensor in;
        graph::Buffer out;
    };
    const Data& data = step.frame.add_pass<Data>(
        "write_frames", Lane::Accelerator,
        [&](graph::PassBuilder& pass, Data& d) {
            d.in = read(pass, x);
            d.out = pass.write(output, Access::KernelWrite);
        },
        [limit = limit_of(step.network), not_finite = values.not_finite, operators = &step.operators](
            const Data& d, accel::PassContext& lane) {
            const auto input = read_only(addresses(lane, d.in));
            report(lane, operators->store_f32(lane.stream(), lane.pass_name(),
                                              {input, reinterpret_cast<float*>(lane.address(d.out)),
                                               d.in.pixels() * d.in.channels, d.in.dtype, limit, not_finite}));
        });
    step.frame.export_contents(data.out);
}

Result<void> write_trace(const StepContext& step, const Tensor& x, TraceRequest& trace) {
    trace.values = static_cast<std::size_t>(x.frames * x.pixels() * x.channels);
    KG_TRY(trace.memory,
           step.parameters.device().allocate_pinned("trace " + trace.module, trace.values * sizeof(float)));
    struct Data {
        Tensor in;
    };
    step.frame.add_pass<Data>(
        "trace " + trace.module, Lane::Accelerator,
        [&](graph::PassBuilder& pass, Data& d) {
            d.in = read(pass, x);
            pass.has_side_effect();
        },
        [operators = &step.operators, output = reinterpret_cast<float*>(trace.memory->data())](
            const Data& d, accel::PassContext& lane) {
            const auto input = read_only(addresses(lane, d.in));
            report(lane, operators->store_f32(lane.stream(), lane.pass_name(),
                                              {input, output, d.in.pixels() * d.in.channels, d.in.dtype}));
        });
    return {};
}

}  // namespace kinetograph::vae
