#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/sub_pixel.hpp>
#include <kinetograph/kernels/spirv/vulkan13/conv_launches.hpp>
#include <kinetograph/kernels/spirv/vulkan13/cost.hpp>
#include <kinetograph/kernels/spirv/vulkan13/gates.hpp>
#include <kinetograph/kernels/spirv/vulkan13/pack.hpp>
#include <kinetograph/kernels/spirv/vulkan13/plan.hpp>
#include <kinetograph/kernels/spirv/vulkan13/shader.hpp>

namespace kinetograph::vulkan13 {
namespace {

using conv::Chip;
using conv::ConvPlan;
using conv::ConvProblem;
using conv::u32;

ConvPlan plan_tiles(const ConvProblem& problem, const Chip& chip) {
    const bool sub_pixel = conv::is_sub_pixel(problem);
    const std::int64_t pixels = sub_pixel ? problem.h * problem.w : problem.pixels_out();
    const std::int64_t group = std::max<std::int64_t>(problem.filter.k / problem.groups, 1);
    const Tile& tile =
        choose_tile(pixels * std::max<std::int64_t>(problem.frames_out(), 1) * (sub_pixel ? 4 : 1), group, chip);
    ConvPlan plan;
    plan.kernels = {pipeline(kConvTiles, problem.input.element, {tile.threads(), tile.bm, tile.bn, tile.tm, tile.tn})};
    plan.seconds = tiles_seconds(problem, tile, chip);
    plan.packing = tiles_packing(problem);
    return with_norm(
        problem, chip, std::move(plan), [problem, tile, pixels, group](const auto& tensors, const auto& parameters) {
            ConvParams params = shape_params(problem, parameters);
            params.n_tiles = u32(conv::ceil_div<std::int64_t>(group, tile.bn));
            const std::int64_t tiles = conv::ceil_div<std::int64_t>(pixels, tile.bm) * params.n_tiles * problem.groups;
            return conv_launches(problem, params, tensors, {u32(tiles), 1, tile.threads()});
        });
}

ConvPlan plan_slab(const ConvProblem& problem, const Chip& chip) {
    const SlabTile& tile = *choose_slab(problem, chip);
    const bool sub_pixel = conv::is_sub_pixel(problem);
    const auto filters = conv::round_up<std::int64_t>(problem.filter.k, tile.bn);
    const std::uint32_t rows = sub_pixel ? 2 : u32(problem.filter.r), columns = sub_pixel ? 2 : u32(problem.filter.s);
    const std::uint32_t threads = tile.subgroups() * subgroup_size(chip);
    ConvPlan plan;
    plan.kernels = {pipeline(kConvSlab, problem.input.element,
                             {threads, tile.bn, tile.bk, tile.subgroup_pixels, tile.subgroup_filters, tile.height,
                              tile.width, u32(problem.c_in), u32(filters), rows, columns})};
    plan.seconds = slab_seconds(problem, tile, chip);
    plan.packing = slab_packing(problem, filters);
    return with_norm(problem, chip, std::move(plan),
                     [problem, tile, filters, sub_pixel, threads](const auto& tensors, const auto& parameters) {
                         const std::int64_t height = sub_pixel ? problem.h : problem.h_out(),
                                            width = sub_pixel ? problem.w : problem.w_out();
                         const std::int64_t pixel_tiles = conv::ceil_div<std::int64_t>(height, tile.height) *
                                                          conv::ceil_div<std::int64_t>(width, tile.width);
                         return conv_launches(problem, shape_params(problem, parameters), tensors,
                                              {u32(filters / tile.bn), u32(pixel_tiles), threads});
                     });
}

}  // namespace

conv::KernelName pipeline(const Shader& shader, Element element, std::initializer_list<std::uint32_t> constants) {
    const std::string_view module = shader[static_cast<std::size_t>(element)];
    std::string name(module);
    for (const std::uint32_t constant : constants)
        name.append(name.size() == module.size() ? ":" : ",").append(std::to_string(constant));
    return {std::move(name), module};
}

std::span<const conv::ConvMethod> methods() {
    static const conv::ConvMethod kMethods[] = {
        {"slab-vulkan13", "implicit GEMM by cooperative matrices, pixels staged once for all taps of a frame",
         slab_gates(), plan_slab},
        {"tiles-vulkan13", "implicit GEMM in float32 products on any Vulkan 1.3 device, frames read in place",
         tiles_gates(), plan_tiles},
    };
    return kMethods;
}

std::span<const conv::ConvModel> models() { return {}; }

std::span<const conv::KnownDevice> devices() { return {}; }

}  // namespace kinetograph::vulkan13
