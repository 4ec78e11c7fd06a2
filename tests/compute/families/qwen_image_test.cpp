// The Qwen-Image decoder: recognised by its class under either kind of names, one latent frame a clip, nothing kept.
#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace kinetograph::families {
namespace {

class QwenImage : public testing::Test {
  protected:
    /// The synthetic decoder's tensors in a file that names its class.
    vae::Checkpoint checkpoint(bool diffusers_names) {
        auto file = test::CheckpointFile::synthetic(4);
        if (diffusers_names) file.rename(wan::diffusers_name);
        file.metadata["_class_name"] = "AutoencoderKLQwenImage";
        const std::string path = (folder_.path() / "vae.safetensors").string();
        file.write(path);
        auto opened = vae::Checkpoint::open(path, {}, {.statistics = "none"});  // as a synthetic one
        EXPECT_TRUE(opened) << opened.error().message;
        return std::move(*opened);
    }
    std::unique_ptr<stream::Decoder> decoder(const vae::Checkpoint& checkpoint) {
        const auto model = vae::Model::create(*device_, checkpoint, {.precision = vae::Precision::Fp32});
        auto created = stream::Decoder::create(model.value(), {2, 3});
        EXPECT_TRUE(created) << created.error().message;
        return std::move(*created);
    }
    std::vector<float> picture(stream::Decoder& decoder) const {
        const auto step = decoder.step(latent_);
        EXPECT_TRUE(step) << step.error().message;
        if (!step) return {};
        EXPECT_EQ(step->frames.count, 1);
        return step->thwc();
    }
    static std::vector<float> latent() {
        std::vector<float> values;
        for (int i = 0; i < 16 * 2 * 3; ++i) values.push_back(2.0F * std::sin(0.7F * static_cast<float>(i)));
        return values;
    }

    const test::TemporaryFolder folder_;
    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    const std::vector<float> latent_ = latent();
};

TEST_F(QwenImage, DecodesAlikeUnderTheNamesOfWanAndOfDiffusers) {
    const vae::Checkpoint original = checkpoint(false), diffusers = checkpoint(true);
    EXPECT_EQ(original.family().name, "qwen-image");
    EXPECT_EQ(diffusers.family().name, "qwen-image");
    EXPECT_EQ(diffusers.naming(), vae::KeyNaming::Diffusers);
    const std::vector<float> frame = picture(*decoder(original));
    EXPECT_EQ(frame.size(), 16U * 24U * 3U);
    EXPECT_EQ(picture(*decoder(diffusers)), frame);
    const auto wan = vae::Checkpoint::open("synthetic:wan2.1,dim=4").value();
    EXPECT_EQ(picture(*decoder(wan)), frame) << "the network of Wan 2.1, in a clip's first step";
}

TEST_F(QwenImage, IsMadeByRuleToo) {
    const auto synthetic = vae::Checkpoint::open("synthetic:qwen-image,dim=4").value();
    EXPECT_EQ(synthetic.family().title, "Qwen-Image");
    EXPECT_EQ(picture(*decoder(synthetic)), picture(*decoder(checkpoint(false))));
    EXPECT_EQ(vae::Checkpoint::open("synthetic:qwen-image").value().dim(), 96);
}

TEST_F(QwenImage, DecodesOneLatentFrameAClip) {
    const auto synthetic = vae::Checkpoint::open("synthetic:qwen-image,dim=4").value();
    const auto made = decoder(synthetic);
    const std::vector<float> first = picture(*made);
    const auto second = made->step(latent_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message, "a clip of this decoder is one step: reset() begins the next clip");
    ASSERT_TRUE(made->reset());
    EXPECT_EQ(picture(*made), first);

    const vae::Latents clip{"clip", 16, 2, 2, 3, std::vector<float>(2 * latent_.size()), 24.0, 0};
    const auto refused = stream::Decoder::create_for(vae::Model::create(*device_, synthetic).value(), clip);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "clip has 2 latent frames; a clip of synthetic:qwen-image,dim=4 is one");
}

TEST_F(QwenImage, KeepsNothingForALaterStep) {
    const auto wan = decoder(vae::Checkpoint::open("synthetic:wan2.1,dim=4").value());
    const auto qwen = decoder(vae::Checkpoint::open("synthetic:qwen-image,dim=4").value());
    EXPECT_LT(qwen->clip().memory().histories, wan->clip().memory().histories / 4);
    ASSERT_FALSE(picture(*qwen).empty());
    for (const graph::PlannedPass& pass : qwen->runner().executor().plan()->passes)
        EXPECT_FALSE(pass.name.ends_with(".keep")) << pass.name;
}

}  // namespace
}  // namespace kinetograph::families
