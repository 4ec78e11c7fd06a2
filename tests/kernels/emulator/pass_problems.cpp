/// Writes problems of the decoder's passes other than convolutions into the folder on the command line: every kernel,
/// every storage, aligned and odd sizes. References are loops in fp64 over the stored inputs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <kinetograph/kernels/hip/gfx950/pack.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/attention_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_moves_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_values_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/rms_norm_launch.hpp>
#include <kinetograph/tests/kernels/stored_values.hpp>
#include <random>

#include "frames.hpp"

namespace kinetograph::emulator {
namespace {

Element element_of(Element storage) {
    return storage == Element::F32 ? Element::F32 : storage == Element::BF16 ? Element::BF16 : Element::F16;
}

template <class Params>
void add(ProblemWriter& writer, const std::string& name, const gfx950::LaunchShape& shape, const Params& params,
         std::vector<ProblemBuffer> buffers, Expectation expectation, std::vector<Expectation> expectations = {}) {
    expectations.push_back(std::move(expectation));
    writer.add({.name = name,
                .kernel = shape.kernel,
                .grid = {shape.grid_x, shape.grid_y, shape.grid_z},
                .parameters = std::as_bytes(std::span(&params, 1)),
                .buffers = std::move(buffers),
                .expectations = std::move(expectations)});
}

/// ||found - exact|| / ||exact|| of values rounded once to the storage, plus a margin for float32 arithmetic.
double rounding(Element storage) { return storage == Element::F32 ? 1e-6 : storage == Element::BF16 ? 2.5e-3 : 3.2e-4; }

using test::silu;

/// Of two frames, or with `adds` of one whose input is first added to a frame of sums.
void add_rms_norm(ProblemWriter& writer, Element storage, size_t channels, bool with_silu, size_t pixels = 37,
                  const std::string& name = "", bool adds = false) {
    const size_t frames = adds ? 1 : 2;
    Frames input(element_of(storage), frames, pixels * channels),
        output(element_of(storage), frames, pixels * channels);
    Frames sum(element_of(storage), 1, pixels * channels), gamma(Element::F32, 1, channels);
    input.fill_normal(1);
    gamma.fill_normal(2);
    sum.fill_normal(3);
    Frames normed(element_of(storage), frames, pixels * channels);
    for (size_t frame = 0; frame < frames; ++frame)
        for (size_t e = 0; e < pixels * channels; ++e)
            normed.set(frame, e, static_cast<float>(input.get(frame, e) + (adds ? sum.get(frame, e) : 0)));
    const gfx950::RmsNormProblem problem{static_cast<int64_t>(frames), static_cast<int64_t>(pixels),
                                         static_cast<int64_t>(channels), storage, with_silu};
    auto reference = output.reference([&](size_t frame, size_t e) {
        double square = 0;
        const size_t first = e / channels * channels;
        for (size_t c = 0; c < channels; ++c) square += normed.get(frame, first + c) * normed.get(frame, first + c);
        const double value =
            normed.get(frame, e) * std::sqrt(static_cast<double>(channels) / square) * gamma.get(0, e % channels);
        return with_silu ? silu(value) : value;
    });
    std::vector<Expectation> sums;
    if (adds)
        sums.push_back({"sum", sum.element(), 0, sum.reference([&](size_t, size_t e) { return normed.get(0, e); }), 0});
    add(writer,
        fmt::format("RMS norm of {} channels{}{}{}", channels, adds ? " added to a sum" : "", with_silu ? ", SiLU" : "",
                    name),
        launch_shape(problem),
        make_params(problem, gfx950::frame_table(input.inputs(), output.outputs()),
                    reinterpret_cast<const float*>(gamma.inputs()[0]), adds ? sum.outputs()[0] : nullptr),
        {{"input", input.bytes()}, {"output", output.bytes()}, {"gamma", gamma.bytes()}, {"sum", sum.bytes()}},
        {"output", output.element(), rounding(storage), std::move(reference), rounding(storage)}, std::move(sums));
}

/// Three launches; each problem begins with the results of the host model's previous launch.
void add_attention(ProblemWriter& writer, Element storage, size_t tokens, size_t channels, uint32_t compute_units,
                   const std::string& note = "") {
    const gfx950::AttentionProblem problem{static_cast<int64_t>(tokens), static_cast<int64_t>(channels), storage,
                                           compute_units};
    const gfx950::AttentionPlan plan = gfx950::plan(problem);
    Frames qkv(element_of(storage), 1, tokens * 3 * channels), output(element_of(storage), 1, tokens * channels);
    Frames workspace(Element::F32, 1, plan.workspace_bytes / 4);
    qkv.fill_normal(3);
    const auto params = make_params(problem, qkv.inputs()[0], output.outputs()[0], workspace.outputs()[0]);
    const std::vector<ProblemBuffer> buffers{
        {"qkv", qkv.bytes()}, {"output", output.bytes()}, {"workspace", workspace.bytes()}};

    std::vector<double> result(tokens * channels), weights(tokens);
    for (size_t query = 0; query < tokens; ++query) {
        double largest = -1e300, sum = 0;
        for (size_t key = 0; key < tokens; ++key) {
            double score = 0;
            for (size_t c = 0; c < channels; ++c)
                score += qkv.get(0, query * 3 * channels + c) * qkv.get(0, (key * 3 + 1) * channels + c);
            weights[key] = score / std::sqrt(static_cast<double>(channels));
            largest = std::max(largest, weights[key]);
        }
        for (double& weight : weights) sum += weight = std::exp(weight - largest);
        for (size_t key = 0; key < tokens; ++key)
            for (size_t c = 0; c < channels; ++c)
                result[query * channels + c] += weights[key] / sum * qkv.get(0, (key * 3 + 2) * channels + c);
    }
    auto reference = output.reference([&](size_t, size_t e) { return result[e]; });
    // The weights are rounded to 16 bits before the product with the values.
    const double allowed = storage == Element::F32 ? 2e-6 : 2 * rounding(storage);

    const std::string name = fmt::format("attention of {} tokens, {} channels{}", tokens, channels, note);
    add(writer, name + ": values", plan.values, params.values, buffers, {"workspace", Element::U32, 0, {}, 0});
    if (plan.join) {
        add(writer, fmt::format("{}: {} splits", name, plan.splits), plan.attend, params.attend, buffers,
            {"workspace", Element::F32, 2e-3, {}, 0});
        add(writer, name + ": joined", *plan.join, params.join, buffers,
            {"output", output.element(), allowed, std::move(reference), allowed});
    } else {
        add(writer, name, plan.attend, params.attend, buffers,
            {"output", output.element(), allowed, std::move(reference), allowed});
    }
}

void add_upsample(ProblemWriter& writer, Element storage, size_t channels) {
    const size_t height = 3, width = 5;
    Frames input(element_of(storage), 2, height * width * channels),
        output(element_of(storage), 2, 4 * height * width * channels);
    input.fill_normal(4);
    const gfx950::UpsampleProblem problem{2, static_cast<int64_t>(height), static_cast<int64_t>(width),
                                          static_cast<int64_t>(channels), storage};
    auto reference = output.reference([&](size_t frame, size_t e) {
        const size_t x = e / channels % (2 * width), y = e / channels / (2 * width);
        return input.get(frame, (y / 2 * width + x / 2) * channels + e % channels);
    });
    add(writer, fmt::format("upsampling of {} channels", channels), launch_shape(problem),
        make_params(problem, gfx950::frame_table(input.inputs(), output.outputs())),
        {{"input", input.bytes()}, {"output", output.bytes()}},
        {"output", output.element(), 0, std::move(reference), 0});
}

/// Of `channels` channels to 3, each of which goes to 12 / `channels` places.
void add_depth_to_space(ProblemWriter& writer, Element storage, size_t channels, conv::PixelOrder order) {
    const size_t height = 3, width = 5, made = 3;
    Frames input(element_of(storage), 2, height * width * channels),
        output(element_of(storage), 2, 4 * height * width * made);
    input.fill_normal(14);
    const gfx950::DepthToSpaceProblem problem{.frames = 2,
                                              .height = static_cast<int64_t>(height),
                                              .width = static_cast<int64_t>(width),
                                              .channels_in = static_cast<int64_t>(channels),
                                              .channels_out = static_cast<int64_t>(made),
                                              .order = order,
                                              .storage = storage};
    auto reference = output.reference([&](size_t frame, size_t e) {
        const size_t c = e % made, x = e / made % (2 * width), y = e / made / (2 * width);
        const size_t place = order == conv::PixelOrder::RowsFirst ? y % 2 * 2 + x % 2 : x % 2 * 2 + y % 2;
        return input.get(frame, (y / 2 * width + x / 2) * channels + (4 * c + place) * channels / (4 * made));
    });
    add(writer, fmt::format("{} channels to blocks of pixels", channels), launch_shape(problem),
        make_params(problem, gfx950::frame_table(input.inputs(), output.outputs())),
        {{"input", input.bytes()}, {"output", output.bytes()}},
        {"output", output.element(), 0, std::move(reference), 0});
}

/// 3x3x3 taps, causal in time, stride 2 and dilation 2 in width, columns beyond the last tap.
void add_im2col(ProblemWriter& writer, Element storage, size_t channels) {
    gfx950::Im2colProblem problem;
    problem.frames = {.size = 2, .taps = 3, .pad_before = 2};
    problem.height = {.size = 4, .taps = 3, .pad_before = 1, .pad_after = 1};
    problem.width = {.size = 9, .taps = 3, .stride = 2, .dilation = 2, .pad_before = 2, .pad_after = 2};
    problem.channels = static_cast<int64_t>(channels);
    problem.storage = storage;
    problem.columns = (problem.taps() + 63) / 64 * 64;
    problem.pixels = problem.height.output() * problem.width.output();
    const auto columns = static_cast<size_t>(problem.columns), pixels = static_cast<size_t>(problem.pixels);
    const auto output_width = static_cast<size_t>(problem.width.output());
    Frames input(storage, 2, 4 * 9 * channels), matrix(storage, 1, 2 * pixels * columns);
    input.fill_normal(6);
    auto reference = matrix.reference([&](size_t, size_t e) {
        const size_t column = e % columns, pixel = e / columns % pixels, frame = e / columns / pixels;
        if (column >= 27 * channels) return 0.0;
        const size_t c = column % channels, tap = column / channels;
        const auto d = static_cast<int64_t>(frame + tap / 9) - 2;
        const auto y = static_cast<int64_t>(pixel / output_width + tap / 3 % 3) - 1;
        const auto x = static_cast<int64_t>(pixel % output_width * 2 + tap % 3 * 2) - 2;
        if (d < 0 || y < 0 || y >= 4 || x < 0 || x >= 9) return 0.0;
        return input.get(static_cast<size_t>(d), static_cast<size_t>(y * 9 + x) * channels + c);
    });
    add(writer, fmt::format("im2col of {} channels", channels), launch_shape(problem),
        make_params(problem, input.inputs(), matrix.outputs()[0]),
        {{"input", input.bytes()}, {"matrix", matrix.bytes()}},
        {"matrix", matrix.element(), 0, std::move(reference), 0});
}

/// 3x3 taps of 20 channels, folded for a doubled image or as they are; the reference is the host's packing.
void add_filter_pack(ProblemWriter& writer, Element element, Element stored, bool folded) {
    conv::ConvProblem problem;
    problem.h = problem.w = 8;
    problem.c_in = 20;
    problem.filter = {3, 1, 3, 3};
    problem.pad = {0, 0, 1, 1, 1, 1};
    problem.upsample = folded;
    problem.input = problem.weight = element;
    const auto kernel = std::ranges::find_if(gfx950::kConvKernels, [&](const gfx950::ConvKernel& one) {
        return one.element == element &&
               one.path == (element == Element::F8E4M3 ? gfx950::ConvPath::Pieces : gfx950::ConvPath::Padded);
    });
    const gfx950::FilterPackProblem pass{problem, *kernel, stored};
    Frames given(stored, 1, static_cast<size_t>(problem.filter_elements()));
    if (element == Element::F8E4M3) {
        given.fill_whole(11, 400);  // the emulator flushes its denormals
    } else {
        given.fill_normal(11);
    }
    std::vector<float> values;
    for (int64_t i = 0; i < problem.filter_elements(); ++i)
        values.push_back(static_cast<float>(given.get(0, static_cast<size_t>(i))));
    const std::vector<std::byte> want = gfx950::pack_filter(problem, *kernel, values);
    Frames packed(element, 1, want.size() / element_bytes(element));
    auto reference = packed.reference([&](size_t, size_t e) { return test::load_value(element, want.data(), e); });
    add(writer,
        fmt::format("filter of {} to {}{}", element_name(stored), element_name(element), folded ? ", folded" : ""),
        launch_shape(pass), make_params(pass, given.inputs()[0], packed.outputs()[0]),
        {{"given", given.bytes()}, {"packed", packed.bytes()}},
        {"packed", packed.element(), 0, std::move(reference), 0});
}

void add_unpack_latent(ProblemWriter& writer, Element storage, size_t pixels, size_t channels,
                       Element latent_element = Element::F32) {
    Frames latent(latent_element, 2, pixels * channels), output(element_of(storage), 2, pixels * channels);
    Frames map(Element::F32, 1, (channels + 1) * channels);
    latent.fill_normal(7);
    map.fill_normal(8);
    const gfx950::UnpackLatentProblem problem{.frames = 2,
                                              .pixels = static_cast<int64_t>(pixels),
                                              .channels = static_cast<int64_t>(channels),
                                              .storage = storage,
                                              .latent = latent_element};
    auto reference = output.reference([&](size_t frame, size_t e) {
        const size_t c = e % channels;
        double sum = map.get(0, channels * channels + c);
        for (size_t i = 0; i < channels; ++i)
            sum += latent.get(frame, i * pixels + e / channels) * map.get(0, i * channels + c);
        return sum;
    });
    add(writer, fmt::format("latents of {} channels, {} pixels, {}", channels, pixels, element_name(latent_element)),
        launch_shape(problem),
        make_params(problem, gfx950::frame_table(latent.inputs(), output.outputs()),
                    reinterpret_cast<const float*>(map.inputs()[0])),
        {{"latent", latent.bytes()}, {"output", output.bytes()}, {"map", map.bytes()}},
        {"output", output.element(), rounding(storage), std::move(reference), rounding(storage)});
}

/// What a join of parts has besides sums and bias.
struct JoinForm {
    size_t frames = 1, pixels = 1, channels = 8;
    uint32_t parts = 2;
    bool silu = false, relu = false, source = true, scales = true;
};

void add_join(ProblemWriter& writer, Element storage, const std::string& name, const JoinForm& form) {
    const size_t elements = form.pixels * form.channels, channels = form.channels;
    const float slope = form.relu ? 0.2f : 0.0f;
    Frames sums(Element::F32, form.parts * form.frames, elements), source(element_of(storage), form.frames, elements),
        output(element_of(storage), form.frames, elements);
    Frames bias(Element::F32, 1, channels), scales(Element::F32, 1, channels);
    sums.fill_normal(20), source.fill_normal(21), bias.fill_normal(22), scales.fill_normal(23);
    const gfx950::JoinSumsProblem problem{.frames = static_cast<int64_t>(form.frames),
                                          .pixels = static_cast<int64_t>(form.pixels),
                                          .channels = static_cast<int64_t>(channels),
                                          .storage = storage,
                                          .parts = form.parts,
                                          .silu = form.silu,
                                          .source = form.source,
                                          .beta = 0.5f,
                                          .relu = form.relu,
                                          .negative_slope = slope};
    auto reference = output.reference([&](size_t frame, size_t e) {
        double value = 0;
        for (size_t part = 0; part < form.parts; ++part) value += sums.get(part * form.frames + frame, e);
        if (form.scales) value *= scales.get(0, e % channels);
        value += bias.get(0, e % channels);
        if (form.silu) value = silu(value);
        if (form.source) value += 0.5 * source.get(frame, e);
        return form.relu && value < 0 ? value * static_cast<double>(slope) : value;
    });
    const std::vector<const std::byte*> first(sums.inputs().begin(),
                                              sums.inputs().begin() + static_cast<std::ptrdiff_t>(form.frames));
    const auto part_bytes = static_cast<uint64_t>(sums.inputs()[form.frames] - sums.inputs()[0]);
    add(writer, fmt::format("{} parts of sums of {} channels{}", form.parts, channels, name), launch_shape(problem),
        make_params(problem, gfx950::frame_table(first, output.outputs()), part_bytes,
                    form.source ? std::span(source.inputs()) : std::span<const std::byte* const>(),
                    reinterpret_cast<const float*>(bias.inputs()[0]),
                    form.scales ? reinterpret_cast<const float*>(scales.inputs()[0]) : nullptr),
        {{"sums", sums.bytes()},
         {"output", output.bytes()},
         {"source", source.bytes()},
         {"bias", bias.bytes()},
         {"scales", scales.bytes()}},
        {"output", output.element(), rounding(storage), std::move(reference), rounding(storage)});
}

JoinForm drawn_join(std::mt19937& random) {
    return {.frames = 1 + random() % 2,
            .pixels = 1 + random() % 60,
            .channels = 8 * (1 + random() % 12),
            .parts = 2 + static_cast<uint32_t>(random() % 7),
            .silu = random() % 2 == 0,
            .relu = random() % 2 == 0,
            .source = random() % 2 == 0,
            .scales = random() % 2 == 0};
}

void add_store_float(ProblemWriter& writer, Element storage, size_t pixels, size_t channels,
                     Element stored = Element::F32) {
    Frames input(element_of(storage), 2, pixels * channels), output(stored, 2, pixels * channels);
    input.fill_normal(12);
    const gfx950::StoreFloatProblem problem{.frames = 2,
                                            .pixels = static_cast<int64_t>(pixels),
                                            .channels = static_cast<int64_t>(channels),
                                            .storage = storage,
                                            .limit = 1.0f,
                                            .output = stored};
    auto reference =
        output.reference([&](size_t frame, size_t e) { return std::clamp(input.get(frame, e), -1.0, 1.0); });
    const double rounded = stored == Element::F32 ? 0 : rounding(stored);
    add(writer, fmt::format("frames of {} channels as {}", channels, element_name(stored)), launch_shape(problem),
        make_params(problem, gfx950::frame_table(input.inputs(), output.outputs())),
        {{"input", input.bytes()}, {"output", output.bytes()}},
        {"output", stored, rounded, std::move(reference), rounded});
}

void add_picture(ProblemWriter& writer, Element storage) {
    const size_t pixels = 101;
    Frames input(element_of(storage), 2, pixels * 3), output(Element::F32, 2, pixels);
    input.fill_normal(13);
    const gfx950::StorePictureProblem problem{2, static_cast<int64_t>(pixels), storage};
    add(writer, "pictures of bytes", launch_shape(problem),
        make_params(problem, gfx950::frame_table(input.inputs(), output.outputs())),
        {{"input", input.bytes()}, {"output", output.bytes()}},
        {"output", Element::U32, 0, {}, rounding(Element::F16)});
}

int write_problems(const char* path) {
    ProblemWriter writer(path);
    for (const Element storage : {Element::BF16, Element::F16, Element::F32}) {
        add_rms_norm(writer, storage, 96, true);
        add_rms_norm(writer, storage, 50, false);
        add_attention(writer, storage, 75, 64, 1);
        add_attention(writer, storage, 130, 104, 256);
        add_attention(writer, storage, 40, 200, 1);
        add_attention(writer, storage, 40, 384, 1);
        add_attention(writer, storage, 70, 1000, 256);
        add_depth_to_space(writer, storage, 12, conv::PixelOrder::RowsFirst);
        add_depth_to_space(writer, storage, 6, conv::PixelOrder::ColumnsFirst);
        add_upsample(writer, storage, 24);
        add_unpack_latent(writer, storage, 64, 16);
        add_unpack_latent(writer, storage, 45, 16);
        add_unpack_latent(writer, storage, 45, 5);
        add_unpack_latent(writer, storage, 45, 16, Element::BF16);
        add_unpack_latent(writer, storage, 45, 5, Element::F16);
        add_join(writer, storage, "", {.pixels = 7, .channels = 40, .parts = 3});
        add_join(writer, storage, "", {.pixels = 33, .channels = 96, .parts = 2, .silu = true});
        add_store_float(writer, storage, 64, 4);
        add_store_float(writer, storage, 35, 3);
        add_store_float(writer, storage, 64, 4, Element::F16);
        add_store_float(writer, storage, 35, 3, Element::F16);
        add_picture(writer, storage);
    }
    std::mt19937 random(20261126);
    for (int count = 0; count < 7; ++count) {
        for (const Element storage : {Element::BF16, Element::F16, Element::F32}) {
            add_join(writer, storage, ", drawn at random", drawn_join(random));
            // Whole units of 16 bytes in every second problem, else any width.
            const size_t channels = count % 2 == 0 ? 8 * (1 + random() % 128) : 1 + random() % 600;
            const bool with_silu = random() % 2 == 0;
            const size_t pixels = 1 + random() % 50;
            add_rms_norm(writer, storage, channels, with_silu, pixels, ", drawn at random", count % 3 == 2);
        }
    }
    std::mt19937 of_slices(1126);  // heads that the attention takes in slices
    for (int count = 0; count < 2; ++count) {
        for (const Element storage : {Element::BF16, Element::F16, Element::F32}) {
            const size_t tokens = 1 + of_slices() % 60, channels = 8 * (49 + of_slices() % 80);
            add_attention(writer, storage, tokens, channels, count == 0 ? 1 : 256, ", drawn at random");
        }
    }
    add_rms_norm(writer, Element::BF16, 384, true, 37, "", true);
    add_upsample(writer, Element::BF16, 6);
    add_upsample(writer, Element::BF16, 3);
    add_im2col(writer, Element::BF16, 16);
    add_im2col(writer, Element::F32, 3);
    add_im2col(writer, Element::F16, 3);
    add_im2col(writer, Element::F8E4M3, 3);
    add_filter_pack(writer, Element::BF16, Element::F32, true);
    add_filter_pack(writer, Element::BF16, Element::BF16, false);
    add_filter_pack(writer, Element::F16, Element::F32, false);
    add_filter_pack(writer, Element::F16, Element::F16, true);
    add_filter_pack(writer, Element::F8E4M3, Element::F32, false);
    return writer.finish();
}

}  // namespace
}  // namespace kinetograph::emulator

int main(int argc, char** argv) {
    if (argc == 2) return kinetograph::emulator::write_problems(argv[1]);
    fmt::print(stderr, "usage: {} FOLDER\n", argv[0]);
    return 2;
}
