#include <kinetograph/kernels/cuda/sm80/operators.hpp>

#include <algorithm>
#include <kinetograph/kernels/conv/group_norm.hpp>
#include <kinetograph/kernels/cuda/host/passes.hpp>
#include <kinetograph/kernels/cuda/sm80/frame_passes.hpp>
#include <kinetograph/kernels/cuda/sm80/group_norm.hpp>

namespace kinetograph::sm80 {
namespace {

using conv::ConvStep;
using conv::EncodeMap;
using conv::OpPlan;
using conv::OpTensors;
using conv::u32;

/// The plan of one kernel of frame_passes.cu, "sm80_<kernel>". `append(steps, tensors)` appends its launches.
template <class Append>
OpPlan plan_pass(const std::string& kernel, const Append& append) {
    return {.kernels = {{"sm80_" + kernel, "frame_passes"}},
            .steps = [append](const OpTensors& tensors, const EncodeMap&) {
                std::vector<ConvStep> steps;
                append(steps, tensors);
                return steps;
            }};
}

OpPlan plan_unpack_latent(const conv::UnpackLatentProblem& p, const conv::Chip&) {
    return plan_pass(std::string("unpack_latent_") + element_name(p.output.element),
                     [p](auto& steps, const OpTensors& t) {
                         cuda::append_pass(steps, 0,
                                           UnpackLatentParams{.frames = {},
                                                              .map = t.parameters,
                                                              .pixels = u32(p.pixels),
                                                              .channels = u32(p.channels),
                                                              .soft_limit = p.soft_limit,
                                                              .latent = p.input.element},
                                           t.input, t.output, [&](uint32_t frames) {
                                               return unpack_latent_launch(u32(p.pixels), u32(p.channels), frames);
                                           });
                     });
}

OpPlan plan_norm(const conv::NormProblem& p, const conv::Chip&) {
    return plan_pass(std::string("rms_norm_") + element_name(p.input.element),
                     [p](auto& steps, const OpTensors& t) { cuda::append_norm(steps, 0, p, t); });
}

OpPlan plan_group_norm(const conv::GroupNormProblem& p, const conv::Chip&) {
    const std::string type = element_name(p.input.element);
    std::vector<conv::KernelName> kernels;
    for (const std::string& kernel : {"moments_" + type, std::string("factors"), "norm_" + type})
        kernels.push_back({"sm80_group_" + kernel, "frame_passes"});
    return conv::plan_group_norm(p, std::move(kernels), sizeof(GroupSmem));
}

OpPlan plan_upsample(const conv::UpsampleProblem& p, const conv::Chip&) {
    const uint32_t pixel_bytes = u32(p.channels) * element_bytes(p.input.element),
                   unit = cuda::upsample_unit(pixel_bytes);
    const cuda::UpsampleParams params{
        .frames = {}, .row_units = u32(p.width) * (pixel_bytes / unit), .pixel_units = pixel_bytes / unit};
    return plan_pass(
        "upsample_" + std::to_string(unit), [params, height = u32(p.height)](auto& steps, const OpTensors& t) {
            cuda::append_pass(steps, 0, params, t.input, t.output,
                              [&](uint32_t frames) { return cuda::upsample_launch(params.row_units, height, frames); });
        });
}

OpPlan plan_depth_to_space(const conv::DepthToSpaceProblem& p, const conv::Chip&) {
    const uint32_t bytes = element_bytes(p.input.element);
    return plan_pass("depth_to_space_" + std::to_string(bytes), [p, bytes](auto& steps, const OpTensors& t) {
        cuda::append_pass(steps, 0,
                          DepthToSpaceParams{.frames = {},
                                             .width = u32(p.width),
                                             .channels_in = u32(p.channels_in),
                                             .channels_out = u32(p.channels_out),
                                             .order = p.order},
                          t.input, t.output, [&](uint32_t frames) {
                              return depth_to_space_launch(u32(p.width), u32(p.height), u32(p.channels_out), bytes,
                                                           frames);
                          });
    });
}

/// Whether the kernel takes them: aligned to its units, and no more frames than a launch names.
bool moves_whole_units(const OpTensors& t) {
    const auto aligned = [](const std::byte* frame) {
        return reinterpret_cast<std::uintptr_t>(frame) % kKeepUnit == 0;
    };
    return t.output.size() <= kMaxKept && std::ranges::all_of(t.output, aligned) &&
           std::ranges::all_of(t.input, aligned);
}

/// One kernel for all frames: a device-to-device copy of a CUDA graph costs its launch and the GPU more than one.
OpPlan plan_keep_frames(const conv::KeepFramesProblem& p, const conv::Chip&) {
    return plan_pass("keep_frames", [p](auto& steps, const OpTensors& t) {
        if (p.frame_bytes() % kKeepUnit != 0 || !moves_whole_units(t)) {
            steps = conv::copies_of_kept(p, t);
            return;
        }
        KeepFramesParams params{.input = {},
                                .output = {},
                                .frames = static_cast<uint32_t>(t.output.size()),
                                .units = static_cast<uint32_t>(p.frame_bytes() / kKeepUnit)};
        for (size_t i = 0; i < t.output.size(); ++i) {
            params.output[i] = t.output[i];
            params.input[i] = conv::source_of_kept(t, i);
        }
        cuda::append_launch(steps, 0, cuda::elements_launch(params.units, 1), params);
    });
}

OpPlan plan_store_float(const conv::StoreFloatProblem& p, const conv::Chip&) {
    return plan_pass(std::string("store_float_") + element_name(p.input.element), [p](auto& steps, const OpTensors& t) {
        cuda::append_pass(steps, 0,
                          StoreFloatParams{.frames = {},
                                           .elements = u32(p.elements),
                                           .limit = p.limit,
                                           .not_finite = t.not_finite,
                                           .output = p.output.element},
                          t.input, t.output,
                          [&](uint32_t frames) { return cuda::elements_launch(u32(p.elements), frames); });
    });
}

OpPlan plan_store_picture(const conv::StorePictureProblem& p, const conv::Chip&) {
    return plan_pass(
        std::string("store_picture_") + element_name(p.input.element), [p](auto& steps, const OpTensors& t) {
            cuda::append_pass(
                steps, 0, StorePictureParams{.frames = {}, .pixels = u32(p.pixels), .not_finite = t.not_finite},
                t.input, t.output, [&](uint32_t frames) { return cuda::elements_launch(u32(p.pixels), frames); });
        });
}

}  // namespace

std::span<const conv::OpMethod> operators() {
    static const conv::OpMethod kMethods[] = {
        attention_method(),
        conv::OpMethodOf<conv::UnpackLatentProblem>{"unpack-latent-sm80", runs_since_sm80, {}, plan_unpack_latent},
        conv::OpMethodOf<conv::NormProblem>{"norm-sm80", runs_since_sm80, {}, plan_norm},
        conv::OpMethodOf<conv::GroupNormProblem>{"group-norm-sm80", runs_since_sm80, {}, plan_group_norm},
        conv::OpMethodOf<conv::UpsampleProblem>{"upsample-sm80", runs_since_sm80, {}, plan_upsample},
        conv::OpMethodOf<conv::DepthToSpaceProblem>{"depth-to-space-sm80", runs_since_sm80, {}, plan_depth_to_space},
        conv::OpMethodOf<conv::KeepFramesProblem>{"keep-frames-sm80", runs_since_sm80, {}, plan_keep_frames},
        conv::OpMethodOf<conv::StoreFloatProblem>{"store-float-sm80", runs_since_sm80, {}, plan_store_float},
        conv::OpMethodOf<conv::StorePictureProblem>{"store-picture-sm80", runs_since_sm80, {}, plan_store_picture},
    };
    return kMethods;
}

}  // namespace kinetograph::sm80
