#include <gtest/gtest.h>

#include <kinetograph/compute/vae/key_naming.hpp>
#include <set>

namespace kinetograph::vae {
namespace {

TEST(KeyNaming, RenamesEveryKindOfModuleAsDiffusersDoes) {
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
    for (const auto& [original, diffusers] : names) EXPECT_EQ(diffusers_name(original), diffusers);
}

TEST(KeyNaming, GivesNoTwoParametersOneNameAndSharesNoneBetweenTheNamings) {
    std::set<std::string> names;
    for (const Parameter& parameter : wan21_parameters(32, 16)) {
        names.insert(parameter.name);
        names.insert(diffusers_name(parameter.name));
    }
    EXPECT_EQ(names.size(), 2U * 108U);
}

TEST(KeyNaming, ListsTenThingsAndCountsTheRest) {
    const std::vector<std::string> items = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    EXPECT_EQ(first_ten(std::span(items).first(2)), "a, b");
    EXPECT_EQ(first_ten(std::span(items).first(10)), "a, b, c, d, e, f, g, h, i, j");
    EXPECT_EQ(first_ten(items), "a, b, c, d, e, f, g, h, i, j and 2 more");
}

}  // namespace
}  // namespace kinetograph::vae
