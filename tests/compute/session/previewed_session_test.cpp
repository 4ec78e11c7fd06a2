// Sessions that open at once: what suits as a preview, how it is found, and that the large checkpoint's frames follow.
#include <kinetograph/compute/session/previewed_session.hpp>
#include <kinetograph/tests/compute/stream/small_decoder.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace kinetograph::session {
namespace {

std::unique_ptr<PreviewedSession> open_with(const std::string& preview) {
    auto session = PreviewedSession::open("synthetic:wan2.1,dim=2", preview,
                                          {.device = "cpu", .model = {.precision = vae::Precision::Fp32}});
    EXPECT_TRUE(session) << session.error().message;
    return std::move(*session);
}

TEST(PreviewedSessions, DecodeWithTheLargeCheckpointOnceItIsOpen) {
    const vae::Latents clip = stream::testing::small_clip(3);
    const auto session = open_with("synthetic:taew2.1,dim=2");
    const auto early = session->decode(clip, {.loop = true}).value();
    ASSERT_TRUE(session->session());
    const auto late = session->decode(clip).value();
    EXPECT_FALSE(late->previews());

    auto large = stream::Decoder::create(session->session().value()->model(), {clip.height, clip.width}).value();
    const auto wanted = stream::testing::expected_frames(*large, clip);
    std::size_t in_a_row = 0;  // of the large checkpoint's: no frame of the preview follows
    for (int i = 0; i < 20'000 && in_a_row < wanted.size(); ++i) {
        const auto frame = early->take(std::chrono::seconds(30));
        ASSERT_TRUE(frame && *frame);
        const auto* pixels = reinterpret_cast<const std::uint8_t*>((*frame)->host.data());
        const bool is_large = std::ranges::equal(std::span(pixels, (*frame)->host.size()),
                                                 wanted.at(static_cast<std::size_t>((*frame)->label.index)));
        EXPECT_TRUE(is_large || in_a_row == 0);
        in_a_row = is_large ? in_a_row + 1 : 0;
        ASSERT_TRUE(early->release(**frame));
    }
    EXPECT_EQ(in_a_row, wanted.size());
}

TEST(PreviewedSessions, RefuseAPreviewOfOtherLatents) {
    const auto sentence_of = [](const std::string& preview) {
        const auto session = open_with(preview)->session();
        return session ? "none" : session.error().message;
    };
    EXPECT_EQ(
        sentence_of("synthetic:taehv,dim=2"),
        "synthetic:taehv,dim=2 is a TAEHV decoder of HunyuanVideo latents, synthetic:wan2.1,dim=2 a Wan 2.1 decoder "
        "of Wan 2.1 latents");
}

TEST(PreviewedSessions, FindTheLargestSmallDecoderBesideTheCheckpoint) {
    const test::TemporaryFolder folder;
    const auto write = [&](const std::string& name, const std::string& family, std::int64_t dim) {
        const std::string path = (folder.path() / name).string();
        test::CheckpointFile::synthetic(dim, tensor::DType::BF16, family).write(path);
        return path;
    };
    const std::string large = write("wan_2.1_vae.safetensors", "wan2.1", 16);
    write("wan_2.1_narrow.safetensors", "wan2.1", 1);
    write("taehv.safetensors", "taew2.1", 5);  // of HunyuanVideo, which no large decoder takes
    write("taew2_2.safetensors", "taew2.2", 5);
    EXPECT_FALSE(find_preview(large, 16));
    write("taew2_1_small.safetensors", "taew2.1", 2);
    const std::string tiny = write("taew2_1.safetensors", "taew2.1", 4);
    EXPECT_EQ(find_preview(large, 16), tiny);
    EXPECT_FALSE(find_preview("synthetic:wan2.1", 16));
    EXPECT_FALSE(find_preview(large, 32));
}

}  // namespace
}  // namespace kinetograph::session
