// kinetograph calibrate, what it measures, and what it writes.
#include <kinetograph/tools/kinetograph/picture_errors.hpp>

#include <cmath>

#include "latent_files.hpp"
#include "program.hpp"

namespace kinetograph::test {
namespace {

TEST(PictureErrors, AreTheDecibelsAndTheSimilarityOfKnownPictures) {
    constexpr std::int64_t kHeight = 16, kWidth = 20;
    std::vector<float> reference(kHeight * kWidth * 3), other;
    for (std::size_t i = 0; i < reference.size(); ++i) reference[i] = static_cast<float>(i % 7) / 7 - 0.5F;
    other = reference;
    cli::PictureErrors errors;
    errors.add(other, reference, kHeight, kWidth);
    EXPECT_DOUBLE_EQ(errors.psnr(), 140);
    EXPECT_DOUBLE_EQ(errors.ssim(), 1);
    for (float& value : other) value += 0.02F;
    errors.add(other, reference, kHeight, kWidth);
    EXPECT_NEAR(errors.worst_psnr(), 40, 1e-3) << "a range of 2 over 0.02";
    EXPECT_NEAR(errors.psnr(), 40 + 10 * std::log10(2.0), 1e-3) << "the squares of both pictures are averaged";
    for (std::size_t i = 0; i < other.size(); ++i) other[i] = -1.0F / 7 - reference[i];  // about the mean
    cli::PictureErrors inverted;
    inverted.add(other, reference, kHeight, kWidth);
    EXPECT_LT(inverted.ssim(), -0.8);
}

class Calibrate : public testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    ProgramResult calibrate(const std::vector<std::string>& more) {
        std::vector<std::string> words{"calibrate",
                                       "--weights",
                                       "synthetic:wan2.1,dim=4",
                                       "--lane",
                                       "cpu",
                                       "--latents",
                                       write_latents(folder_, "a.safetensors")};
        words.insert(words.end(), more.begin(), more.end());
        return run_program(words);
    }
    const TemporaryFolder folder_;
};

TEST_F(Calibrate, MakesACheckpointWithWhatItMeasured) {
    const std::string held_out = write_latents(folder_, "b.safetensors", 1);
    const auto made = calibrate({"--held-out", held_out, "-o", path("int8.safetensors")});
    ASSERT_EQ(made.exit_code, 0) << made.messages;
    EXPECT_NE(made.out.find("int8.safetensors: 18 layers of recipe half-folded"), std::string::npos) << made.out;
    EXPECT_NE(made.out.find("against fp32 on b.safetensors: "), std::string::npos) << made.out;

    const auto file = tensor::SafetensorsFile::open(path("int8.safetensors")).value();
    const auto& metadata = file.metadata();
    EXPECT_EQ(metadata.at("kinetograph.int8"), "1");
    EXPECT_EQ(metadata.at("kinetograph.int8.clips"), "b.safetensors");
    EXPECT_GT(std::stod(metadata.at("kinetograph.int8.psnr")), 35);
    EXPECT_LE(std::stod(metadata.at("kinetograph.int8.psnr.worst")), std::stod(metadata.at("kinetograph.int8.psnr")));
    EXPECT_GT(std::stod(metadata.at("kinetograph.int8.ssim")), 0.9);
    const auto of_module = [&](const std::string& module) {
        EXPECT_NE(made.out.find("  " + module), std::string::npos) << made.out;
        return std::stod(metadata.at("kinetograph.int8.psnr." + module));
    };
    const double before = of_module("decoder.middle.2"), first = of_module("decoder.upsamples.4");
    EXPECT_GT(before, first) << "no layer before reads bytes";
    EXPECT_GT(first, 35);
    EXPECT_GT(of_module("decoder.head.2"), 30);

    for (const auto& [weights, warned] :
         {std::pair(path("int8.safetensors"), false), std::pair(std::string("synthetic:wan2.1,dim=4"), true)}) {
        auto words = decode(held_out, path("frames.safetensors"), weights);
        words.insert(words.end(), {"--lane", "cpu", "--sums", "int8"});
        const auto decoded = run_program(words);
        ASSERT_EQ(decoded.exit_code, 0) << decoded.messages;
        EXPECT_EQ(decoded.messages.find("it has no calibration for sums int8") != std::string::npos, warned)
            << decoded.messages;
    }
}

TEST_F(Calibrate, TakesARecipeByItsName) {
    const auto made = calibrate({"--recipe", "last-stage", "-o", path("int8.safetensors")});
    ASSERT_EQ(made.exit_code, 0) << made.messages;
    EXPECT_EQ(made.out, path("int8.safetensors") + ": 6 layers of recipe last-stage\n");
    const auto refused = calibrate({"--recipe", "all", "-o", path("other.safetensors")});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.messages.find("has no recipe \"all\"; it has half-folded"), std::string::npos)
        << refused.messages;
    EXPECT_FALSE(std::filesystem::exists(path("other.safetensors")));
}

TEST_F(Calibrate, DoesNotOverwriteWhatItReads) {
    const auto refused = calibrate({"-o", path("a.safetensors")});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.messages.find("a.safetensors"), std::string::npos) << refused.messages;
}

}  // namespace
}  // namespace kinetograph::test
