// samples/decode and samples/embed: that they do what their first lines promise.
#include <gtest/gtest.h>

#include <kinetograph/tests/tools/kinetograph/latent_files.hpp>
#include <kinetograph/tests/tools/kinetograph/program.hpp>

namespace kinetograph::test {
namespace {

TEST(DecodeSample, WritesEveryFrameAsOneTensor) {
    const TemporaryFolder folder;
    const auto out = folder.path() / "out.safetensors";
    const auto result = run_program(SAMPLE_DECODE, {write_latents(folder, "clip.safetensors"), kSmallWeights, out});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    const auto file = tensor::SafetensorsFile::open(out);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_NE(file->find("frames"), nullptr);
    EXPECT_EQ(file->find("frames")->shape, (tensor::Shape{5, 32, 48, 3}));
}

TEST(EmbedSample, ShowsEveryFrameOfTheClipInOrder) {
    const TemporaryFolder folder;
    const auto result = run_program(SAMPLE_EMBED, {write_latents(folder, "clip.safetensors"), kSmallWeights});
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    std::size_t at = 0;
    for (int frame = 0; frame < 5; ++frame) {
        at = result.out.find(fmt::format("frame {:3}, due at {:.3f} s", frame, frame / 12.0), at);
        ASSERT_NE(at, std::string::npos) << "frame " << frame << " is missing:\n" << result.out;
    }
    EXPECT_EQ(result.out.find("frame   5"), std::string::npos);
}

TEST(Samples, SayWhatIsWrongAndFail) {
    for (const char* sample : {SAMPLE_DECODE, SAMPLE_EMBED}) {
        EXPECT_EQ(run_program(sample, {}).exit_code, 2) << sample;
    }
    const auto result = run_program(SAMPLE_EMBED, {"/nowhere/clip.safetensors", kSmallWeights});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("/nowhere/clip.safetensors"), std::string::npos) << result.messages;
}

}  // namespace
}  // namespace kinetograph::test
