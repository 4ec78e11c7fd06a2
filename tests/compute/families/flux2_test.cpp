// FLUX.2: its names, and the statistics of its latents and how these come: raw, or in patches and normalised.
#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

namespace kinetograph::families {
namespace {

using testing::HasSubstr;
using vae::LatentScale;

constexpr std::int64_t kPatched = 128;

/// 0, 1, 2 ... as values between -1 and 1.
std::vector<float> waves(std::int64_t count, float speed) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(std::sin(speed * static_cast<float>(i)));
    return values;
}

class Flux2 : public testing::Test {
  protected:
    Flux2() {
        for (std::int64_t i = 0; i < kPatched; ++i) {
            mean_.push_back(0.01F * static_cast<float>(i) - 0.5F);
            variance_.push_back(0.5F + 0.03F * static_cast<float>(i));
        }
    }
    /// Decoder and encoder of width 4 with the batch norm.
    test::CheckpointFile whole() const {
        const auto decoder = vae::Checkpoint::open("synthetic:flux.2,dim=4").value();
        auto file = test::CheckpointFile::synthetic(4, tensor::DType::F32, "flux.2");
        const auto encoder = decoder.encoder().value();
        for (const std::string& name : encoder.tensor_names())
            file.tensors.push_back(test::stored(name, tensor::DType::F32, *encoder.shape(name), *encoder.load(name)));
        file.tensors.push_back(test::stored("bn.running_mean", tensor::DType::F32, {kPatched}, mean_));
        file.tensors.push_back(test::stored("bn.running_var", tensor::DType::F32, {kPatched}, variance_));
        return file;
    }
    Result<vae::Checkpoint> open(const test::CheckpointFile& file, const vae::CheckpointChoices& choices = {}) const {
        const std::string path = (folder_.path() / "ae.safetensors").string();
        file.write(path);
        return vae::Checkpoint::open(path, {}, choices);
    }
    static std::string refusal(const auto& result) { return result ? "accepted" : result.error().message; }
    Result<vae::Latents> read(const vae::Checkpoint& checkpoint, const tensor::Shape& shape,
                              const std::vector<float>& values, LatentScale scale = LatentScale::Auto,
                              const std::string& mark = "") const {
        test::CheckpointFile file{{test::stored("latents", tensor::DType::F32, shape, values)}, {}};
        if (!mark.empty()) file.tensors.push_back(test::stored(mark, tensor::DType::F32, {1}, {0}));
        file.write(folder_.path() / "clip.safetensors");
        return vae::Latents::open(folder_.path() / "clip.safetensors", vae::wanted_by(checkpoint, scale));
    }
    static std::string notes_of(const vae::Latents& latents) {
        std::string all;
        for (const vae::Note& note : latents.notes) all += note.text + "\n";
        return all;
    }

