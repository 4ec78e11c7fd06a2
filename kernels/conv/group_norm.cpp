#include <algorithm>
#include <kinetograph/kernels/conv/group_norm.hpp>

namespace kinetograph::conv {
namespace {

constexpr std::int64_t kMostTiles = 512;     // of a frame: some for every compute unit of a large GPU
constexpr std::int64_t kLeastPixels = 64;    // of a tile
constexpr std::uint64_t kFactorsAlign = 64;  // floats

/// Without addresses.
GroupNormParams shape_of(const GroupNormProblem& p) {
    const std::int64_t tile = round_up(std::max(kLeastPixels, ceil_div(p.pixels, kMostTiles)), 2);
    GroupNormParams params{};
    params.pixels = u32(p.pixels);
    params.channels = u32(p.channels);
    params.groups = u32(p.groups);
    params.tile = u32(tile);
    params.tiles = u32(ceil_div(p.pixels, tile));
    params.epsilon = p.epsilon;
    params.silu = p.activation == Activation::Silu ? 1 : 0;
    return params;
}

std::uint64_t moments_of(const GroupNormParams& params) {
    return round_up(std::uint64_t{2} * params.tiles * params.channels, kFactorsAlign);
}

void append_frame(std::vector<ConvStep>& steps, const GroupNormParams& params, std::uint32_t shared_bytes) {
    const std::uint32_t slabs = ceil_div(params.channels, kGroupSlab);
    const auto append = [&](std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t bytes) {
        steps.emplace_back(ConvLaunch{.kernel = u32(std::ssize(steps) % 3),
                                      .grid = {x, y, z},
                                      .threads = kGroupThreads,
                                      .shared_bytes = bytes,
                                      .arguments = Arguments::of(params)});
    };
    append(params.tiles, slabs, 1, shared_bytes);
    append(params.groups, 1, 1, shared_bytes);
    append(params.tiles, slabs, kGroupParts, 0);
}

}  // namespace

OpPlan plan_group_norm(const GroupNormProblem& problem, std::vector<KernelName> kernels, std::uint32_t shared_bytes) {
    const GroupNormParams shape = shape_of(problem);
    return {.kernels = std::move(kernels),
            .workspace_bytes = (moments_of(shape) + 2 * shape.channels) * sizeof(float),
            .steps = [shape, shared_bytes](const OpTensors& tensors, const EncodeMap&) {
                std::vector<ConvStep> steps;
                GroupNormParams params = shape;
                params.moments = reinterpret_cast<float*>(tensors.workspace);
                params.factors = params.moments + moments_of(shape);
                params.parameters = tensors.parameters;
                for (std::size_t i = 0; i < tensors.input.size(); ++i) {
                    params.input = tensors.input[i];
                    params.output = tensors.output[i];
                    append_frame(steps, params, shared_bytes);
                }
                return steps;
            }};
}

}  // namespace kinetograph::conv
