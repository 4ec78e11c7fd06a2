// config.json identifies the file beside it in a diffusers folder.
#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

namespace kinetograph::formats {
namespace {

class DiffusersFolder : public testing::Test {
  protected:
    Result<vae::Checkpoint> open(const std::string& config, const std::string& name) {
        folder_.write("config.json", config);
        const std::string path = (folder_.path() / name).string();
        test::CheckpointFile::synthetic(2).rename(families::wan::diffusers_name).write(path);
        return vae::Checkpoint::open(path);
    }
    const test::TemporaryFolder folder_;
};

constexpr const char* kFile = "diffusion_pytorch_model.safetensors";

TEST_F(DiffusersFolder, SaysWhoseTheTensorsAreAndTheirStatistics) {
    const auto checkpoint = open(R"({"_class_name": "AutoencoderKLQwenImage", "z_dim": 16,
        "latents_mean": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,-1.5],
        "latents_std": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,0.5]})",
                                 kFile);
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    EXPECT_EQ(checkpoint->family().name, "qwen-image");
    EXPECT_EQ(checkpoint->latents_mean().back(), -1.5F);
    EXPECT_EQ(checkpoint->latents_std().back(), 0.5F);
}

TEST_F(DiffusersFolder, IsWan21WhereItSaysSoOrNothing) {
    EXPECT_EQ(open(R"({"_class_name": "AutoencoderKLWan"})", kFile)->family().name, "wan2.1");
    EXPECT_EQ(open("{}", kFile)->family().name, "wan2.1");
}

TEST_F(DiffusersFolder, NamesAClassThatCannotBeDecoded) {
    const auto checkpoint = open(R"({"_class_name": "AutoencoderKLMochi"})", kFile);
    ASSERT_FALSE(checkpoint);
    EXPECT_TRUE(checkpoint.error().message.ends_with(
        ": this is an AutoencoderKLMochi by its metadata; `kinetograph families` lists what can be decoded"))
        << checkpoint.error().message;
}

TEST_F(DiffusersFolder, DoesNotSpeakForFilesOfOtherNames) {
    EXPECT_EQ(open(R"({"_class_name": "AutoencoderKLMochi"})", "vae.safetensors")->family().name, "wan2.1");
}

TEST_F(DiffusersFolder, HasAReadableConfigOrNone) {
    const auto checkpoint = open("[1]", kFile);
    ASSERT_FALSE(checkpoint);
    EXPECT_TRUE(checkpoint.error().message.ends_with("config.json: no JSON object")) << checkpoint.error().message;
}

}  // namespace
}  // namespace kinetograph::formats
