#include <kinetograph/kernels/conv/group_norm.hpp>
#include <kinetograph/kernels/spirv/vulkan13/gates.hpp>
#include <kinetograph/kernels/spirv/vulkan13/passes.hpp>
#include <kinetograph/kernels/spirv/vulkan13/plan.hpp>

namespace kinetograph::vulkan13 {
namespace {

using conv::ConvStep;
using conv::EncodeMap;
using conv::OpPlan;
using conv::OpTensors;
using conv::u32;

/// The plan of one shader, whose launches `append(steps, tensors)` appends.
template <class Append>
OpPlan plan_pass(conv::KernelName kernel, const Append& append) {
    return {.kernels = {std::move(kernel)}, .steps = [append](const OpTensors& tensors, const EncodeMap&) {
                std::vector<ConvStep> steps;
                append(steps, tensors);
                return steps;
            }};
}

OpPlan plan_unpack_latent(const conv::UnpackLatentProblem& p, const conv::Chip&) {
    return plan_pass(pipeline(kUnpackLatent, p.output.element, {kPassThreads}), [p](auto& steps, const OpTensors& t) {
        append_pass(steps, 0,
                    UnpackLatentParams{.frames = {},
                                       .map = address(t.parameters),
                                       .pixels = u32(p.pixels),
                                       .channels = u32(p.channels),
                                       .soft_limit = p.soft_limit,
                                       .latent = static_cast<std::uint32_t>(p.input.element)},
                    t, p.pixels);
    });
}

OpPlan plan_norm(const conv::NormProblem& p, const conv::Chip&) {
    return plan_pass(norm_pipeline(p.input.element, p.channels),
                     [p](auto& steps, const OpTensors& t) { append_norm(steps, 0, p, t); });
}

OpPlan plan_group_norm(const conv::GroupNormProblem& p, const conv::Chip&) {
    std::vector<conv::KernelName> kernels;
    for (const std::uint32_t part : {0U, 1U, 2U})
        kernels.push_back(pipeline(kGroupNorm, p.input.element, {conv::kGroupThreads, part}));
    return conv::plan_group_norm(p, std::move(kernels));
}

OpPlan plan_upsample(const conv::UpsampleProblem& p, const conv::Chip&) {
    return plan_pass(pipeline(kUpsample, p.input.element, {kPassThreads}), [p](auto& steps, const OpTensors& t) {
        const std::int64_t elements = p.height * p.width * p.channels;
        append_pass(steps, 0,
                    UpsampleParams{.frames = {},
                                   .row_elements = u32(p.width * p.channels),
                                   .channels = u32(p.channels),
                                   .elements = u32(elements)},
                    t, elements);
    });
}

OpPlan plan_depth_to_space(const conv::DepthToSpaceProblem& p, const conv::Chip&) {
    return plan_pass(pipeline(kDepthToSpace, p.input.element, {kPassThreads}), [p](auto& steps, const OpTensors& t) {
        const std::int64_t elements = 4 * p.height * p.width * p.channels_out;
        append_pass(steps, 0,
                    DepthToSpaceParams{.frames = {},
                                       .width = u32(p.width),
                                       .channels_in = u32(p.channels_in),
                                       .channels_out = u32(p.channels_out),
                                       .columns_first = p.order == conv::PixelOrder::ColumnsFirst,
                                       .elements = u32(elements)},
                    t, elements);
    });
}

OpPlan plan_keep_frames(const conv::KeepFramesProblem& p, const conv::Chip&) {
    return {.steps = [p](const OpTensors& tensors, const EncodeMap&) { return conv::copies_of_kept(p, tensors); }};
}

OpPlan plan_store_float(const conv::StoreFloatProblem& p, const conv::Chip&) {
    return plan_pass(pipeline(kStoreFloat, p.input.element, {kPassThreads}), [p](auto& steps, const OpTensors& t) {
        append_pass(steps, 0,
                    StoreFloatParams{.frames = {},
                                     .not_finite = address(t.not_finite),
                                     .elements = u32(p.elements),
                                     .limit = p.limit,
                                     .half = p.output.element == Element::F16},
                    t, p.elements);
    });
}

OpPlan plan_store_picture(const conv::StorePictureProblem& p, const conv::Chip&) {
    return plan_pass(pipeline(kStorePicture, p.input.element, {kPassThreads}), [p](auto& steps, const OpTensors& t) {
        append_pass(steps, 0,
                    StorePictureParams{.frames = {}, .not_finite = address(t.not_finite), .pixels = u32(p.pixels)}, t,
                    p.pixels);
    });
}

}  // namespace

namespace {

/// Threads that share a pixel in rms_norm.comp, each with eight channels of 16 bits that it reads once, or with every
/// so many-th.
struct NormLanes {
    std::uint32_t count = 16;
    bool whole = false;
    NormLanes(Element element, std::int64_t channels) {
        if (element == Element::F32 || channels % 8 != 0 || channels / 8 > kPassThreads) return;
        whole = true;
        while (count < channels / 8) count *= 2;
    }
};

}  // namespace

conv::KernelName norm_pipeline(Element element, std::int64_t channels) {
    const NormLanes lanes(element, channels);
    return pipeline(kRmsNorm, element, {kPassThreads, lanes.count, lanes.whole ? 1U : 0U});
}

void append_norm(std::vector<ConvStep>& steps, std::uint32_t kernel, const conv::NormProblem& problem,
                 const OpTensors& tensors) {
    append_pass(steps, kernel,
                RmsNormParams{.frames = {},
                              .sums = {},
                              .gamma = address(tensors.parameters),
                              .pixels = u32(problem.pixels),
                              .channels = u32(problem.channels),
                              .silu = problem.activation == conv::Activation::Silu,
                              .adds = problem.adds},
                tensors, problem.pixels * NormLanes(problem.input.element, problem.channels).count);
}

std::span<const conv::OpMethod> operators() {
    static const conv::OpMethod kMethods[] = {
        attention_by_matrices(),
        attention_by_tiles(),
        conv::OpMethodOf<conv::UnpackLatentProblem>{"unpack-latent-vulkan13", runs_on_vulkan, {}, plan_unpack_latent},
        conv::OpMethodOf<conv::NormProblem>{"norm-vulkan13", runs_on_vulkan, {}, plan_norm},
        conv::OpMethodOf<conv::GroupNormProblem>{"group-norm-vulkan13", runs_on_vulkan, {}, plan_group_norm},
        conv::OpMethodOf<conv::UpsampleProblem>{"upsample-vulkan13", runs_on_vulkan, {}, plan_upsample},
        conv::OpMethodOf<conv::DepthToSpaceProblem>{"depth-to-space-vulkan13", runs_on_vulkan, {}, plan_depth_to_space},
        conv::OpMethodOf<conv::KeepFramesProblem>{"keep-frames-vulkan13", runs_on_vulkan, {}, plan_keep_frames},
        conv::OpMethodOf<conv::StoreFloatProblem>{"store-float-vulkan13", runs_on_vulkan, {}, plan_store_float},
        conv::OpMethodOf<conv::StorePictureProblem>{"store-picture-vulkan13", runs_on_vulkan, {}, plan_store_picture},
    };
    return kMethods;
}

}  // namespace kinetograph::vulkan13
