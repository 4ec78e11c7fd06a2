// The TAEHV family: one network, whose members are told apart; what becomes of its layers.
#include <kinetograph/compute/families/taehv.hpp>
#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/compute/nn/fusion.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

namespace kinetograph::families {
namespace {

vae::Checkpoint opened(const std::string& family, std::int64_t dim, const std::string& file_name) {
    const test::TemporaryFolder folder;
    const std::string path = (folder.path() / file_name).string();
    test::CheckpointFile::synthetic(dim, tensor::DType::BF16, family).write(path);
    auto checkpoint = vae::Checkpoint::open(path);
    EXPECT_TRUE(checkpoint) << checkpoint.error().message;
    return std::move(*checkpoint);
}

TEST(Taehv, MembersAreToldApartByTheChannelsOfTheirLatents) {
    for (const std::string name : {"taew2.1", "taew2.2", "taehv1.5"}) {
        const auto checkpoint = opened(name, 4, "vae.safetensors");
        EXPECT_EQ(checkpoint.family().name, name);
        EXPECT_EQ(checkpoint.dim(), 4);
    }
}

TEST(Taehv, MembersOfAsManyChannelsAreToldApartByTheNamesOfTheirFiles) {
    EXPECT_EQ(opened("taew2.1", 2, "taew2_1.safetensors").family().name, "taew2.1");
    EXPECT_EQ(opened("taew2.1", 2, "TAEHV.safetensors").family().name, "taehv");
    EXPECT_EQ(opened("taew2.1", 2, "lighttaew2_1.safetensors").family().name, "lighttaew2.1");
    EXPECT_EQ(opened("taew2.2", 2, "lighttaew2_2.safetensors").family().name, "lighttaew2.2");
    EXPECT_EQ(opened("taehv1.5", 2, "taehv1_5.safetensors").family().name, "taehv1.5");
    EXPECT_EQ(opened("taehv1.5", 2, "lighttaehy1_5.safetensors").family().name, "lighttaehy1.5");
}

TEST(Taehv, LightTaeTakesTheLatentsOfTheLargeDecoderAndTaewThoseOfTheDiffusionModel) {
    EXPECT_EQ(opened("taew2.1", 64, "lighttaew2_1.safetensors").latents_std(), wan::statistics().std);
    EXPECT_EQ(opened("taew2.1", 64, "taew2_1.safetensors").latents_std(), std::vector<float>(16, 1.0F));
    EXPECT_EQ(find("lighttaew2.2")->statistics.mean, find("wan2.2")->statistics.mean);
    EXPECT_EQ(find("lighttaew2.2")->statistics.std, find("wan2.2")->statistics.std);
    const auto hunyuan = opened("taehv1.5", 64, "lighttae_hy1_5.safetensors");
    EXPECT_EQ(hunyuan.latents_mean(), std::vector<float>(32, 0.0F));
    EXPECT_EQ(hunyuan.latents_std(), std::vector<float>(32, 1 / 1.03682F));
}

TEST(Taehv, TakesTheLastFramesOfLayersThatWereTrainedToMakeMore) {
    // The first stage keeps its frames; a checkpoint may have been trained with twice as many, of which the last count.
    const std::string key = "decoder.7.conv.weight";
    auto file = test::CheckpointFile::synthetic(2, tensor::DType::BF16, "taew2.1");
    const auto found = std::ranges::find(file.tensors, key, &test::StoredTensor::name);
    ASSERT_NE(found, file.tensors.end());
    ASSERT_EQ(found->shape, (tensor::Shape{8, 8, 1, 1}));
    const test::TemporaryFolder folder;
    const std::string plain = (folder.path() / "plain.safetensors").string();
    const std::string grown = (folder.path() / "grown.safetensors").string();
    file.write(plain);
    found->shape[0] = 16;
    found->bytes.insert(found->bytes.begin(), found->bytes.size(), std::byte{1});
    file.write(grown);
    const auto wanted = vae::Checkpoint::open(plain).value();
    const auto checkpoint = vae::Checkpoint::open(grown);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->shape(key).value(), (tensor::Shape{8, 8, 1, 1}));
    EXPECT_EQ(checkpoint->load(key).value(), wanted.load(key).value());

    found->shape = {4, 8, 1, 1};
    found->bytes.resize(4 * 8 * 2);
    file.write(grown);
    EXPECT_NE(vae::Checkpoint::open(grown).error().message.find("[4, 8, 1, 1], wanted [8, 8, 1, 1]"),
              std::string::npos);
}

TEST(Taehv, OnlyLightTaeForHunyuanVideo15HasLeakyActivationsAndMakesPicturesFromMinusOneToOne) {
    for (const Family& family : all()) {
        if (!family.is_small) continue;
        const bool leaky = family.name == "lighttaehy1.5";
        const nn::Network network = family.decoder(family.published);
        for (const nn::Node& node : network.nodes()) {
            if (const auto* activate = std::get_if<nn::primitive::Activate>(&node.primitive)) {
                EXPECT_EQ(activate->negative_slope, leaky ? 0.2F : 0.0F) << family.name;
            }
            const auto* conv = std::get_if<nn::primitive::Conv>(&node.primitive);
            if (conv == nullptr || conv->key != "decoder.22") continue;
            EXPECT_EQ(conv->scale, leaky ? 1 : 2) << family.name;
            EXPECT_EQ(conv->shift, leaky ? 0 : -1) << family.name;
        }
    }
}

/// The convolutions of a step by the ends of their names, and what they take along.
std::string passes(bool first_step) {
    const nn::Network network = taehv::decoder({4, 16});
    const auto passes = nn::fuse(network, {.first_step = first_step}).value();
    std::string text;
    for (const nn::Pass& pass : passes) {
        const auto* conv = std::get_if<nn::ConvPass>(&pass);
        if (conv == nullptr) {
            text += "drop ";
            continue;
        }
        text += (conv->upsample ? "2x" : "") + conv->conv->key.substr(std::string("decoder.").size());
        text += conv->conv->history() > 0 ? "<" : "";
        text += conv->residual ? "+" : "";
        text += conv->activation == conv::Activation::Relu ? "! " : " ";
    }
    return text;
}

TEST(Taehv, HasNoPassesButItsConvolutionsOnAGpu) {
    const std::string blocks = "{0}.conv.0<! {0}.conv.2! {0}.conv.4+! ";
    const auto stage = [&](int first) {
        std::string text;
        for (int i = first; i < first + 3; ++i) text += fmt::format(fmt::runtime(blocks), i);
        return text;
    };
    EXPECT_EQ(passes(false), "1! " + stage(3) + "2x8 " + stage(9) + "2x14 " + stage(15) + "2x20! 22 ");
    EXPECT_EQ(passes(true), "1! " + stage(3) + "2x8 " + stage(9) + "2x14 " + stage(15) + "drop 2x20! drop 22 ");
}

}  // namespace
}  // namespace kinetograph::families
