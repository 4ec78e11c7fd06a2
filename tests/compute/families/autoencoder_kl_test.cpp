// AutoencoderKL: which model a file is of, under all the names that its tensors have, and what becomes of its layers.
#include <kinetograph/compute/nn/fusion.hpp>
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace kinetograph::families {
namespace {

using testing::HasSubstr;

class AutoencoderKl : public testing::Test {
  protected:
    Result<vae::Checkpoint> open(const test::CheckpointFile& file, const std::string& name = "vae.safetensors") {
        const std::string path = (folder_.path() / name).string();
        file.write(path);
        return vae::Checkpoint::open(path);
    }
    /// The same beside a config.json, under diffusers' names.
    Result<vae::Checkpoint> open_with(const std::string& config, const std::string& family) {
        folder_.write("config.json", config);
        return open(of(family).rename(find(family)->diffusers_name), "diffusion_pytorch_model.safetensors");
    }
    static test::CheckpointFile of(const std::string& family) {
        return test::CheckpointFile::synthetic(4, tensor::DType::F32, family);
    }
    static std::string family_of(const Result<vae::Checkpoint>& checkpoint) {
        return checkpoint ? checkpoint->family().name : checkpoint.error().message;
    }
    /// A picture of 2 x 3 latents.
    std::vector<float> picture(const vae::Checkpoint& checkpoint) {
        const auto model = vae::Model::create(*device_, checkpoint, {.precision = vae::Precision::Fp32}).value();
        const auto decoder = stream::Decoder::create(model, {2, 3}).value();
        std::vector<float> latents;
        for (int i = 0; i < 6 * checkpoint.z_dim(); ++i) latents.push_back(std::sin(0.7F * static_cast<float>(i)));
        return decoder->step(latents).value().thwc();
    }

    const test::TemporaryFolder folder_;
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
};

/// What diffusers calls the parts of an attention since version 0.17, and called them before.
std::string former_name(const std::string& original) {
    std::string name = find("sd")->diffusers_name(original);
    for (const auto& [since, former] : {std::pair<std::string, std::string>{"attentions.0.to_q", "attentions.0.query"},
                                        {"attentions.0.to_k", "attentions.0.key"},
                                        {"attentions.0.to_v", "attentions.0.value"},
                                        {"attentions.0.to_out.0", "attentions.0.proj_attn"}})
        if (const std::size_t at = name.find(since); at != std::string::npos) name.replace(at, since.size(), former);
    return name;
}

TEST_F(AutoencoderKl, HasTheNamesOfDiffusersInTheOrderInWhichStagesRun) {
    const auto name = find("sd")->diffusers_name;
    EXPECT_EQ(name("decoder.up.3.block.0.norm1.weight"), "decoder.up_blocks.0.resnets.0.norm1.weight");
    EXPECT_EQ(name("decoder.up.1.block.0.nin_shortcut.bias"), "decoder.up_blocks.2.resnets.0.conv_shortcut.bias");
    EXPECT_EQ(name("decoder.up.2.upsample.conv.weight"), "decoder.up_blocks.1.upsamplers.0.conv.weight");
    EXPECT_EQ(name("encoder.down.2.block.1.conv2.bias"), "encoder.down_blocks.2.resnets.1.conv2.bias");
    EXPECT_EQ(name("encoder.down.0.downsample.conv.bias"), "encoder.down_blocks.0.downsamplers.0.conv.bias");
    EXPECT_EQ(name("decoder.mid.block_2.conv1.weight"), "decoder.mid_block.resnets.1.conv1.weight");
    EXPECT_EQ(name("encoder.mid.attn_1.norm.bias"), "encoder.mid_block.attentions.0.group_norm.bias");
    EXPECT_EQ(name("decoder.mid.attn_1.proj_out.weight"), "decoder.mid_block.attentions.0.to_out.0.weight");
    EXPECT_EQ(name("decoder.norm_out.weight"), "decoder.conv_norm_out.weight");
    EXPECT_EQ(name("post_quant_conv.bias"), "post_quant_conv.bias");
}

TEST_F(AutoencoderKl, DecodesAlikeUnderEveryNaming) {
    const auto original = open(of("sd"));
    ASSERT_EQ(family_of(original), "sd");
    const auto wanted = picture(*original);
    ASSERT_EQ(wanted.size(), 16U * 24U * 3U);
    const auto diffusers = open(of("sd").rename(find("sd")->diffusers_name));
    ASSERT_EQ(family_of(diffusers), "sd");
    EXPECT_EQ(diffusers->naming(), vae::KeyNaming::Diffusers);
    EXPECT_EQ(picture(*diffusers), wanted);
    const auto former = open(of("sd").rename(former_name));
    ASSERT_EQ(family_of(former), "sd");
    EXPECT_EQ(picture(*former), wanted);
    // A whole model's file; matrices of the attention have two axes or four.
    auto single = of("sd").rename([](const std::string& name) { return "first_stage_model." + name; });
    single.at("first_stage_model.decoder.mid.attn_1.q.weight").shape = {16, 16};
    single.tensors.push_back(test::stored("model.diffusion_model.out.2.weight", tensor::DType::F32, {1}, {1.0F}));
    const auto within = open(single, "v1-5-pruned.safetensors");
    ASSERT_EQ(family_of(within), "sd");
    EXPECT_EQ(picture(*within), wanted);
}

TEST_F(AutoencoderKl, IsToldFromItsRelativesByLatentsByTheStatedScaleAndByTheName) {
    EXPECT_EQ(family_of(open(of("flux.1"), "ae.safetensors")), "flux.1");
    EXPECT_EQ(family_of(open(of("flux.1"), "sd3_medium.safetensors")), "sd3");
    EXPECT_EQ(family_of(open(of("sd"), "sd_xl_base_1.0.safetensors")), "sdxl");
    EXPECT_EQ(family_of(open(of("sd"), "sdxl_vae.safetensors")), "sdxl");
    const std::string kl = R"({"_class_name": "AutoencoderKL", "latents_mean": null, "scaling_factor": )";
    EXPECT_EQ(family_of(open_with(kl + "0.13025}", "sd")), "sdxl");
    EXPECT_EQ(family_of(open_with(kl + "0.18215}", "sd")), "sd");
    EXPECT_EQ(family_of(open_with(kl + R"(1.5305, "shift_factor": 0.0609})", "flux.1")), "sd3");
    EXPECT_EQ(family_of(open_with(R"({"_class_name": "AutoencoderKL"})", "flux.1")), "flux.1");
}

TEST_F(AutoencoderKl, HasTheStatisticsThatItsConfigurationStates) {
    const auto scaled =
        open_with(R"({"_class_name": "AutoencoderKL", "scaling_factor": 0.25, "shift_factor": 0.5})", "flux.1");
    ASSERT_TRUE(scaled) << scaled.error().message;
    EXPECT_EQ(scaled->latents_mean(), std::vector<float>(16, 0.5F));
    EXPECT_EQ(scaled->latents_std(), std::vector<float>(16, 4.0F));
    const auto normalised = open_with(R"({"_class_name": "AutoencoderKL", "scaling_factor": 0.5,
                                          "latents_mean": [1,2,3,4], "latents_std": [1,1,1,2]})",
                                      "sd");
    ASSERT_TRUE(normalised) << normalised.error().message;
    EXPECT_EQ(normalised->latents_mean(), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(normalised->latents_std(), (std::vector<float>{2, 2, 2, 4}));
    EXPECT_EQ(open(of("flux.1"))->latents_mean(), std::vector<float>(16, 0.1159F));
    EXPECT_EQ(open(of("flux.1"))->latents_std(), std::vector<float>(16, 1 / 0.3611F));
    const auto without = open_with(R"({"_class_name": "AutoencoderKL", "scaling_factor": 0})", "sd");
    EXPECT_THAT(family_of(without), HasSubstr("metadata scaling_factor: 0 is not above 0"));
    EXPECT_THAT(family_of(open_with(R"({"shift_factor": "much"})", "sd")),
                HasSubstr("metadata shift_factor: \"much\" is not a finite number"));
}

TEST_F(AutoencoderKl, MayHaveAConvolutionBetweenItsLatentsAndItsNetworks) {
    auto without = of("sd");
    without.remove("post_quant_conv.weight").remove("post_quant_conv.bias");
    const auto checkpoint = open(without);
    ASSERT_EQ(family_of(checkpoint), "sd");
    EXPECT_FALSE(checkpoint->widths().quantiser);
    EXPECT_NE(picture(*checkpoint), picture(open(of("sd")).value()));
    auto with = of("flux.1");
    with.tensors.push_back(
        test::stored("post_quant_conv.weight", tensor::DType::F32, {16, 16, 1, 1}, std::vector<float>(256, 0.1F)));
    with.tensors.push_back(test::stored("post_quant_conv.bias", tensor::DType::F32, {16}, std::vector<float>(16, 0)));
    const auto other = open(with);
    ASSERT_EQ(family_of(other), "flux.1");
    EXPECT_TRUE(other->widths().quantiser);
}

TEST_F(AutoencoderKl, IsRefusedWhereItsConfigurationSaysOtherwise) {
    const auto refused = [&](const std::string& field) {
        return family_of(open_with(R"({"_class_name": "AutoencoderKL", )" + field + "}", "sd"));
    };
    EXPECT_EQ(refused(R"("block_out_channels": [4, 8, 16, 16], "layers_per_block": 2, "norm_num_groups": 4,
                         "mid_block_add_attention": true, "use_post_quant_conv": true)"),
              "sd");
    EXPECT_THAT(refused(R"("norm_num_groups": 2)"),
                HasSubstr("its configuration says norm_num_groups \"2\", the "
                          "tensors are those of a Stable Diffusion decoder with 4"));
    EXPECT_THAT(refused(R"("block_out_channels": [4, 8, 8, 8])"), HasSubstr("with [4,8,16,16]"));
    EXPECT_THAT(refused(R"("use_post_quant_conv": false)"), HasSubstr("with true"));
    EXPECT_THAT(family_of(open_with(R"({"_class_name": "AutoencoderKLMochi"})", "sd")),
                HasSubstr("this is an AutoencoderKLMochi by its metadata"));
}

TEST_F(AutoencoderKl, NormsInPassesOfTheirOwnAndAddsInItsConvolutions) {
    const nn::Network network = find("flux.1")->decoder({.dim = 32, .z_dim = 16});
    const auto passes = nn::fuse(network, {.first_step = true});
    ASSERT_TRUE(passes) << passes.error().message;
    std::int64_t norms = 0, sums = 0;
    for (const nn::Pass& pass : *passes) {
        const auto* own = std::get_if<nn::OperatorPass>(&pass);
        norms += own != nullptr && own->has_parameters() ? 1 : 0;
        const auto* conv = std::get_if<nn::ConvPass>(&pass);
        sums += conv != nullptr && conv->residual ? 1 : 0;
    }
    EXPECT_EQ(norms, 2 * 14 + 2) << "of 14 residual blocks, an attention and the head";
    EXPECT_EQ(sums, 15);
}

TEST_F(AutoencoderKl, SaysThatALargePictureIsNotCutIntoBands) {
    const auto small = accel::cpu::create_device({.budget = {.bytes = 16 << 20}});
    const auto checkpoint = vae::Checkpoint::open("synthetic:flux.1,dim=4").value();
    const auto model = vae::Model::create(*small, checkpoint, {.precision = vae::Precision::Fp32}).value();
    const auto decoder = stream::Decoder::create(model, {64, 64});
    ASSERT_FALSE(decoder);
    EXPECT_THAT(decoder.error().message, HasSubstr("; its norms are over the whole picture, which is not cut into "
                                                   "bands; the budget of 16.0 MiB on "));
}

}  // namespace
}  // namespace kinetograph::families
