#include <algorithm>
#include <cmath>
#include <cstring>
#include <kinetograph/kernels/conv/cheapest.hpp>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_maps.hpp>
#include <kinetograph/kernels/cuda/sm90/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/volume_passes.hpp>
#include <kinetograph/kernels/cuda/sm90/volume_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_frames.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::ceil_div;
using conv::ConvLaunch;
using conv::ConvProblem;
using conv::round_up;
using conv::u32;
using conv::u64;

constexpr int64_t kTileCells = 192;                     // of its largest tile
constexpr int64_t kMatrixBytes = 2 * kVolumePositions;  // of a channel of a cell

int64_t cell_bytes(const ConvProblem& p) { return kMatrixBytes * (p.c_in + p.filter.k); }
uint64_t operand_bytes(const ConvProblem& p, int64_t stride) {
    return conv::workspace_part(u64(kMatrixBytes * stride * p.c_in));
}
uint64_t product_bytes(const ConvProblem& p, int64_t stride) {
    return conv::workspace_part(u64(kMatrixBytes * stride * p.filter.k));
}

/// The products of one position: rows are cells.
ConvProblem products_of(const ConvProblem& p, int64_t stride) {
    return product_problem(stride, p.c_in, p.filter.k, Element::F16, Element::F16);
}

// Fitted to an H200 like the constants of cost.cpp.
constexpr double kShown = 0.15;  // part of the shorter of products and epilogue that the longer does not hide
constexpr double kInputRate = 0.80, kOutputRate = 0.64;  // of the memory's
constexpr double kPassSeconds = 4e-6;                    // of a launch, before its first and after its last access

double products_seconds(const ConvConfig& c, const ConvProblem& p, int64_t stride, const conv::Chip& chip) {
    const ConvProblem one = products_of(p, stride);
    const int64_t tiles = kVolumePositions * conv_tiles(c, one);
    const double products = tile_clocks(c, one), epilogue = epilogue_clocks(c, one);
    const auto turns = static_cast<double>(ceil_div(tiles, std::max<int64_t>(chip.compute_units, 1)));
    const double filters = static_cast<double>(kMatrixBytes * p.c_in * p.filter.k);
    const double bytes = filters + static_cast<double>(stride * cell_bytes(p));
    return kPassSeconds +
           std::max(clock_seconds(turns * (std::max(products, epilogue) + kShown * std::min(products, epilogue)), chip),
                    cuda::traffic_seconds(bytes, chip));
}

/// The two passes of one pair of frames: operands and products once, frames of input and output once.
double passes_seconds(const ConvProblem& p, const VolumeDivision& division, const conv::Chip& chip) {
    const auto launches = 2 * static_cast<double>(ceil_div(division.cells, division.together));
    const auto frame = [](uint64_t bytes) { return static_cast<double>(bytes); };
    const auto matrices = [&](int64_t channels) {
        return static_cast<double>(kMatrixBytes * division.cells * channels);
    };
    const double stores = p.norm == conv::Norm::Beside ? 2 : 1, loads = p.residual ? 1 : 0;
    const double input = matrices(p.c_in) + 4 * frame(p.input_frame_bytes());
    const double output = matrices(p.filter.k) + 2 * (stores + loads) * frame(p.output_frame_bytes());
    return launches * kPassSeconds + cuda::traffic_seconds(input / kInputRate + output / kOutputRate, chip);
}

double volume_seconds(const ConvConfig& config, const ConvProblem& p, const VolumeDivision& division,
                      const conv::Chip& chip) {
    const auto launches = static_cast<double>(ceil_div(division.cells, division.together));
    const int64_t pairs = p.n * p.d_out() / 2;
    return static_cast<double>(pairs) *
           (passes_seconds(p, division, chip) + launches * products_seconds(config, p, division.stride, chip));
}

/// F(2,3)'s filters along one axis of a 4 x 4 x 4 block whose last of the three taps has index 2.
void transform_filter(float* g, size_t step) {
    const float g0 = g[0], g1 = g[step], g2 = g[2 * step];
    g[step] = (g0 + g1 + g2) / 2;
    g[2 * step] = (g0 - g1 + g2) / 2;
    g[3 * step] = g2;
}
void transform_filter(const float* taps, float (&g)[kVolumePositions]) {
    for (size_t q = 0; q < 3; ++q)
        for (size_t r = 0; r < 3; ++r)
            for (size_t s = 0; s < 3; ++s) g[16 * q + 4 * r + s] = taps[9 * q + 3 * r + s];
    for (size_t q = 0; q < 3; ++q)
        for (size_t r = 0; r < 3; ++r) transform_filter(g + 16 * q + 4 * r, 1);
    for (size_t q = 0; q < 3; ++q)
        for (size_t s = 0; s < 4; ++s) transform_filter(g + 16 * q + s, 4);
    for (size_t i = 0; i < 16; ++i) transform_filter(g + i, 16);
}