    const test::TemporaryFolder folder_;
    std::vector<float> mean_, variance_;
};

TEST_F(Flux2, IsKnownByItsChannelsUnderItsAuthorsNamesAndByItsClass) {
    const auto plain = open(whole());
    ASSERT_TRUE(plain) << plain.error().message;
    EXPECT_EQ(plain->family().name, "flux.2");
    EXPECT_TRUE(plain->widths().quantiser);
    auto authors = whole().rename([](const std::string& name) {
        return name.starts_with("post_quant_conv.") ? "decoder." + name
               : name.starts_with("quant_conv.")    ? "encoder." + name
                                                    : name;
    });
    const auto original = open(authors);
    ASSERT_TRUE(original) << original.error().message;
    EXPECT_TRUE(original->widths().quantiser);
    EXPECT_TRUE(original->encoder()->widths().quantiser);
    EXPECT_EQ(original->load("post_quant_conv.weight").value(), plain->load("post_quant_conv.weight").value());
    // In a whole model's file, by diffusers' names, with a narrower decoder than the encoder is.
    const auto& to_diffusers = find("flux.2")->diffusers_name;
    const auto within = open(whole().rename([&](const std::string& name) { return "vae." + to_diffusers(name); }));
    ASSERT_TRUE(within) << within.error().message;
    EXPECT_EQ(within->latents_mean(), mean_);
    const std::string class_name = R"({"_class_name": "AutoencoderKLFlux2", "block_out_channels": [9, 9, 9, 9], )";
    const auto configured = [&](const std::string& field) {
        folder_.write("config.json", class_name + field + "}");
        whole().rename(to_diffusers).write(folder_.path() / "diffusion_pytorch_model.safetensors");
        return vae::Checkpoint::open((folder_.path() / "diffusion_pytorch_model.safetensors").string());
    };
    EXPECT_EQ(refusal(configured(R"("decoder_block_out_channels": [4, 8, 16, 16], "patch_size": [2, 2])")), "accepted");
    EXPECT_EQ(refusal(configured(R"("decoder_block_out_channels": null)")), "accepted");
    EXPECT_THAT(refusal(configured(R"("decoder_block_out_channels": [4, 8, 8, 8])")), HasSubstr("with [4,8,16,16]"));
    EXPECT_THAT(refusal(configured(R"("patch_size": [4, 4])")), HasSubstr("says patch_size \"[4,4]\""));
    EXPECT_NEAR(configured(R"("batch_norm_eps": 1.5)")->latents_std().front(), std::sqrt(2.0F), 1e-6F);
}

TEST_F(Flux2, HasTheStatisticsOfItsBatchNorm) {
    const auto checkpoint = open(whole());
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->latents_mean(), mean_);
    ASSERT_EQ(checkpoint->latents_std().size(), 128U);
    EXPECT_FLOAT_EQ(checkpoint->latents_std()[100], std::sqrt(variance_[100] + 1e-4F));
    EXPECT_EQ(open(whole(), {.statistics = "none"})->latents_std(), std::vector<float>(128, 1));
    EXPECT_THAT(refusal(open(whole(), {.statistics = "flux.2"})), HasSubstr("each of its checkpoints has its own"));
    auto without = whole();
    without.remove("bn.running_mean").remove("bn.running_var");
    const auto bare = open(without);
    ASSERT_TRUE(bare) << bare.error().message;
    ASSERT_EQ(bare->notes().size(), 1U);
    EXPECT_THAT(bare->notes().front().text, HasSubstr("it has no bn.running_mean and bn.running_var: latents of 128 "
                                                      "channels are taken with mean 0 and deviation 1"));
    EXPECT_THAT(refusal(open(whole().remove("bn.running_var"))), HasSubstr("tensor bn.running_var is missing"));
    const auto with_variance = [&](const std::vector<float>& values) {
        auto file = whole();
        file.at("bn.running_var") = test::stored("bn.running_var", tensor::DType::F32, {std::ssize(values)}, values);
        return refusal(open(file));
    };
    EXPECT_THAT(with_variance({1, 2}), HasSubstr("tensor bn.running_var has the shape [2]"));
    EXPECT_THAT(with_variance(std::vector<float>(128, -1)), HasSubstr("holds -1, a variance is not below 0"));
    EXPECT_THAT(with_variance(std::vector<float>(128, NAN)), HasSubstr("holds a value that is not finite"));
}

TEST_F(Flux2, TakesRawLatentsAndNormalisedOnesInPatches) {
    const auto checkpoint = open(whole()).value();
    const std::vector<float> raw = waves(32 * 4 * 6, 0.7F);
    const auto at = [&](std::int64_t c, std::int64_t y, std::int64_t x) {
        return static_cast<std::size_t>((c * 4 + y) * 6 + x);
    };
    std::vector<float> patches;
    for (std::int64_t channel = 0; channel < kPatched; ++channel) {  // (c, dy, dx)
        const auto i = static_cast<std::size_t>(channel);
        for (std::int64_t y = 0; y < 2; ++y)
            for (std::int64_t x = 0; x < 3; ++x)
                patches.push_back((raw[at(channel / 4, 2 * y + channel / 2 % 2, 2 * x + channel % 2)] - mean_[i]) /
                                  std::sqrt(variance_[i] + 1e-4F));
    }
    const auto pixels = read(checkpoint, {1, 32, 4, 6}, raw);
    ASSERT_TRUE(pixels) << pixels.error().message;
    EXPECT_EQ(pixels->values, raw);
    for (const std::string mark : {"", "latent_format_version_0"}) {  // ComfyUI leaves them normalised
        const auto packed = read(checkpoint, {1, kPatched, 2, 3}, patches, LatentScale::Auto, mark);
        ASSERT_TRUE(packed) << packed.error().message;
        EXPECT_EQ((std::vector{packed->channels, packed->height, packed->width}),
                  (std::vector<std::int64_t>{32, 4, 6}));
        EXPECT_THAT(packed->values, testing::Pointwise(testing::FloatNear(1e-5F), raw));
        EXPECT_THAT(notes_of(*packed), HasSubstr("its 128 channels are those of patches of 2 x 2 pixels"));
    }
    const auto clip = read(checkpoint, {kPatched, 1, 2, 3}, patches);
    ASSERT_TRUE(clip) << clip.error().message;
    EXPECT_THAT(clip->values, testing::Pointwise(testing::FloatNear(1e-5F), raw));
    // Said otherwise: patches of raw latents, and pixels of normalised ones.
    const auto of_raw = read(checkpoint, {kPatched, 2, 3}, patches, LatentScale::Raw);
    EXPECT_FLOAT_EQ(of_raw->values[at(0, 0, 1)], patches[6]) << "dx is the innermost of a patch";
    EXPECT_FLOAT_EQ(of_raw->values[at(0, 1, 0)], patches[12]);
    EXPECT_FLOAT_EQ(of_raw->values[at(1, 0, 0)], patches[24]);
    const auto back = read(checkpoint, {32, 4, 6}, of_raw->values, LatentScale::Normalized);
    EXPECT_THAT(back->values, testing::Pointwise(testing::FloatNear(1e-5F), raw));
    EXPECT_TRUE(read(checkpoint, {32, 3, 5}, waves(32 * 15, 1))) << "raw latents of odd sides";
}

