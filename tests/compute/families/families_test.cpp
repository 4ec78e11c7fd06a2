// Properties of every family.
#include <kinetograph/compute/families/family.hpp>

#include <gtest/gtest.h>

#include <set>

namespace kinetograph::families {
namespace {

TEST(Families, SayOfTheirNetworksWhatIsTrue) {
    for (const Family& family : all()) {
        const nn::Network network = family.decoder(family.published);
        EXPECT_EQ(nn::rates(network), family.rates) << family.name;
        EXPECT_EQ(network.input_channels(), family.published.z_dim) << family.name;
        const std::int64_t patch = family.statistics.patch, channels = family.published.z_dim * patch * patch;
        EXPECT_EQ(std::ssize(family.statistics.mean), channels) << family.name;
        EXPECT_EQ(std::ssize(family.statistics.std), channels) << family.name;
        std::set<std::string> parameters;
        for (const nn::Parameter& parameter : nn::parameters(network)) parameters.insert(parameter.name);
        EXPECT_TRUE(parameters.contains(family.end + ".weight")) << family.name;
        EXPECT_EQ(family.raw.mean.size(), family.raw.std.size()) << family.name;
        for (const WidthIn& width : {family.dim, family.z_dim})
            EXPECT_TRUE(parameters.contains(width.tensor)) << family.name << ": " << width.tensor;
    }
}

TEST(Families, SayOfTheirEncodersWhatIsTrue) {
    std::set<std::string> encode;
    for (const Family& family : all()) {
        if (family.encoder == nullptr) continue;
        encode.insert(family.name);
        const nn::Network network = family.encoder(family.published);
        const nn::Rates there = nn::rates(network), back = family.rates;
        EXPECT_EQ(there.time, (nn::Rate{back.time.out, back.time.in})) << family.name;
        EXPECT_EQ(there.space, (nn::Rate{back.space.out, back.space.in})) << family.name;
        EXPECT_EQ(network.ends().input, nn::End::Pictures) << family.name;
        const nn::Extent pictures{there.first, 32, 32, 3};
        EXPECT_EQ(nn::extents(network, pictures, true).back().frames, 1) << family.name;
        const std::int64_t of_a_channel = network.ends().output == nn::End::Moments ? 2 : 1;
        EXPECT_EQ(nn::extents(network, pictures, true).back().channels, of_a_channel * family.published.z_dim)
            << family.name;
        std::set<std::string> names, diffusers;
        for (const nn::Parameter& parameter : nn::parameters(network)) {
            names.insert(parameter.name);
            diffusers.insert(family.diffusers_name(parameter.name));
        }
        for (const nn::Parameter& parameter : nn::parameters(family.decoder(family.published)))
            EXPECT_FALSE(names.contains(parameter.name)) << family.name << ": " << parameter.name;
        EXPECT_EQ(names.size(), diffusers.size()) << family.name;
        EXPECT_TRUE(names.contains(family.encoder_dim.tensor)) << family.name;
        if (!family.is_causal) continue;
        families::Widths of_pictures = family.published;
        of_pictures.pictures = true;
        const nn::Network encoder = family.encoder(of_pictures);
        EXPECT_EQ(nn::extents(encoder, {1, 32, 32, 3}, false).back().frames, 1) << family.name;
    }
    EXPECT_EQ(encode, (std::set<std::string>{"flux.1", "flux.2", "lightvae", "qwen-image", "sd", "sd3", "sdxl", "taef1",
                                             "taehv", "taehv1.5", "taesd", "taesd3", "taesdxl", "taew2.1", "taew2.2",
                                             "wan2.1", "wan2.2"}));
}

TEST(Families, AreToldApartByKeysByClassByNameOrByWidth) {
    std::set<std::string> names;
    std::set<std::vector<std::string>> marks;
    for (const Family& family : all()) {
        EXPECT_TRUE(names.insert(family.name).second) << family.name;
        if (family.relative_of.empty()) continue;
        const Family* own = find(family.relative_of);
        ASSERT_NE(own, nullptr) << family.name;
        EXPECT_TRUE(own->relative_of.empty()) << family.name;
        EXPECT_TRUE(family.published.dim != own->published.dim || family.in_file_name != own->in_file_name ||
                    family.diffusers_class != own->diffusers_class)
            << family.name;
        EXPECT_TRUE(marks.insert({family.relative_of, family.diffusers_class, family.in_file_name}).second)
            << family.name;
    }
}

TEST(Families, OfTheSameLatentsAgreeAboutThem) {
    const auto raw = [](const Family& family) {
        return family.raw.std.empty() ? family.statistics.std : family.raw.std;
    };
    for (const Family& family : all()) {
        for (const Family& other : all()) {
            if (family.latents != other.latents) continue;
            EXPECT_EQ(family.published.z_dim, other.published.z_dim) << family.name << ", " << other.name;
            EXPECT_EQ(raw(family), raw(other)) << family.name << ", " << other.name;
            if (!family.one_latent_frame && !other.one_latent_frame) {
                EXPECT_EQ(family.fps, other.fps) << family.name << ", " << other.name;
            }
        }
    }
    EXPECT_EQ(find("wan2.1")->fps, 16);
    EXPECT_EQ(find("wan2.2")->fps, 24);
}

TEST(Families, EnlargeTwiceAsMuchByALastLayerOfFourTimesTheChannels) {
    for (const Family& family : all()) {
        Widths widths = family.published;
        widths.dim = 4;
        const std::int64_t own = nn::rates(family.decoder(widths)).space.out;
        EXPECT_EQ(own, family.rates.space.out) << family.name;
        widths.end = own == 8 ? 12 : 3;
        EXPECT_EQ(nn::rates(family.decoder(widths)).space.out, own == 8 ? 16 : 8) << family.name;
    }
}

TEST(Families, AreListedOncePerWordOfASentence) {
    EXPECT_EQ(any_of(&Family::latents, 16), "FLUX.1, HunyuanVideo, Stable Diffusion 3 or Wan 2.1");
    EXPECT_EQ(any_of(&Family::latents, 32), "FLUX.2 or HunyuanVideo 1.5");
    EXPECT_EQ(any_of(&Family::latents, 5), "");
    EXPECT_EQ(takers_of(48), " (48 channels are latents of Wan 2.2)");
    EXPECT_EQ(takers_of(128), " (128 channels are latents of FLUX.2 in patches of 2 x 2)");
    EXPECT_EQ(takers_of(5), "");
}

TEST(Families, CountTheFramesOfAClip) {
    const nn::Rates wan = find("wan2.1")->rates;
    EXPECT_EQ(wan.frames_of(0), 0);
    EXPECT_EQ(wan.frames_of(1), 1);
    EXPECT_EQ(wan.frames_of(5), 17);
    EXPECT_EQ(find("wan9"), nullptr);
}

}  // namespace
}  // namespace kinetograph::families
