// kinetograph decode with files as other tools write them: what it assumes it says, and an option decides otherwise.
#include <gtest/gtest.h>

#include <kinetograph/engine/present/png.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include "../media/read_video.hpp"
#include "latent_files.hpp"
#include "program.hpp"

namespace kinetograph::test {
namespace {

constexpr std::int64_t kDim = 2;

class Inputs : public testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

    /// Latents [shape] under that name, with the metadata of no tool.
    std::string write(const std::string& name, const tensor::Shape& shape, const std::string& tensor = "latents") {
        CheckpointFile{{stored(tensor, tensor::DType::F32, shape, *vae::synthetic_tensor("latents", shape))}, {}}.write(
            path(name));
        return path(name);
    }

    /// What it says, and its frames in 8 bits; with `more` options.
    ProgramResult decode_raw(const std::string& latents, const std::string& weights,
                             const std::vector<std::string>& more = {}) {
        auto words = decode(latents, "-", weights);
        words.insert(words.end(), {"--lane", "cpu"});
        words.insert(words.end(), more.begin(), more.end());
        return run_program(words);
    }

    const TemporaryFolder folder_;
    const std::string small_ = "synthetic:wan2.1,dim=2";
};

TEST_F(Inputs, HaveTheRateOfTheFamilyUnlessAnOptionGivesAnother) {
    const std::string clip = write("clip.safetensors", {16, 2, 2, 2});
    for (const auto& [option, fps] : {std::pair("", 16.0), {"30", 30.0}}) {
        auto words = decode(clip, path("out.mp4"), small_);
        if (*option != '\0') words.insert(words.end(), {"--fps", option});
        const auto result = run_program(words);
        ASSERT_EQ(result.exit_code, 0) << result.messages;
        EXPECT_NEAR(read_video(path("out.mp4")).fps, fps, 1e-9);
        EXPECT_EQ(result.messages.find("16 frames a second are assumed, as for Wan 2.1") != std::string::npos,
                  *option == '\0')
            << result.messages;
    }
}

TEST_F(Inputs, OfOnePictureGiveThePictureOfThatName) {
    const auto result = run_program(decode(write("one.safetensors", {16, 1, 2, 2}), path("pic.png"), small_));
    ASSERT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_NE(result.messages.find(path("pic.png") + ": 1 frame of 16x16"), std::string::npos) << result.messages;
    EXPECT_TRUE(present::read_png(path("pic.png")));
    EXPECT_EQ(folder_.count_entries(), 2U);
    const auto several = run_program(decode(write("two.safetensors", {16, 2, 2, 2}), path("many.png"), small_));
    EXPECT_NE(several.messages.find(path("many-00000.png") + " to " + path("many-00004.png") + ": 5 frames"),
              std::string::npos)
        << several.messages;
}

TEST_F(Inputs, OfABatchOrOfSeveralTensorsAreChosen) {
    const std::string batch = write("batch.safetensors", {2, 16, 1, 2, 2});
    const auto asked = decode_raw(batch, small_);
    EXPECT_EQ(asked.exit_code, 1);
    EXPECT_NE(asked.messages.find("--batch-item, a number from 0 to 1, chooses the one to decode"), std::string::npos);
    const auto first = decode_raw(batch, small_, {"--batch-item", "0"});
    const auto second = decode_raw(batch, small_, {"--batch-item", "1", "--tensor", "latents"});
    ASSERT_EQ(first.exit_code + second.exit_code, 0) << first.messages << second.messages;
    EXPECT_EQ(first.out.size(), 16U * 16U * 3U);
    EXPECT_NE(first.out, second.out);
    EXPECT_NE(decode_raw("-", small_, {"--tensor", "a"}).messages.find("--tensor: latents of - are no file"),
              std::string::npos);
}

TEST_F(Inputs, OfSeveralDecodersInAFileAreNamedByTheirPrefix) {
    CheckpointFile both = CheckpointFile::synthetic(kDim);
    both.rename([](const std::string& name) { return "vae." + name; });
    for (auto tensor : CheckpointFile::synthetic(kDim).tensors) {
        tensor.name = "ema." + tensor.name;
        if (tensor.name.ends_with("bias")) std::ranges::fill(tensor.bytes, std::byte{});
        both.tensors.push_back(std::move(tensor));
    }
    both.write(path("both.safetensors"));
    CheckpointFile::synthetic(kDim).write(path("one.safetensors"));
    const std::string clip = write("clip.safetensors", {16, 1, 2, 2}), file = path("both.safetensors");
    const auto asked = decode_raw(clip, file);
    EXPECT_EQ(asked.exit_code, 1);
    EXPECT_NE(asked.messages.find("--weights " + file + ":ema or " + file + ":vae takes one of them"),
              std::string::npos)
        << asked.messages;
    const auto vae = decode_raw(clip, file + ":vae"), ema = decode_raw(clip, file + ":ema");
    ASSERT_EQ(vae.exit_code + ema.exit_code, 0) << vae.messages << ema.messages;
    EXPECT_EQ(vae.out, decode_raw(clip, path("one.safetensors")).out);
    EXPECT_NE(vae.out, ema.out);
    auto over = decode(clip, file, file + ":vae");
    EXPECT_NE(run_program(over).messages.find("would overwrite --weights"), std::string::npos);
    EXPECT_EQ(run_program({"weights", file + ":vae"}).exit_code, 0);
}

TEST_F(Inputs, AreDecodedWithTheStatisticsAndTheScaleThatAreChosen) {
    CheckpointFile::synthetic(kDim).write(path("vae.safetensors"));
    const std::string clip = write("clip.safetensors", {16, 1, 2, 2}), file = path("vae.safetensors");
    const auto of_the_space = decode_raw(clip, file), none = decode_raw(clip, file, {"--statistics", "none"});
    ASSERT_EQ(of_the_space.exit_code + none.exit_code, 0) << of_the_space.messages << none.messages;
    EXPECT_NE(of_the_space.out, none.out);
    EXPECT_EQ(decode_raw(clip, file, {"--statistics", "wan2.1"}).out, of_the_space.out);
    EXPECT_EQ(decode_raw(clip, file, {"--latents", "raw"}).out, none.out);
    EXPECT_NE(decode_raw(clip, file, {"--family", "wan9"}).messages.find("family wan9: wanted flux.1"),
              std::string::npos);
}

TEST_F(Inputs, ThatAreWebPagesAreCalledThat) {
    folder_.write("page.safetensors", "\n<!doctype html>\n<html><body>" + std::string(400, 'x'));
    const std::string clip = write("clip.safetensors", {16, 1, 2, 2}), sentence =
                                                                           ": this is a web page (HTML), not the "
                                                                           "file itself: download it again";
    EXPECT_NE(decode_raw(clip, path("page.safetensors")).messages.find(path("page.safetensors") + sentence),
              std::string::npos);
    EXPECT_NE(decode_raw(path("page.safetensors"), small_).messages.find(path("page.safetensors") + sentence),
              std::string::npos);
}

}  // namespace
}  // namespace kinetograph::test
