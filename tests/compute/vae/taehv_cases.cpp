#include <kinetograph/compute/families/taehv.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>
#include <kinetograph/tests/compute/vae/taehv_cases.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

std::unique_ptr<Decoder> decoder_of(accel::Device& device, const std::string& checkpoint, LatentSize size,
                                    Precision precision, std::int64_t max_frames,
                                    LatentScale scale = LatentScale::Raw) {
    const auto model = Model::create(device, Checkpoint::open(checkpoint).value(),
                                     {.precision = precision, .latents = scale, .clamp = false});
    auto created = Decoder::create(model.value(), size, {.latent_frames = max_frames});
    EXPECT_TRUE(created) << created.error().message;
    return created ? std::move(*created) : nullptr;
}

/// From the decoder's [-1, 1] to the reference's [0, 1].
std::vector<float> from_zero_to_one(std::span<const float> frames) {
    std::vector<float> result;
    for (const float value : frames) result.push_back(value * 0.5F + 0.5F);
    return result;
}

std::vector<float> decoded(Decoder& decoder, std::span<const float> latents, std::int64_t count) {
    const auto step = decoder.step(latents, count);
    EXPECT_TRUE(step) << step.error().message;
    return step ? step->thwc() : std::vector<float>{};
}

}  // namespace

void expect_taew21_decodes(accel::Device& device, Precision precision, std::int64_t steps, golden::Limit limit) {
    const golden::File file("taew21.safetensors");
    const auto latents = file.tensor("latents"), frames = file.tensor("raw.fp32");
    const auto decoder =
        decoder_of(device, "synthetic:taew2.1", {latents.shape[2], latents.shape[3]}, precision, steps);
    ASSERT_NE(decoder, nullptr);
    std::vector<float> all;
    for (std::int64_t t = 0; t < steps; ++t) {
        const auto step = decoder->step(golden::tchw(latents, t, 1));
        ASSERT_TRUE(step) << step.error().message;
        EXPECT_EQ(step->frames.count, t == 0 ? 1 : 4);
        const auto wanted = golden::thwc(frames, step->frames.first, step->frames.count);
        EXPECT_TRUE(golden::within(from_zero_to_one(step->thwc()), wanted, limit)) << "step " << t;
        step->append_to(all);
    }
    ASSERT_TRUE(decoder->reset());
    EXPECT_EQ(decoded(*decoder, golden::tchw(latents, 0, steps), steps), all) << "in one step";
}

void expect_taew21_modules(accel::Device& device, Precision precision, std::int64_t steps, golden::Limit limit) {
    const golden::File file("taew21_trace.safetensors");
    const auto latents = file.tensor("latents");
    const auto decoder = decoder_of(device, "synthetic:taew2.1", {latents.shape[2], latents.shape[3]}, precision, 1);
    ASSERT_NE(decoder, nullptr);
    for (const int index : {0, 2, 3, 5, 8, 11, 17, 22}) {
        const std::string module = fmt::format("decoder.{}", index);
        const auto all = file.tensor(module);
        const std::int64_t frames_a_step = all.shape[1] / latents.shape[1];
        ASSERT_TRUE(decoder->reset());
        for (std::int64_t step = 0; step < steps; ++step) {
            const auto traced = decoder->trace(golden::tchw(latents, step, 1), module);
            ASSERT_TRUE(traced) << traced.error().message;
            // Of a clip's first step the decoder leaves out frames that are never shown.
            const std::int64_t count = std::ssize(*traced) / (all.shape[0] * all.shape[2] * all.shape[3]);
            const auto wanted = golden::thwc(all, (step + 1) * frames_a_step - count, count);
            const float largest = std::abs(*std::ranges::max_element(wanted, {}, [](float v) { return std::abs(v); }));
            const auto found = index == 22 ? from_zero_to_one(*traced) : *traced;
            EXPECT_TRUE(golden::within(found, wanted, {limit.relative_l2, limit.max_abs * std::max(1.0F, largest)}))
                << module << " in step " << step;
        }
    }
}

void expect_taehv_units(const UnitLane& lane) {
    const golden::File file("taew21_units.safetensors");
    const golden::Limit limit = limit_of(lane);
    const auto expect_unit = [&](const std::string& key, const nn::Network& network,
                                 const std::vector<std::int64_t>& cut) {
        const auto input = file.tensor(key + ".input"), output = file.tensor(key + ".output");
        const auto model = Model::create(lane.device, key, {.network = network, .dtype = lane.dtype},
                                         [&file](const std::string& name) { return file.tensor(name).values; });
        ASSERT_TRUE(model) << model.error().message;
        const auto unit =
            Decoder::create(*model, {input.shape[2], input.shape[3]}, {.latent_frames = *std::ranges::max_element(cut)})
                .value();
        const std::int64_t growth = output.shape[1] / input.shape[1];
        std::int64_t next = 0;
        for (const std::int64_t count : cut) {
            const auto found = decoded(*unit, golden::tchw(input, next, count), count);
            EXPECT_TRUE(golden::within(found, golden::thwc(output, growth * next, growth * count), limit))
                << key << " from frame " << next;
            next += count;
        }
    };
    nn::Network memory(32);
    families::taehv::memory_block(memory, nn::Network::input(), "mem", 32);
    for (const std::vector<std::int64_t>& cut : {std::vector<std::int64_t>{1, 1, 1, 1}, {1, 3}, {4}})
        expect_unit("mem", memory, cut);

    nn::Network grow(16);
    const nn::primitive::Conv conv{
        .key = "grow.conv", .c_in = 16, .filter = {32, 1, 1, 1}, .weight_rank = 4, .bias = false};
    grow.append(grow.append(nn::Network::input(), conv), nn::primitive::TimeShuffle{2});
    expect_unit("grow", grow, {1, 2});

    nn::Network limited(16);
    limited.append(nn::Network::input(), nn::primitive::SoftLimit{3});
    expect_unit("clamp", limited, {1});
}

