// A network whose last convolution keeps sums from step to step in place of frames.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/compute/vae/kept_sums.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

using Kind = SummedRun::Kind;

TEST(KeptSums, AreTakenUpInTheFirstFramesOfEveryLatentFrame) {
    EXPECT_EQ(summed_runs(4, 4, 2, false),
              (std::vector<SummedRun>{{Kind::Begun, 0, 2}, {Kind::Whole, 2, 2}, {Kind::Keep, 2, 2}}));
    const std::vector<SummedRun> first{{Kind::Begun, 0, 1}, {Kind::Keep, 0, 1}};
    EXPECT_EQ(summed_runs(1, 4, 2, false), first);
    std::vector<SummedRun> longer = first;
    for (const std::int64_t at : {1, 5})
        longer.insert(longer.end(), {{Kind::Begun, at, 2}, {Kind::Whole, at + 2, 2}, {Kind::Keep, at + 2, 2}});
    EXPECT_EQ(summed_runs(9, 4, 2, false), longer);
    EXPECT_EQ(summed_runs(9, 4, 2, true),
              (std::vector<SummedRun>{{Kind::Group, 0, 1}, {Kind::Group, 1, 4}, {Kind::Group, 5, 4}}));
}

/// One latent frame makes four, of which the first three parts of a clip's first are dropped; the last convolution
/// sees `channels` channels.
NetworkDesc network(std::int64_t channels, bool one_step) {
    using namespace nn::primitive;
    NetworkDesc desc;
    desc.one_step = one_step;
    desc.dtype = tensor::DType::F32;
    nn::Network& network = desc.network = nn::Network(8);
    const nn::Value four =
        network.append(nn::Network::input(), Conv{.key = "four", .c_in = 8, .filter = {4 * channels, 1, 1, 1}});
    nn::Value x = network.append(four, TimeShuffle{4});
    x = network.append(x, DropFrames{3}, nn::Steps::First);
    x = network.append(x, Conv{.key = "before", .c_in = channels, .filter = {channels, 3, 3, 3}});
    network.append(x, Conv{.key = "last", .c_in = channels, .filter = {3, 3, 3, 3}, .stored = Conv::Stored::Float32});
    return desc;
}

struct Decoded {
    std::vector<float> frames;
    std::uint64_t histories = 0;
};

/// Seven latent frames in steps of these many; a one-step network's first step makes all frames of a clip at once.
Decoded decode(const std::vector<std::int64_t>& cut, std::int64_t channels = 8, bool one_step = false,
               const std::string& backend = "") {
    const auto device = accel::cpu::create_device();
    const auto load = [&](const std::string& name) {
        const auto k = static_cast<std::size_t>(name.starts_with("four")   ? 4 * channels
                                                : name.starts_with("last") ? 3
                                                                           : channels);
        const std::size_t each = name.starts_with("four") ? 8 : 27 * static_cast<std::size_t>(channels);
        std::vector<float> values(name.ends_with("weight") ? k * each : k);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = 0.2F * std::sin(1.7F * static_cast<float>(i + name.size()));
        return values;
    };
    NetworkDesc desc = network(channels, one_step);
    desc.preferred_backend = backend;
    const auto model = Model::create(*device, "a network", std::move(desc), load).value();
    const auto decoder = Decoder::create(model, {5, 6}, {.latent_frames = 7}).value();
    Decoded decoded{.frames = {}, .histories = decoder->memory().histories};
    std::int64_t next = 0;
    for (const std::int64_t count : cut) {
        std::vector<float> latents(static_cast<std::size_t>(count * 8 * 5 * 6));
        for (float& value : latents) value = std::cos(0.37F * static_cast<float>(next++));
        const auto made = decoder->step(latents, count);
        EXPECT_TRUE(made) << made.error().message;
        if (made) made->append_to(decoded.frames);
    }
    return decoded;
}

/// The CPU's convolutions add in another order for another number of frames.
void expect_near(const std::vector<float>& frames, const std::vector<float>& wanted) {
    ASSERT_EQ(frames.size(), wanted.size());
    for (std::size_t i = 0; i < frames.size(); ++i) ASSERT_NEAR(frames[i], wanted[i], 1e-4F) << i;
}

TEST(KeptSums, GiveTheFramesOfAClipThatIsOneStep) {
    const std::vector<float> wanted = decode({7}, 8, true).frames;
    EXPECT_EQ(wanted.size(), (1U + 6 * 4) * 5 * 6 * 3);
    for (const std::vector<std::int64_t>& cut :
         std::vector<std::vector<std::int64_t>>{{1, 1, 1, 1, 1, 1, 1}, {3, 1, 3}, {7}}) {
        SCOPED_TRACE(cut.size());
        expect_near(decode(cut).frames, wanted);
    }
}

/// The reference carries sums, so each latent frame is one call.
TEST(KeptSums, OfAMethodThatCarriesThemGiveAFrameItsBitsInEveryStep) {
    const std::string reference = "reference-cpu";
    const std::vector<float> wanted = decode({7}, 8, false, reference).frames;
    expect_near(wanted, decode({7}, 8, true).frames);
    for (const std::vector<std::int64_t>& cut : std::vector<std::vector<std::int64_t>>{{1, 1, 1, 1, 1, 1, 1}, {3, 4}})
        EXPECT_EQ(decode(cut, 8, false, reference).frames, wanted);
}

TEST(KeptSums, TakeLessMemoryThanTheFrames) {
    const auto pages = [](std::uint64_t bytes) { return whole_pages(bytes); };
    EXPECT_EQ(decode({}, 64).histories, pages(2 * 5 * 6 * 64 * 4) + pages(2 * 5 * 6 * 3 * 4));
    EXPECT_EQ(decode({}, 2).histories, 2 * pages(2 * 5 * 6 * 2 * 4)) << "two channels take less than the sums of three";
}

}  // namespace
}  // namespace kinetograph::vae
