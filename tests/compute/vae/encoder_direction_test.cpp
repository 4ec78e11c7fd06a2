// A network in the other direction: pictures come in, and half as many rows, columns and frames go out as latents.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace kinetograph::vae::halving {
namespace {

constexpr std::int64_t kHeight = 6, kWidth = 8, kChannels = 4, kFrames = 7;

/// Four convolutions: causal in time, half as large, half as many frames after a clip's first, latents.
NetworkDesc halves() {
    using namespace nn::primitive;
    NetworkDesc desc;
    desc.dtype = tensor::DType::F32;
    desc.clamp = true;  // of pictures only
    nn::Network& network = desc.network = nn::Network(3, {nn::End::Pictures, nn::End::Latents});
    nn::Value x = network.append(nn::Network::input(), Conv{.key = "in", .c_in = 3, .filter = {kChannels, 3, 3, 3}});
    x = network.append(x, Conv{.key = "space",
                               .c_in = kChannels,
                               .filter = {kChannels, 1, 3, 3},
                               .stride = {1, 2, 2},
                               .edges = Conv::Edges::After});
    x = network.append(x, Conv{.key = "time", .c_in = kChannels, .filter = {kChannels, 3, 1, 1}, .stride = {2, 1, 1}},
                       nn::Steps::AfterFirst);
    network.append(
        x, Conv{.key = "out", .c_in = kChannels, .filter = {kChannels, 1, 1, 1}, .stored = Conv::Stored::Float32});
    return desc;
}

float parameter(const std::string& name, std::size_t i) {
    return std::sin(1.7F * static_cast<float>(i + 5 * name.size()));
}

std::vector<float> load(const std::string& name) {
    const std::size_t taps = name.starts_with("space") ? 9 : name.starts_with("time") ? 3 : 1;
    const std::size_t each = name.starts_with("in") ? 3 * 27 : kChannels * taps;
    std::vector<float> values(kChannels * (name.ends_with("weight") ? each : 1));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = parameter(name, i);
    return values;
}

float pixel(std::int64_t frame, std::int64_t c, std::int64_t y, std::int64_t x) {
    return std::cos(0.37F * static_cast<float>(((frame * 3 + c) * kHeight + y) * kWidth + x));
}

/// Values [channel][y][x] of one frame; zero outside it.
struct Plane {
    std::int64_t height = 0, width = 0;
    std::vector<double> values{};
    double at(std::int64_t c, std::int64_t y, std::int64_t x) const {
        if (values.empty() || y < 0 || x < 0 || y >= height || x >= width) return 0;
        return values[static_cast<std::size_t>((c * height + y) * width + x)];
    }
};

/// The sums of one output frame over the frames under its temporal taps.
Plane convolve(const std::string& key, const std::vector<const Plane*>& taps, std::int64_t c_in, std::int64_t side,
               std::int64_t stride, std::int64_t before) {
    Plane out{taps.back()->height / stride, taps.back()->width / stride};
    for (std::int64_t k = 0; k < kChannels; ++k)
        for (std::int64_t y = 0; y < out.height; ++y)
            for (std::int64_t x = 0; x < out.width; ++x) {
                double sum = parameter(key + ".bias", static_cast<std::size_t>(k));
                std::size_t weight = static_cast<std::size_t>(k * c_in * std::ssize(taps) * side * side);
                for (std::int64_t c = 0; c < c_in; ++c)
                    for (const Plane* tap : taps)
                        for (std::int64_t r = 0; r < side; ++r)
                            for (std::int64_t s = 0; s < side; ++s)
                                sum += parameter(key + ".weight", weight++) *
                                       tap->at(c, stride * y + r - before, stride * x + s - before);
                out.values.push_back(sum);
            }
    return out;
}

/// Every frame of the clip, by plain loops: [latent frame][channel][y][x].
std::vector<Plane> reference() {
    const Plane nothing{kHeight, kWidth};
    std::vector<Plane> pictures, half;
    for (std::int64_t frame = 0; frame < kFrames; ++frame) {
        pictures.push_back(nothing);
        for (std::int64_t c = 0; c < 3; ++c)
            for (std::int64_t y = 0; y < kHeight; ++y)
                for (std::int64_t x = 0; x < kWidth; ++x) pictures.back().values.push_back(pixel(frame, c, y, x));
    }
    for (std::size_t frame = 0; frame < kFrames; ++frame) {
        const auto ago = [&](std::size_t frames) { return frame < frames ? &nothing : &pictures[frame - frames]; };
        const Plane in = convolve("in", {ago(2), ago(1), ago(0)}, 3, 3, 1, 1);
        half.push_back(convolve("space", {&in}, kChannels, 3, 2, 0));
    }
    const Plane none{kHeight / 2, kWidth / 2};
    std::vector<Plane> latents{half[0]};
    for (std::size_t frame = 1; frame < kFrames; frame += 2)  // the first step, which skips it, has kept nothing for it
        latents.push_back(convolve("time", {frame == 1 ? &none : &half[frame - 1], &half[frame], &half[frame + 1]},
                                   kChannels, 1, 1, 0));
    for (Plane& latent : latents) latent = convolve("out", {&latent}, kChannels, 1, 1, 0);
    return latents;
}

TEST(EncoderDirection, HalvesFramesRowsAndColumnsInStepsOfAnyLength) {
    const auto device = accel::cpu::create_device();
    const auto model = Model::create(*device, "a network", halves(), load).value();
    EXPECT_EQ(model->rates(), (nn::Rates{.time = {2, 1}, .space = {2, 1}}));
    const std::vector<Plane> wanted = reference();
    for (const std::vector<std::int64_t>& cut : std::vector<std::vector<std::int64_t>>{{1, 2, 2, 2}, {1, 4, 2}}) {
        const auto stepper = stream::Decoder::create(model, {kHeight, kWidth}, {.latent_frames = 4});
        ASSERT_TRUE(stepper) << stepper.error().message;
        std::vector<float> made;
        std::int64_t frame = 0;
        for (const std::int64_t count : cut) {
            std::vector<float> pictures;
            for (std::int64_t end = frame + count; frame < end; ++frame)
                for (std::int64_t i = 0; i < 3 * kHeight * kWidth; ++i) pictures.push_back(pixel(frame, 0, 0, i));
            const auto step = (*stepper)->step(pictures, count);
            ASSERT_TRUE(step) << step.error().message;
            step->append_to(made);
        }
        ASSERT_EQ(made.size(), wanted.size() * kChannels * kHeight * kWidth / 4);
        std::size_t i = 0;
        bool beyond_one = false;
        for (const Plane& plane : wanted)
            for (std::int64_t y = 0; y < plane.height; ++y)
                for (std::int64_t x = 0; x < plane.width; ++x)
                    for (std::int64_t c = 0; c < kChannels; ++c, ++i) {
                        ASSERT_NEAR(made[i], plane.at(c, y, x), 1e-4) << "value " << i;
                        beyond_one |= std::abs(made[i]) > 1;
                    }
        EXPECT_TRUE(beyond_one) << "no latent would show that pictures alone are clamped";
    }
}

TEST(EncoderDirection, SaysWhatAStepTakes) {
    const auto device = accel::cpu::create_device();
    const auto model = Model::create(*device, "a network", halves(), load).value();
    EXPECT_EQ(model->check({.height = 5, .width = kWidth}).error().message,
              "pictures of 8x5: each side must be a multiple of 2 pixels");
    const auto clip = Clip::create(model, {kHeight, kWidth}, {.latent_frames = 4}).value();
    EXPECT_EQ(clip->next(2).error().message,
              "a clip's first step takes one frame, each later one a multiple of 2; 2 were given");
    EXPECT_EQ(clip->advance(1).count, 1);
    EXPECT_EQ(clip->next(3).error().message,
              "a clip's first step takes one frame, each later one a multiple of 2; 3 were given");
    EXPECT_EQ(clip->advance(4).count, 2);
    graph::FrameGraph frame;
    const auto input = clip->import_latents(frame, {0, 0, clip->latent_bytes() * 2}, 2);
    const auto pictures = clip->declare(frame, input, {.format = FrameFormat::Rgba8}, 2);
    ASSERT_FALSE(pictures);
    EXPECT_EQ(pictures.error().message, "write_frames: the network ends in latents, which are no pictures");
}

}  // namespace
}  // namespace kinetograph::vae::halving