TEST_F(Flux2, SaysWhatIsWrongWithOtherLatents) {
    const auto checkpoint = open(whole()).value();
    EXPECT_THAT(refusal(read(checkpoint, {1, 6, 128}, waves(6 * 128, 1))),
                HasSubstr("latents [1, 6, 128] are a row of patches, as diffusers' pipelines return them"));
    EXPECT_THAT(
        refusal(read(checkpoint, {1, 16, 2, 3}, waves(96, 1))),
        HasSubstr("is a FLUX.2 VAE and takes 32, or 128 of patches of 2 x 2 (16 channels are latents of FLUX.1"));
    EXPECT_THAT(refusal(read(checkpoint, {32, 3, 5}, waves(32 * 15, 1), LatentScale::Normalized)),
                HasSubstr("normalised latents are patches of 2 x 2 pixels, of which there are 5 x 3"));
    EXPECT_THAT(refusal(read(vae::Checkpoint::open("synthetic:flux.1,dim=4").value(), {1, 128, 2, 3}, waves(768, 1))),
                HasSubstr("takes 16 (128 channels are latents of FLUX.2 in patches of 2 x 2)"));
}

TEST_F(Flux2, DoubtsAScaleThatItsValuesContradict) {
    for (std::int64_t i = 0; i < kPatched; ++i) {
        mean_[static_cast<std::size_t>(i)] = i % 2 == 0 ? 3.0F : -3.0F;
        variance_[static_cast<std::size_t>(i)] = i % 3 == 0 ? 9.0F : 0.1F;
    }
    const auto checkpoint = open(whole()).value();
    std::vector<float> normalised = waves(kPatched * 64, 1.3F), raw = normalised;
    for (std::size_t i = 0; i < raw.size(); ++i) {
        normalised[i] *= 1.414F;
        raw[i] = normalised[i] * std::sqrt(variance_[i / 64]) + mean_[i / 64];
    }
    EXPECT_THAT(notes_of(*read(checkpoint, {kPatched, 8, 8}, raw)),
                HasSubstr("if the colours are wrong, --latents raw"));
    EXPECT_THAT(notes_of(*read(checkpoint, {kPatched, 8, 8}, normalised)), testing::Not(HasSubstr("colours")));
    const auto pixels_of = [&](const std::vector<float>& patches) {
        return read(checkpoint, {kPatched, 8, 8}, patches, LatentScale::Raw)->values;
    };
    EXPECT_THAT(notes_of(*read(checkpoint, {32, 16, 16}, pixels_of(raw))), testing::Not(HasSubstr("colours")));
    EXPECT_THAT(notes_of(*read(checkpoint, {32, 16, 16}, pixels_of(normalised))),
                HasSubstr("are decoded as raw ones: if the colours are wrong, --latents normalized"));
}

TEST_F(Flux2, EncodesToWhatItDecodes) {
    const auto checkpoint = open(whole()).value();
    const auto encoded = [&](LatentScale scale, stream::PictureSize size) -> Result<std::vector<float>> {
        const auto session =
            session::Session::open(checkpoint,
                                   {.device = "cpu", .model = {.precision = vae::Precision::Fp32, .latents = scale}})
                .value();
        KG_TRY(const auto encoder, session->encode(size));
        EXPECT_TRUE(encoder->push(waves(3 * size.height * size.width, 0.01F), std::chrono::seconds(60)).value());
        encoder->finish();
        const auto latents = encoder->take(std::chrono::seconds(60)).value();
        EXPECT_EQ(std::ssize(latents->values),
                  encoder->facts().channels * encoder->facts().height * encoder->facts().width);
        return latents->values;
    };
    const auto raw = encoded(LatentScale::Raw, {32, 48}), normalised = encoded(LatentScale::Auto, {32, 48});
    ASSERT_TRUE(raw && normalised) << refusal(raw) << refusal(normalised);
    const auto again = read(checkpoint, {1, kPatched, 2, 3}, *normalised);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_THAT(again->values, testing::Pointwise(testing::FloatNear(1e-5F), *raw));
    EXPECT_TRUE(encoded(LatentScale::Raw, {24, 40}));
    EXPECT_EQ(refusal(encoded(LatentScale::Auto, {24, 40})),
              "FLUX.2: normalised latents are patches of 2 x 2, and pictures of 40x24 become 5x3 of them: other sides, "
              "or raw latents");
}

}  // namespace
}  // namespace kinetograph::families