void expect_taehv_members(accel::Device& device, Precision precision, golden::Limit limit) {
    struct Member {
        const char* name;
        std::int64_t height, width;
        bool of_its_own = false;  ///< a network that no other member has: of leaky activations, for pictures in [-1, 1]
    };
    const golden::File file("taehv_small.safetensors");
    const test::TemporaryFolder folder;
    for (const Member& member : {Member{"taew2.2", 2, 3}, Member{"taehv1.5", 3, 2}, Member{"taehv", 3, 2},
                                 Member{"lighttaew2.1", 2, 3}, Member{"lighttaehy1.5", 2, 3, true}}) {
        const families::Family& family = *families::find(member.name);
        // The network of another member: once is enough, on the CPU.
        if (!family.relative_of.empty() && !member.of_its_own && device.info().kind != "cpu") continue;
        auto checkpoint = test::CheckpointFile::synthetic(8, tensor::DType::F32, member.name);
        checkpoint.metadata["latents_mean"] = fmt::format("[{}]", fmt::join(family.statistics.mean, ","));
        checkpoint.metadata["latents_std"] = fmt::format("[{}]", fmt::join(family.statistics.std, ","));
        const std::string path = (folder.path() / (family.name + ".safetensors")).string();
        checkpoint.write(path);
        ASSERT_EQ(Checkpoint::open(path).value().family().name, family.name);

        const golden::Tensor frames = file.tensor(member.name);
        const tensor::Shape shape{family.published.z_dim, 2, member.height, member.width};
        const golden::Tensor latents{shape, synthetic_tensor("latents", shape).value()};
        const auto decoder =
            decoder_of(device, path, {member.height, member.width}, precision, 1, LatentScale::Normalized);
        ASSERT_NE(decoder, nullptr);
        for (std::int64_t t = 0; t < 2; ++t) {
            const auto step = decoder->step(golden::tchw(latents, t, 1));
            ASSERT_TRUE(step) << step.error().message;
            const auto wanted = golden::thwc(frames, step->frames.first, step->frames.count);
            const auto found = member.of_its_own ? step->thwc() : from_zero_to_one(step->thwc());
            EXPECT_TRUE(golden::within(found, wanted, limit)) << member.name << ", step " << t;
        }
    }
}

void expect_taehv_cuts_agree(accel::Device& device, Precision precision) {
    constexpr std::int64_t kLatents = 7;
    struct Clip {
        const char* family;
        LatentSize size;
    };
    for (const Clip& clip : {Clip{"taew2.1", {3, 5}}, Clip{"taew2.1", {4, 2}}, Clip{"lighttaehy1.5", {2, 3}}}) {
        const LatentSize size = clip.size;
        const families::Family& family = *families::find(clip.family);
        const std::int64_t channels = family.published.z_dim, pixels = family.rates.space.out * family.rates.space.out;
        std::vector<float> latents;
        for (std::int64_t i = 0; i < kLatents * channels * size.height * size.width; ++i)
            latents.push_back(static_cast<float>((i * 7919) % 2003 - 1001) / 500);
        const auto decoder = decoder_of(device, fmt::format("synthetic:{},dim=8", clip.family), size, precision, 5);
        ASSERT_NE(decoder, nullptr);
        const auto decode = [&](const std::vector<std::int64_t>& cut) {
            EXPECT_TRUE(decoder->reset());
            std::vector<float> frames;
            std::span<const float> rest = latents;
            for (const std::int64_t count : cut) {
                const auto values = static_cast<std::size_t>(count * channels * size.height * size.width);
                const auto made = decoded(*decoder, rest.first(values), count);
                frames.insert(frames.end(), made.begin(), made.end());
                rest = rest.subspan(values);
            }
            return frames;
        };
        const auto frames = decode(std::vector<std::int64_t>(kLatents, 1));
        EXPECT_EQ(frames.size(), static_cast<std::size_t>((4 * kLatents - 3) * pixels * size.height * size.width * 3));
        for (const std::vector<std::int64_t>& cut : {std::vector<std::int64_t>{5, 2}, {2, 5}, {1, 4, 2}, {3, 3, 1}})
            EXPECT_EQ(decode(cut), frames) << clip.family << ", " << cut.front() << " first";
    }
}

}  // namespace kinetograph::vae
