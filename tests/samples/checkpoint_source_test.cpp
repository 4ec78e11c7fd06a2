// Clips of a checkpoint with a preview, as the viewer plays them.
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/samples/viewer/checkpoint_source.hpp>
#include <kinetograph/samples/viewer/options.hpp>
#include <kinetograph/samples/viewer/player.hpp>
#include <kinetograph/tests/compute/stream/small_decoder.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace kinetograph::viewer {
namespace {

class CheckpointSources : public ::testing::Test {
  protected:
    void SetUp() override {
        const vae::Latents clip = stream::testing::small_clip(3);
        const std::array tensors{tensor::NamedTensor{"latents",
                                                     {tensor::DType::F32,
                                                      {clip.channels, clip.frames, clip.height, clip.width},
                                                      reinterpret_cast<const std::byte*>(clip.values.data()),
                                                      clip.values.size() * sizeof(float)}}};
        ASSERT_TRUE(tensor::write_safetensors(latents_, tensors, {{"fps", "500"}}));
        test::CheckpointFile::synthetic(8, tensor::DType::BF16, "wan2.1").write(weights_);
    }

    const test::TemporaryFolder folder_;
    const std::filesystem::path latents_ = folder_.path() / "clip.safetensors";
    const std::string weights_ = (folder_.path() / "vae.safetensors").string();
    const std::string tiny_ = (folder_.path() / "tiny.safetensors").string();
    const session::SessionOptions options_{.device = "cpu", .model = {.precision = vae::Precision::Fp32}};
};

/// Whichever is open first: no frame is left out and none comes twice, and in the end frames are the checkpoint's.
TEST_F(CheckpointSources, GoOnFromThePreviewBesideTheCheckpointWithoutAJump) {
    test::CheckpointFile::synthetic(2, tensor::DType::BF16, "taew2.1").write(tiny_);
    CheckpointSource source(weights_, std::string(kFindPreview), options_);
    Player player(source, true, 1.0);
    Nanoseconds now = std::chrono::seconds(1000);
    player.open(latents_, now);
    for (std::int64_t shown = -1; shown < 0 || player.previews();) {
        const auto moved = player.advance(now += std::chrono::milliseconds(2), std::chrono::milliseconds(2));
        ASSERT_TRUE(moved) << moved.error().message;
        std::this_thread::yield();  // to the threads that open and decode
        if (!*moved) continue;
        ASSERT_EQ(player.frame()->index, (shown + 1) % player.clip()->frames);
        shown = player.frame()->index;
    }
}

TEST_F(CheckpointSources, OpenAClipWithTheNamedPreviewFirst) {
    CheckpointSource source(weights_, tiny_, options_);
    const auto clip = source.open(latents_, false);
    ASSERT_FALSE(clip);
    EXPECT_TRUE(clip.error().message.starts_with(tiny_)) << clip.error().message;
}

}  // namespace
}  // namespace kinetograph::viewer