ConvLaunch input_launch(const ConvProblem& p, const VolumeCells& cells, const std::byte* const (&frames)[4],
                        std::byte* operands) {
    VolumeInputParams params{.input = {},
                             .operands = operands,
                             .cells = cells,
                             .h = u32(p.h),
                             .w = u32(p.w),
                             .c_in = u32(p.c_in),
                             .pad_top = static_cast<int32_t>(p.pad.top),
                             .pad_left = static_cast<int32_t>(p.pad.left)};
    std::copy(std::begin(frames), std::end(frames), params.input);
    return {.kernel = 0,
            .grid = {ceil_div(cells.count * params.c_in / kVolumeChannels, kVolumeThreads), 1, 1},
            .threads = kVolumeThreads,
            .arguments = conv::Arguments::of(params)};
}

/// {c, k, position} of the filters, {c, x, position and y} of the operands, {k, position % 2, x, position / 2, y} of
/// the products, which takes the axes of an upsampled frame's parities.
ConvLaunch product_launch(const ConvConfig& config, const ConvProblem& p, int64_t stride, const std::byte* operands,
                          std::byte* products, const std::byte* filter, uint32_t sms, const conv::EncodeMap& encode) {
    const ConvProblem one = products_of(p, stride);
    const TileShape tile = tile_shape(config);
    const uint64_t channels = u64(p.c_in), k = u64(p.filter.k), rows = u64(one.h);

    ConvParams params = shape_params(tile, one, {});
    params.frames = 1;
    params.parities = kVolumePositions;
    params.image_rows = u32(one.h);
    params.taps[0].count = 1;
    params.input[0] = encode(input_map(tile, operands, {channels, u64(kProductColumns), kVolumePositions * rows}));
    params.filter = encode(filter_map(tile, filter, {channels, k, 1, kVolumePositions}));
    isa::TensorMapDesc output = stored_map(tile, products, {k, 2, u64(kProductColumns), kVolumePositions / 2, rows});
    const uint64_t matrix = u64(stride) * k * 2;
    output.stride_bytes = {matrix, k * 2, 2 * matrix, u64(kProductColumns) * k * 2};
    params.output[0] = encode(output);
    ConvLaunch launch = launch_of(config, params, sms);
    launch.kernel = 1;
    return launch;
}

ConvLaunch output_launch(const ConvProblem& p, const VolumeCells& cells, const std::byte* products,
                         const conv::ConvTensors& tensors, int64_t first, const conv::ParameterAddresses& parameters) {
    VolumeOutputParams params{.products = products,
                              .output = {},
                              .residual = {},
                              .normed = {},
                              .bias = parameters.bias,
                              .gamma = parameters.gamma,
                              .scale = reinterpret_cast<const float*>(parameters.filter + volume_scale_offset(p)),
                              .cells = cells,
                              .h = u32(p.h_out()),
                              .w = u32(p.w_out()),
                              .k = u32(p.filter.k),
                              .flags = conv::epilogue_flags(p),
                              .beta = p.beta,
                              .negative_slope = p.negative_slope,
                              .sqrt_k = std::sqrt(static_cast<float>(p.filter.k))};
    for (size_t i = 0; i < 2; ++i) {
        const size_t frame = u64(first) + i;
        if (!tensors.output.empty()) params.output[i] = tensors.output[frame];
        if (!tensors.residual.empty()) params.residual[i] = tensors.residual[frame];
        if (!tensors.normed.empty()) params.normed[i] = tensors.normed[frame];
    }
    return {.kernel = 2,
            .grid = {ceil_div(cells.count, cells_together(params.k)), 1, 1},
            .threads = kVolumeThreads,
            .shared_bytes = sizeof(VolumeOutputSmem),
            .arguments = conv::Arguments::of(params)};
}

}  // namespace

VolumeDivision volume_division(const ConvProblem& p, int64_t most_bytes) {
    const int64_t columns = ceil_div(p.w_out(), 2), cells = columns * ceil_div(p.h_out(), 2);
    const int64_t most = std::max(most_bytes / cell_bytes(p) / kTileCells, int64_t{1}) * kTileCells;
    const int64_t parts = ceil_div(cells, most);
    const int64_t together = parts == 1 ? cells : std::min(round_up(ceil_div(cells, parts), kTileCells), most);
    return {columns, cells, together, round_up(together, kProductColumns)};
}

