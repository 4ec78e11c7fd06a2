#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/compute/nn/fusion.hpp>

#include <gtest/gtest.h>

#include <set>

namespace kinetograph::families {
namespace {

TEST(Wan22, RenamesEveryKindOfModuleAsDiffusersDoes) {
    const std::pair<std::string_view, std::string_view> names[] = {
        {"conv2.weight", "post_quant_conv.weight"},
        {"decoder.conv1.bias", "decoder.conv_in.bias"},
        {"decoder.middle.1.to_qkv.bias", "decoder.mid_block.attentions.0.to_qkv.bias"},
        {"decoder.middle.2.residual.3.gamma", "decoder.mid_block.resnets.1.norm2.gamma"},
        {"decoder.upsamples.0.upsamples.0.residual.6.weight", "decoder.up_blocks.0.resnets.0.conv2.weight"},
        {"decoder.upsamples.1.upsamples.3.resample.1.weight", "decoder.up_blocks.1.upsampler.resample.1.weight"},
        {"decoder.upsamples.1.upsamples.3.time_conv.bias", "decoder.up_blocks.1.upsampler.time_conv.bias"},
        {"decoder.upsamples.3.upsamples.0.shortcut.weight", "decoder.up_blocks.3.resnets.0.conv_shortcut.weight"},
        {"decoder.head.0.gamma", "decoder.norm_out.gamma"},
        {"decoder.head.2.weight", "decoder.conv_out.weight"},
    };
    for (const auto& [original, diffusers] : names) EXPECT_EQ(find("wan2.2")->diffusers_name(original), diffusers);
}

TEST(Wan22, GivesNoTwoParametersOneNameAndSharesNoneBetweenTheNamings) {
    const Family& family = *find("wan2.2");
    std::set<std::string> names;
    for (const nn::Parameter& parameter : nn::parameters(family.decoder({32, 48}))) {
        names.insert(parameter.name);
        names.insert(family.diffusers_name(parameter.name));
    }
    EXPECT_EQ(names.size(), 2U * 110U);
}

TEST(Wan22, HasAsManyParametersAsThePublishedDecoder) {
    std::int64_t count = 0;
    for (const nn::Parameter& parameter : nn::parameters(find("wan2.2")->decoder(find("wan2.2")->published)))
        count += tensor::element_count(parameter.shape).value();
    EXPECT_EQ(count, 555'051'580);
}

/// The passes that are no convolutions, and the convolutions whose sum is a shortcut's, in order.
std::string shortcuts(bool first_step) {
    const nn::Network network = find("wan2.2")->decoder({32, 48});
    const auto passes = nn::fuse(network, {.first_step = first_step}).value();
    std::string text;
    for (const nn::Pass& pass : passes) {
        if (const auto* own = std::get_if<nn::OperatorPass>(&pass))
            text += own->key() + (own->repeat == 2 ? "*2 " : " ");
        if (const auto* conv = std::get_if<nn::ConvPass>(&pass); conv != nullptr && conv->upsample)
            text += std::string("2x") + (conv->residual ? "+ " : " ");
    }
    return text;
}

TEST(Wan22, MakesEachShortcutInOnePassToWhichTheLastConvolutionAdds) {
    EXPECT_EQ(shortcuts(false),
              "decoder.upsamples.0.avg_shortcut*2 2x+ decoder.upsamples.1.avg_shortcut*2 2x+ "
              "decoder.upsamples.2.avg_shortcut 2x+ unpatchify ");
    EXPECT_EQ(shortcuts(true),
              "decoder.upsamples.0.avg_shortcut 2x+ decoder.upsamples.1.avg_shortcut 2x+ "
              "decoder.upsamples.2.avg_shortcut 2x+ unpatchify ");
}

}  // namespace
}  // namespace kinetograph::families
