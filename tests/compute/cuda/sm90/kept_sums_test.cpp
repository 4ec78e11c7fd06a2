// A network whose last convolution carries its sums from one group of frames to the next in the launch that makes them.
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

#include <cmath>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

constexpr std::int64_t kLatents = 8, kChannels = 16;

/// One latent frame makes four, of which the first three parts of a clip's first are dropped.
NetworkDesc network() {
    using namespace nn::primitive;
    NetworkDesc desc;
    desc.dtype = tensor::DType::BF16;
    nn::Network& network = desc.network = nn::Network(kLatents);
    nn::Value x =
        network.append(nn::Network::input(), Conv{.key = "four", .c_in = kLatents, .filter = {4 * kChannels, 1, 1, 1}});
    x = network.append(x, TimeShuffle{4});
    x = network.append(x, DropFrames{3}, nn::Steps::First);
    x = network.append(x, Conv{.key = "before", .c_in = kChannels, .filter = {kChannels, 3, 3, 3}});
    network.append(x, Conv{.key = "last", .c_in = kChannels, .filter = {3, 3, 3, 3}, .stored = Conv::Stored::Float32});
    return desc;
}

/// A clip's frames, decoded in steps of so many latent frames.
std::vector<float> decode(accel::Device& device, const std::vector<std::int64_t>& steps) {
    const auto load = [&](const std::string& name) {
        const std::int64_t k = name.starts_with("four") ? 4 * kChannels : name.starts_with("last") ? 3 : kChannels;
        const std::int64_t each = name.starts_with("four") ? kLatents : 27 * kChannels;
        std::vector<float> values(static_cast<std::size_t>(name.ends_with("weight") ? k * each : k));
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = 0.2F * std::sin(1.7F * static_cast<float>(i + name.size()));
        return values;
    };
    const auto model = Model::create(device, "a network", network(), load).value();
    const auto decoder = Decoder::create(model, {18, 33}, {.latent_frames = 3}).value();
    std::vector<float> frames;
    std::int64_t next = 0;
    for (const std::int64_t count : steps) {
        std::vector<float> latents(static_cast<std::size_t>(count * kLatents * 18 * 33));
        for (float& value : latents) value = std::cos(0.37F * static_cast<float>(next++));
        const auto made = decoder->step(latents, count);
        EXPECT_TRUE(made) << made.error().message;
        if (made) made->append_to(frames);
    }
    return frames;
}

class Sm90KeptSums : public test::CudaLane {
    standin::Options pose() const override { return {.name = "Stand-in H200", .architecture = "sm_90"}; }
};

TEST_F(Sm90KeptSums, GiveAFrameTheSameBitsInEveryStepAndAreTheReferencesSums) {
    conv::ConvProblem head;
    head.d = 4;
    head.h = 18;
    head.w = 33;
    head.c_in = kChannels;
    head.filter = {3, 3, 3, 3};
    head.pad = {2, 2, 1, 1, 1, 1};
    head.output = head.normed = tensor::DType::F32;
    head.carried = true;
    ASSERT_EQ(conv::explain(device_->info(), head).front().candidate, "narrow-gemm-sm90");

    const std::vector<float> frames = decode(*device_, {1, 1, 1});
    ASSERT_EQ(frames.size(), (1U + 2 * 4) * 18 * 33 * 3);
    EXPECT_EQ(decode(*device_, {3}), frames);
    EXPECT_EQ(decode(*device_, {1, 2}), frames);

    const auto host = accel::cpu::create_device();
    const std::vector<float> wanted = decode(*host, {3});
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        error += std::pow(frames[i] - wanted[i], 2);
        norm += std::pow(wanted[i], 2);
    }
    EXPECT_LT(std::sqrt(error / norm), 3e-3) << "roundings to bf16 between the layers that fell the other way";
}

}  // namespace
}  // namespace kinetograph::vae
