// LightVAE: recognised by its width among files with the names of Wan 2.1.
#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

namespace kinetograph::families {
namespace {

vae::Checkpoint opened(std::int64_t dim, const std::string& diffusers_class, bool diffusers_names = false) {
    const test::TemporaryFolder folder;
    auto file = test::CheckpointFile::synthetic(dim, tensor::DType::BF16);
    if (diffusers_names) file.rename(wan::diffusers_name);
    if (!diffusers_class.empty()) file.metadata["_class_name"] = diffusers_class;
    const std::string path = (folder.path() / "vae.safetensors").string();
    file.write(path);
    auto checkpoint = vae::Checkpoint::open(path);
    EXPECT_TRUE(checkpoint) << checkpoint.error().message;
    return std::move(*checkpoint);
}

TEST(LightVae, IsRecognisedByItsWidthAndHasTheStatisticsOfWan21) {
    // Diffusers has no class of its own for it: its files say Wan 2.1's, or none.
    for (const std::string diffusers_class : {"", "AutoencoderKLWan"}) {
        for (const bool diffusers_names : {false, true}) {
            const auto checkpoint = opened(24, diffusers_class, diffusers_names);
            EXPECT_EQ(checkpoint.family().name, "lightvae");
            EXPECT_EQ(checkpoint.latents_std(), wan::statistics().std);
        }
        EXPECT_EQ(opened(16, diffusers_class).family().name, "wan2.1");
    }
    EXPECT_EQ(opened(24, "AutoencoderKLQwenImage").family().name, "qwen-image");
}

}  // namespace
}  // namespace kinetograph::families