const NamedConvConfig& choose_volume_config(const ConvProblem& problem, const conv::Chip& chip) {
    const int64_t stride = volume_division(problem).stride;
    return *conv::cheapest(
        conv_configs(), [&](const NamedConvConfig& named) { return fits(named.config, products_of(problem, stride)); },
        [&](const NamedConvConfig& named) { return products_seconds(named.config, problem, stride, chip); });
}

uint64_t volume_scale_offset(const ConvProblem& p) { return u64(kMatrixBytes * p.c_in * p.filter.k); }

conv::PackedParameters pack_volume(const ConvProblem& p, const conv::ConvParameters& parameters) {
    const size_t filters = u64(p.filter.k * p.c_in);
    float most = 0;
    for (const float weight : parameters.filter) most = std::max(most, std::abs(weight));
    const float scale = most > 0 && std::isfinite(most) ? std::ldexp(1.0F, -std::ilogb(most)) : 1.0F;
    std::vector<std::byte> packed(volume_scale_offset(p) + sizeof(float));
    for (size_t filter = 0; filter < filters; ++filter) {
        float values[kVolumePositions];
        transform_filter(parameters.filter.data() + 27 * filter, values);
        for (size_t position = 0; position < kVolumePositions; ++position) {
            const auto bits = static_cast<uint16_t>(isa::float16_bits(values[position] * scale));
            std::memcpy(packed.data() + (position * filters + filter) * 2, &bits, 2);
        }
    }
    const float inverse = 1 / scale;
    std::memcpy(packed.data() + volume_scale_offset(p), &inverse, sizeof(inverse));
    return pack_with_filter(std::move(packed), parameters);
}

uint64_t volume_workspace_bytes(const ConvProblem& p, const VolumeDivision& division) {
    return operand_bytes(p, division.stride) + product_bytes(p, division.stride);
}

std::vector<ConvLaunch> volume_launches(const ConvConfig& config, const VolumeDivision& division,
                                        const ConvProblem& problem, const conv::ConvTensors& tensors,
                                        const conv::ParameterAddresses& parameters, uint32_t sms,
                                        const conv::EncodeMap& encode) {
    std::vector<ConvLaunch> launches;
    if (problem.empty()) return launches;
    std::byte* operands = tensors.workspace;
    std::byte* products = operands + operand_bytes(problem, division.stride);
    const ConvLaunch multiply =
        product_launch(config, problem, division.stride, operands, products, parameters.filter, sms, encode);
    for (const PairRun& run : pair_runs(problem)) {
        for (uint32_t pair = 0; pair < run.pairs; ++pair) {
            const std::byte* frames[4] = {};
            for (size_t i = 0; i < 4; ++i)
                if (run.pair[pair].input[i] != FramePair::kPadding)
                    frames[i] = tensors.input[u64(run.first_input) + run.pair[pair].input[i]];
            for (int64_t first = 0; first < division.cells; first += division.together) {
                const VolumeCells cells{.first = u32(first),
                                        .count = u32(std::min(division.together, division.cells - first)),
                                        .columns = u32(division.columns),
                                        .stride = u32(division.stride)};
                launches.push_back(input_launch(problem, cells, frames, operands));
                launches.push_back(multiply);
                launches.push_back(
                    output_launch(problem, cells, products, tensors, run.first_output + 2 * pair, parameters));
            }
        }
    }
    return launches;
}

conv::ConvPlan plan_volume(const ConvProblem& problem, const conv::Chip& chip) {
    const NamedConvConfig& tile = choose_volume_config(problem, chip);
    const VolumeDivision division = volume_division(problem);
    conv::ConvPlan plan;
    plan.kernels = {{"sm90_volume_input", "volume_passes"},
                    {std::string(tile.kernel), "wgmma_conv_f16"},
                    {"sm90_volume_output", "volume_passes"}};
    plan.workspace_bytes = volume_workspace_bytes(problem, division);
    plan.seconds = volume_seconds(tile.config, problem, division, chip);
    plan.packing = {"64KC of F(2,3) along time, rows and columns, f16",
                    [problem](const conv::ConvParameters& given) { return pack_volume(problem, given); }};
    plan.steps = [problem, division, config = tile.config, sms = chip.compute_units](
                     const conv::ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                     const conv::EncodeMap& encode) {
        std::vector<conv::ConvStep> steps;
        for (const ConvLaunch& launch : volume_launches(config, division, problem, tensors, parameters, sms, encode))
            steps.emplace_back(launch);
        return steps;
    };
    return plan;
}

}  // namespace kinetograph::sm90
