#include <algorithm>
#include <kinetograph/kernels/hip/gfx950/passes/frame_values_launch.hpp>

namespace kinetograph::gfx950 {
namespace {

/// `whole`: a lane takes `per_lane` elements; else the kernel that takes one.
LaunchShape shape(const char* pass, Element storage, int64_t frames, int64_t elements, bool whole, int64_t per_lane) {
    std::string kernel = std::string("kinetograph_") + pass + "_" + element_name(storage);
    if (!whole) kernel += "_any";
    const int64_t lanes = whole ? elements / per_lane : elements;
    return {"frame_values", std::move(kernel), workgroups(static_cast<uint64_t>(lanes)), static_cast<uint32_t>(frames)};
}

int64_t per_unit(Element storage) { return 16 / element_bytes(storage); }

}  // namespace

Refusal refusal(const UnpackLatentProblem& problem) {
    if (auto refused = refuse_frames("unpacking latents", problem.frames)) return refused;
    return refuse_bytes("unpacking latents", "a latent frame", problem.pixels * problem.channels * 4);
}
LaunchShape launch_shape(const UnpackLatentProblem& problem) {
    const int64_t unit = per_unit(problem.storage);
    return shape("unpack_latent", problem.storage, problem.frames, problem.pixels * problem.channels,
                 problem.channels % unit == 0, unit);
}
UnpackLatentParams make_params(const UnpackLatentProblem& problem, const FrameTable& frames, const float* map) {
    return {frames,
            map,
            static_cast<uint32_t>(problem.pixels),
            static_cast<uint32_t>(problem.channels),
            problem.soft_limit,
            problem.latent};
}

Refusal refusal(const JoinSumsProblem& problem) {
    if (auto refused = refuse_frames("joining sums", problem.frames)) return refused;
    if (problem.channels % 8 != 0)
        return "joining sums: " + std::to_string(problem.channels) + " channels, wanted a multiple of 8";
    return refuse_bytes("joining sums", "a frame of sums", problem.pixels * problem.channels * 4);
}
LaunchShape launch_shape(const JoinSumsProblem& problem) {
    return shape("join_sums", problem.storage, problem.frames, problem.pixels * problem.channels, true,
                 per_unit(problem.storage));
}
JoinSumsParams make_params(const JoinSumsProblem& problem, const FrameTable& frames, uint64_t part_bytes,
                           std::span<const std::byte* const> source, const float* bias, const float* scales) {
    JoinSumsParams params{.frames = frames,
                          .source = {},
                          .part_bytes = part_bytes,
                          .bias = bias,
                          .scales = scales,
                          .parts = problem.parts,
                          .elements = static_cast<uint32_t>(problem.pixels * problem.channels),
                          .channels = static_cast<uint32_t>(problem.channels),
                          .silu = problem.silu ? 1U : 0U,
                          .adds = problem.source ? 1U : 0U,
                          .relu = problem.relu ? 1U : 0U,
                          .beta = problem.beta,
                          .negative_slope = problem.negative_slope};
    std::copy_n(source.begin(), std::min<size_t>(source.size(), kMostFrames), std::begin(params.source));
    return params;
}

Refusal refusal(const StoreFloatProblem& problem) {
    if (auto refused = refuse_frames("storing frames of floats", problem.frames)) return refused;
    return refuse_bytes("storing frames of floats", "an output frame", problem.pixels * problem.channels * 4);
}
LaunchShape launch_shape(const StoreFloatProblem& problem) {
    const int64_t elements = problem.pixels * problem.channels;
    return shape("store_float", problem.storage, problem.frames, elements, elements % 4 == 0, 4);
}
StoreFloatParams make_params(const StoreFloatProblem& problem, const FrameTable& frames) {
    return {frames,
            static_cast<uint32_t>(problem.pixels),
            static_cast<uint32_t>(problem.channels),
            problem.limit,
            problem.not_finite,
            problem.output};
}

Refusal refusal(const StorePictureProblem& problem) {
    if (auto refused = refuse_frames("storing a picture", problem.frames)) return refused;
    return refuse_bytes("storing a picture", "a frame", problem.pixels * 12);
}
LaunchShape launch_shape(const StorePictureProblem& problem) {
    return shape("store_rgba8", problem.storage, problem.frames, problem.pixels, true, 1);
}
StorePictureParams make_params(const StorePictureProblem& problem, const FrameTable& frames) {
    return {frames, static_cast<uint32_t>(problem.pixels), problem.not_finite};
}

}  // namespace kinetograph::gfx950
