// The TAEHV family: one network, told apart by the channels of its latents; what becomes of its layers.
#include <kinetograph/compute/families/taehv.hpp>
#include <kinetograph/compute/nn/fusion.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

namespace kinetograph::families {
namespace {

TEST(Taehv, MembersAreToldApartByTheChannelsOfTheirLatents) {
    const test::TemporaryFolder folder;
    for (const std::string name : {"taew2.1", "taew2.2", "taehv1.5"}) {
        const std::string path = (folder.path() / (name + ".safetensors")).string();
        test::CheckpointFile::synthetic(4, tensor::DType::BF16, name).write(path);
        const auto checkpoint = vae::Checkpoint::open(path);
        ASSERT_TRUE(checkpoint) << checkpoint.error().message;
        EXPECT_EQ(checkpoint->family().name, name);
        EXPECT_EQ(checkpoint->dim(), 4);
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
