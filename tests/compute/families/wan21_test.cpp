#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/compute/nn/fusion.hpp>

#include <gtest/gtest.h>

#include <set>

namespace kinetograph::families {
namespace {

TEST(Wan21, RenamesEveryKindOfModuleAsDiffusersDoes) {
    const std::pair<std::string_view, std::string_view> names[] = {
        {"conv2.weight", "post_quant_conv.weight"},
        {"decoder.conv1.bias", "decoder.conv_in.bias"},
        {"decoder.middle.0.residual.0.gamma", "decoder.mid_block.resnets.0.norm1.gamma"},
        {"decoder.middle.0.residual.2.weight", "decoder.mid_block.resnets.0.conv1.weight"},
        {"decoder.middle.1.norm.gamma", "decoder.mid_block.attentions.0.norm.gamma"},
        {"decoder.middle.1.to_qkv.bias", "decoder.mid_block.attentions.0.to_qkv.bias"},
        {"decoder.middle.1.proj.weight", "decoder.mid_block.attentions.0.proj.weight"},
        {"decoder.middle.2.residual.3.gamma", "decoder.mid_block.resnets.1.norm2.gamma"},
        {"decoder.middle.2.residual.6.bias", "decoder.mid_block.resnets.1.conv2.bias"},
        {"decoder.upsamples.0.residual.6.weight", "decoder.up_blocks.0.resnets.0.conv2.weight"},
        {"decoder.upsamples.3.resample.1.weight", "decoder.up_blocks.0.upsamplers.0.resample.1.weight"},
        {"decoder.upsamples.3.time_conv.bias", "decoder.up_blocks.0.upsamplers.0.time_conv.bias"},
        {"decoder.upsamples.4.shortcut.weight", "decoder.up_blocks.1.resnets.0.conv_shortcut.weight"},
        {"decoder.upsamples.7.time_conv.weight", "decoder.up_blocks.1.upsamplers.0.time_conv.weight"},
        {"decoder.upsamples.10.residual.2.bias", "decoder.up_blocks.2.resnets.2.conv1.bias"},
        {"decoder.upsamples.11.resample.1.bias", "decoder.up_blocks.2.upsamplers.0.resample.1.bias"},
        {"decoder.upsamples.14.residual.3.gamma", "decoder.up_blocks.3.resnets.2.norm2.gamma"},
        {"decoder.head.0.gamma", "decoder.norm_out.gamma"},
        {"decoder.head.2.weight", "decoder.conv_out.weight"},
    };
    for (const auto& [original, diffusers] : names) EXPECT_EQ(wan::diffusers_name(original), diffusers);
}

TEST(Wan21, GivesNoTwoParametersOneNameAndSharesNoneBetweenTheNamings) {
    std::set<std::string> names;
    for (const nn::Parameter& parameter : nn::parameters(wan::decoder({32, 16}))) {
        names.insert(parameter.name);
        names.insert(wan::diffusers_name(parameter.name));
    }
    EXPECT_EQ(names.size(), 2U * 108U);
}

/// The passes that convolve, in order, by the ends of their names; "&" if the norm is stored beside the output.
std::string convolutions(bool first_step) {
    const nn::Network network = wan::decoder({32, 16});
    const auto passes = nn::fuse(network, {.first_step = first_step}).value();
    std::string text;
    for (const nn::Pass& pass : passes) {
        const auto* conv = std::get_if<nn::ConvPass>(&pass);
        if (conv == nullptr) {
            text += "attention ";
            continue;
        }
        const std::string& key = conv->conv->key;
        text += conv->upsample ? "2x" : "";
        text += key.substr(key.find('.') == std::string::npos ? 0 : key.find('.') + 1);
        text += conv->residual ? "+" : "";
        text += conv->stored == conv::Norm::Beside ? "& " : conv->stored == conv::Norm::Instead ? "> " : " ";
    }
    return text;
}

TEST(Wan21, BecomesOnePassAConvolutionOnAGpu) {
    const std::string later = convolutions(false), first = convolutions(true);
    EXPECT_TRUE(
        later.starts_with("conv1& middle.0.residual.2> middle.0.residual.6+& middle.1.to_qkv attention "
                          "middle.2.residual.2> middle.2.residual.6+& "
                          "upsamples.0.residual.2> upsamples.0.residual.6+& "))
        << later;
    EXPECT_NE(later.find("upsamples.2.residual.6+ upsamples.3.time_conv 2xupsamples.3.resample.1& "
                         "upsamples.4.residual.2> upsamples.4.shortcut upsamples.4.residual.6+& "),
              std::string::npos)
        << later;
    EXPECT_NE(first.find("upsamples.2.residual.6+ 2xupsamples.3.resample.1& "), std::string::npos) << first;
    EXPECT_TRUE(later.ends_with("upsamples.14.residual.6+& head.2 ")) << later;
}

}  // namespace
}  // namespace kinetograph::families
