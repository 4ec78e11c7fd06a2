#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/upload.hpp>
#include <kinetograph/tests/compute/nn/enqueue.hpp>
#include <kinetograph/tests/compute/nn/operators_agreement.hpp>
#include <kinetograph/tests/golden/golden.hpp>

#include <bit>
#include <limits>
#include <random>

namespace kinetograph::nn {
namespace {

using conv::Activation;
using conv::PixelOrder;
using tensor::DType;

constexpr std::initializer_list<DType> kAll{DType::F32, DType::BF16, DType::F16};

/// Frames on a device, one after another, given and taken as float32.
struct Frames {
    std::unique_ptr<accel::Memory> memory;
    std::int64_t count, elements;
    DType dtype;

    Frames(accel::Device& device, std::int64_t frames, std::int64_t of_elements, DType type,
           const std::vector<float>& values)
        : count(frames), elements(of_elements), dtype(type) {
        std::vector<std::byte> bytes(values.size() * tensor::bytes_per_element(dtype));
        for (std::size_t i = 0; i < values.size(); ++i)
            conv::store_element(bytes.data(), static_cast<std::int64_t>(i), dtype, values[i]);
        memory = accel::upload(device, "frames", bytes).value();
    }
    std::uint64_t frame_bytes() const {
        return static_cast<std::uint64_t>(elements) * tensor::bytes_per_element(dtype);
    }
    std::vector<std::byte*> writable() const {
        std::vector<std::byte*> frames;
        for (std::int64_t i = 0; i < count; ++i) frames.push_back(memory->data() + i * frame_bytes());
        return frames;
    }
    std::vector<const std::byte*> readable() const {
        const auto frames = writable();
        return {frames.begin(), frames.end()};
    }
    std::vector<float> values(accel::Stream& stream) const {
        std::vector<std::byte> bytes(static_cast<std::uint64_t>(count) * frame_bytes());
        EXPECT_TRUE(stream.read_back(bytes, memory->data()));
        const tensor::TensorView view{dtype, {count, elements}, bytes.data(), bytes.size()};
        return tensor::to_f32(view, "frames").value();
    }
};

std::vector<float> random_values(std::size_t count, float scale) {
    std::mt19937_64 random(count);
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> values(count);
    for (float& value : values) value = tensor::from_bf16(tensor::to_bf16(normal(random)));
    return values;
}

/// One device with its operators.
struct Side {
    accel::Device& device;
    std::unique_ptr<Operators> operators;
    std::unique_ptr<accel::Stream> stream;
    Result<void> enqueue(const conv::OpProblem& problem, const conv::OpTensors& tensors) const {
        return nn::enqueue(*operators, *stream, "pass", problem, tensors);
    }
    explicit Side(accel::Device& of)
        : device(of), operators(Operators::create(of).value()), stream(of.create_stream("test").value()) {}
};

/// run(side, dtype) on both devices. fp16 has roundings of its own: 11 bits instead of 8.
template <class Run>
void expect_same(accel::Device& device, const Run& run, std::initializer_list<DType> dtypes, double bf16_limit) {
    const auto cpu = accel::cpu::create_device();
    Side host(*cpu), gpu(device);
    for (const DType dtype : dtypes) {
        const bool half = dtype == DType::F16;
        const std::vector<float> wanted = run(host, half ? DType::F32 : dtype), got = run(gpu, dtype);
        const double limit = dtype == DType::F32 ? 1e-6 : half ? 5e-4 : bf16_limit;
        EXPECT_LE(golden::difference(got, wanted).relative_l2, limit) << tensor::to_string(dtype);
    }
}

}  // namespace

void expect_norms(accel::Device& device) {
    for (const std::int64_t channels : {3, 32, 96, 100, 384}) {
        for (const Activation activation : {Activation::None, Activation::Silu}) {
            const bool adds = activation == Activation::Silu;
            const auto run = [&](Side& side, DType dtype) {
                constexpr std::int64_t kPixels = 37;
                const std::int64_t frames = channels == 3 ? 35 : 2;  // 35: more than a launch takes
                const Frames input(side.device, frames, kPixels * channels, dtype,
                                   random_values(frames * kPixels * channels, 3));
                const Frames output(side.device, frames, kPixels * channels, dtype,
                                    std::vector<float>(frames * kPixels * channels, -77));
                const Frames sum(side.device, frames, kPixels * channels, dtype,
                                 random_values(frames * kPixels * channels, 2));
                const Frames gamma(side.device, 1, channels, DType::F32, random_values(channels, 1));
                const auto inputs = input.readable();
                const auto outputs = output.writable(), sums = adds ? sum.writable() : std::vector<std::byte*>{};
                EXPECT_TRUE(side.enqueue(conv::NormProblem{kPixels, channels, dtype, dtype, activation, adds},
                                         {.input = inputs,
                                          .output = outputs,
                                          .sum = sums,
                                          .parameters = reinterpret_cast<const float*>(gamma.memory->data())}));
                auto values = output.values(*side.stream);
                std::ranges::copy(sum.values(*side.stream), std::back_inserter(values));
                return values;
            };
            expect_same(device, run, kAll, 5e-4);  // now and then the other neighbour
        }
    }
}

/// Of pixels that are one tile, several and more than a tile has; of channels that a thread takes whole and not; of
/// small values and of a mean that is large beside them.
void expect_group_norms(accel::Device& device) {
    struct Case {
        std::int64_t pixels, channels, groups;
    };
    for (const auto [pixels, channels, groups] :
         {Case{37, 8, 8}, {150, 32, 32}, {150, 136, 4}, {700, 12, 3}, {1, 64, 2}, {40'000, 4, 2}}) {
        for (const float mean : {0.0F, 3.0F, 1000.0F}) {
            const bool silu = mean == 3;
            const auto run = [&, count = pixels, width = channels, parts = groups](Side& side, DType dtype) {
                std::vector<float> values = random_values(2 * count * width, mean > 100 ? 8 : 1);
                for (float& value : values) value = tensor::from_bf16(tensor::to_bf16(value + mean));
                const Frames input(side.device, 2, count * width, dtype, values);
                const Frames output(side.device, 2, count * width, dtype, std::vector<float>(values.size(), -77));
                const Frames parameters(side.device, 1, 2 * width, DType::F32, random_values(2 * width, 1));
                const auto norm = side.operators
                                      ->get(conv::GroupNormProblem{count, width, parts, 1e-5F, dtype, dtype,
                                                                   silu ? Activation::Silu : Activation::None})
                                      .value();
                const auto workspace = side.device.allocate("workspace", norm->workspace_bytes() + 1).value();
                const auto inputs = input.readable();
                const auto outputs = output.writable();
                EXPECT_TRUE(norm->enqueue(*side.stream, "norm",
                                          {.input = inputs,
                                           .output = outputs,
                                           .workspace = workspace->data(),
                                           .parameters = reinterpret_cast<const float*>(parameters.memory->data())}));
                return output.values(*side.stream);
            };
            SCOPED_TRACE(fmt::format("{} pixels, {} channels in {} groups, mean {}", pixels, channels, groups, mean));
            if (mean > 100)
                expect_same(device, run, {DType::BF16, DType::F16}, 5e-4);
            else
                expect_same(device, run, kAll, 5e-4);
        }
    }
}

void expect_upsampling(accel::Device& device) {
    for (const std::int64_t channels : {5, 8, 96}) {
        const auto run = [&](Side& side, DType dtype) {
            const Frames input(side.device, 2, 6 * channels, dtype, random_values(12 * channels, 1));
            const Frames output(side.device, 2, 24 * channels, dtype, std::vector<float>(48 * channels, -77));
            const auto inputs = input.readable();
            const auto outputs = output.writable();
            EXPECT_TRUE(side.enqueue(conv::UpsampleProblem{2, 3, channels, dtype, dtype},
                                     {.input = inputs, .output = outputs}));
            return output.values(*side.stream);
        };
        expect_same(device, run, kAll, 0);
    }
}

void expect_depth_to_space(accel::Device& device) {
    struct Case {
        std::int64_t channels_in, channels_out;
        PixelOrder order;
    };
    for (const auto [channels_in, channels_out, order] : {Case{12, 3, PixelOrder::ColumnsFirst},
                                                          {12, 3, PixelOrder::RowsFirst},
                                                          {32, 16, PixelOrder::RowsFirst},
                                                          {10, 5, PixelOrder::RowsFirst},
                                                          {8, 8, PixelOrder::RowsFirst}}) {
        const auto run = [&, in = channels_in, out = channels_out, by = order](Side& side, DType dtype) {
            const Frames input(side.device, 2, 15 * in, dtype, random_values(30 * in, 1));
            const Frames output(side.device, 2, 60 * out, dtype, std::vector<float>(120 * out, -77));
            const auto inputs = input.readable();
            const auto outputs = output.writable();
            EXPECT_TRUE(side.enqueue(conv::DepthToSpaceProblem{3, 5, in, out, by, dtype, dtype},
                                     {.input = inputs, .output = outputs}));
            return output.values(*side.stream);
        };
        expect_same(device, run, kAll, 0);
    }
}

/// Latents of `latent_dtype`, with a soft limit and a map or without.
void expect_ends(accel::Device& device, DType latent_dtype, float soft_limit, std::int64_t channels, bool mapped) {
    const auto run = [&](Side& side, DType dtype) {
        const std::int64_t kChannels = channels, kPixels = 35;
        const Frames latent(side.device, 1, kChannels * kPixels, latent_dtype, random_values(kChannels * kPixels, 1));
        const Frames map(side.device, 1, (kChannels + 1) * kChannels, DType::F32,
                         random_values((kChannels + 1) * kChannels, 0.5F));
        const Frames frame(side.device, 1, kChannels * kPixels, dtype, std::vector<float>(kChannels * kPixels, -77));
        const Frames stored(side.device, 1, kChannels * kPixels, DType::F32,
                            std::vector<float>(kChannels * kPixels, -77));
        const auto* const maps = mapped ? reinterpret_cast<const float*>(map.memory->data()) : nullptr;
        EXPECT_TRUE(side.enqueue(conv::UnpackLatentProblem{kPixels, kChannels, latent_dtype, dtype, soft_limit},
                                 {.input = latent.readable(), .output = frame.writable(), .parameters = maps}));
        EXPECT_TRUE(side.enqueue(conv::StoreFloatProblem{kChannels * kPixels, dtype, DType::F32, 1.5F},
                                 {.input = frame.readable(), .output = stored.writable()}));
        return stored.values(*side.stream);
    };
    expect_same(device, run, kAll, 5e-4);
}

/// Frames of a multiple of four elements and of another number.
void expect_halves(accel::Device& device) {
    for (const std::int64_t elements : {std::int64_t{48}, std::int64_t{105}}) {
        const auto run = [&](Side& side, DType dtype) {
            const Frames input(side.device, 2, elements, dtype, random_values(2 * elements, 1));
            const Frames stored(side.device, 2, elements, DType::F16, std::vector<float>(2 * elements, -77));
            const auto inputs = input.readable();
            EXPECT_TRUE(side.enqueue(conv::StoreFloatProblem{elements, dtype, DType::F16, 1.5F},
                                     {.input = inputs, .output = stored.writable()}));
            return stored.values(*side.stream);
        };
        expect_same(device, run, kAll, 0);
    }
}

void expect_both_ends(accel::Device& device) {
    for (const DType latent_dtype : kAll)
        for (const float soft_limit : {0.0F, 1.2F})
            for (const std::int64_t channels : {16, 5}) expect_ends(device, latent_dtype, soft_limit, channels, true);
    expect_ends(device, DType::F32, 0, 16, false);
    expect_halves(device);
}

void expect_pictures(accel::Device& device) {
    const auto run = [&](Side& side, DType dtype) {
        constexpr std::int64_t kPixels = 77;
        const Frames input(side.device, 2, 3 * kPixels, dtype, random_values(6 * kPixels, 1));
        const Frames pictures(side.device, 2, kPixels, DType::F32, std::vector<float>(2 * kPixels, -77));
        const auto inputs = input.readable();
        const auto outputs = pictures.writable();
        const Frames flag(side.device, 1, 1, DType::F32, {0.0F});
        auto* not_finite = reinterpret_cast<std::uint32_t*>(flag.memory->data());
        EXPECT_TRUE(side.enqueue(conv::StorePictureProblem{kPixels, dtype},
                                 {.input = inputs, .output = outputs, .not_finite = not_finite}));
        EXPECT_EQ(flag.values(*side.stream)[0], 0.0F) << "all are finite";
        const Frames bad(side.device, 1, 3, dtype, {0.0F, std::numeric_limits<float>::infinity(), 0.0F});
        const Frames picture(side.device, 1, 1, DType::F32, {0.0F});
        EXPECT_TRUE(side.enqueue(conv::StorePictureProblem{1, dtype},
                                 {.input = bad.readable(), .output = picture.writable(), .not_finite = not_finite}));
        EXPECT_EQ(std::bit_cast<std::uint32_t>(flag.values(*side.stream)[0]), 1U);
        std::vector<float> bytes;
        for (const float pixel : pictures.values(*side.stream))
            for (int shift = 0; shift < 32; shift += 8)
                bytes.push_back(static_cast<float>(std::bit_cast<std::uint32_t>(pixel) >> shift & 0xffU));
        return bytes;
    };
    expect_same(device, run, {DType::F32, DType::BF16}, 0);
}

/// A queue of kept frames in one allocation, and the frames of three steps: more and fewer than are kept, of sizes that
/// are whole units of a GPU's kernel and that are not.
void expect_kept_frames(accel::Device& device) {
    for (const std::int64_t elements : {64, 67}) {
        for (const std::int64_t history : {1, 2, 3, 6}) {
            const auto run = [&, count = elements, kept = history](Side& side, DType dtype) {
                const Frames queue(side.device, kept, count, dtype, random_values(kept * count, 1));
                for (const std::int64_t fresh : {std::int64_t{1}, kept, (kept + 1) / 2}) {
                    const Frames made(side.device, fresh, count, dtype, random_values(fresh * count, 2));
                    const auto from = made.readable();
                    const auto to = queue.writable();
                    EXPECT_TRUE(
                        side.enqueue(conv::KeepFramesProblem{count, dtype, dtype}, {.input = from, .output = to}));
                    EXPECT_TRUE(side.stream->synchronize());
                }
                return queue.values(*side.stream);
            };
            expect_same(device, run, kAll, 0);
        }
    }
}

void expect_attention(accel::Device& device) {
    for (const auto& [tokens, channels] :
         {std::pair<std::int64_t, std::int64_t>{83, 32}, {83, 128}, {83, 384}, {88, 512}, {83, 1024}, {88, 1024}}) {
        for (const bool adds : {false, true}) {
            const auto run = [&, count = tokens, width = channels](Side& side, DType dtype) {
                const auto attention =
                    side.operators->get(conv::AttentionProblem{count, width, dtype, dtype, adds, Activation::Silu})
                        .value();
                const Frames qkv(side.device, 2, count * 3 * width, dtype, random_values(2 * count * 3 * width, 1));
                const Frames output(side.device, 2, count * width, dtype, random_values(2 * count * width, 1));
                const Frames normed(side.device, 2, count * width, dtype, std::vector<float>(2 * count * width, -77));
                const Frames gamma(side.device, 1, width, DType::F32, random_values(width, 1));
                const auto workspace = side.device.allocate("workspace", attention->workspace_bytes() + 1).value();
                const auto inputs = qkv.readable();
                const auto outputs = output.writable(), norms = normed.writable();
                EXPECT_TRUE(attention->enqueue(*side.stream, "attention",
                                               {.input = inputs,
                                                .output = adds ? norms : outputs,
                                                .workspace = workspace->data(),
                                                .sum = adds ? outputs : std::vector<std::byte*>{},
                                                .parameters = reinterpret_cast<const float*>(gamma.memory->data())}));
                auto values = output.values(*side.stream);
                if (adds) std::ranges::copy(normed.values(*side.stream), std::back_inserter(values));
                return values;
            };
            expect_same(device, run, {DType::BF16, DType::F16},
                        6e-3);  // weights are rounded to bf16 before the second product on both sides
        }
    }
}

void expect_mistakes(accel::Device& device) {
    const Side side(device);
    const auto refused = [&](const conv::OpProblem& problem) {
        const auto found = side.operators->get(problem);
        return found ? Error{} : found.error();
    };
    const auto enqueued = [&](const conv::OpProblem& problem, const conv::OpTensors& tensors) {
        const auto done = side.enqueue(problem, tensors);
        return done ? std::string() : done.error().message;
    };
    std::byte* const place[] = {nullptr};
    const std::byte* const frames[] = {nullptr, nullptr};
    const auto one = std::span(frames).first(1);

    EXPECT_EQ(refused(conv::StoreFloatProblem{4, DType::I8}).message,
              "storing frames of floats wants F32, BF16 or F16, met I8");
    EXPECT_EQ(refused(conv::StoreFloatProblem{4, DType::F32, DType::BF16}).message,
              "storing frames of floats wants frames stored as F32 or F16, met BF16");
    EXPECT_EQ(refused(conv::NormProblem{4, 8, DType::BF16, {DType::BF16, 0.5F}}).message,
              "RMS norm wants an output stored as the input, met BF16 of scale 0.500000");
    EXPECT_EQ(refused(conv::AttentionProblem{0, 384}).code, ErrorCode::InvalidArgument);

    EXPECT_EQ(enqueued(conv::NormProblem{4, 8}, {.input = one, .output = place}),
              "pass \"pass\": RMS norm without gamma");
    EXPECT_EQ(enqueued(conv::NormProblem{4, 8}, {.input = frames, .output = place}),
              "pass \"pass\": RMS norm of 2 input and 1 output frames");
    EXPECT_EQ(refused(conv::GroupNormProblem{4, 8, 3}).message,
              "group norm wants channels that are a multiple of the groups, met 8 and 3");
    EXPECT_EQ(enqueued(conv::GroupNormProblem{4, 8, 2}, {.input = one, .output = place}),
              "pass \"pass\": group norm without weights");
    const float gamma = 1;
    EXPECT_EQ(enqueued(conv::NormProblem{4, 8, DType::BF16, DType::BF16, Activation::None, true},
                       {.input = one, .output = place, .parameters = &gamma}),
              "pass \"pass\": RMS norm of 1 frames added to 0");
    EXPECT_EQ(enqueued(conv::AttentionProblem{16, 384, DType::BF16, DType::BF16, true},
                       {.input = one, .output = place, .sum = place}),
              "pass \"pass\": attention without gamma");
    EXPECT_EQ(enqueued(conv::KeepFramesProblem{8}, {.input = frames, .output = place}),
              "pass \"pass\": 2 fresh frames, of which 1 are kept");
}

}  // namespace kinetograph::nn
