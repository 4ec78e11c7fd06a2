// kinetograph view --roundtrip: what it measures, what it shows and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <kinetograph/engine/present/png.hpp>

#include "latent_files.hpp"
#include "program.hpp"

namespace kinetograph::test {
namespace {

class RoundTripProgram : public testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    ProgramResult view(const std::string& pictures, const std::string& weights,
                       const std::vector<std::string>& more = {}) const {
        std::vector<std::string> arguments{"view", pictures,     "--roundtrip", "--weights", weights,       "--lane",
                                           "cpu",  "--headless", "--size",      "640x240",   "--precision", "fp32"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_program(arguments, {.environment = {"DISPLAY", "WAYLAND_DISPLAY"}});
    }
    /// Pictures of 48x32 and their bytes.
    std::string make_pictures(const std::string& name, std::int64_t latent_frames) const {
        const auto clip = write_latents(folder_, "made.safetensors", latent_frames);
        const auto files = run_program(decode(clip, path(name), "synthetic:wan2.1,dim=4"));
        EXPECT_EQ(files.exit_code, 0) << files.messages;
        return run_program(decode(clip, "-", "synthetic:wan2.1,dim=4")).out;
    }
    /// PSNR of decode's frames of encode's latents, as `view` says it; frame i is of picture i + `later`.
    std::string measured(const std::string& pictures, const std::string& originals, const std::string& weights,
                         std::size_t later = 0) const {
        const auto encoded = run_program({"encode", pictures, "-o", path("latents.safetensors"), "--weights", weights,
                                          "--lane", "cpu", "--precision", "fp32"});
        EXPECT_EQ(encoded.exit_code, 0) << encoded.messages;
        auto arguments = decode(path("latents.safetensors"), "-", weights);
        arguments.insert(arguments.end(), {"--lane", "cpu", "--precision", "fp32"});
        const std::string frames = run_program(arguments).out;
        constexpr std::size_t kFrame = 48 * 32 * 3;
        EXPECT_FALSE(frames.empty());
        double sum = 0;
        for (std::size_t i = 0; i < frames.size(); ++i) {
            const std::size_t picture = std::min(i / kFrame + later, originals.size() / kFrame - 1);
            const auto original = static_cast<unsigned char>(originals.at(picture * kFrame + i % kFrame));
            const int difference = static_cast<unsigned char>(frames[i]) - int{original};
            sum += difference * difference;
        }
        return fmt::format("PSNR of the round trip {:.2f} dB over {} frame{}",
                           10 * std::log10(255.0 * 255.0 * static_cast<double>(frames.size()) / sum),
                           frames.size() / kFrame, frames.size() == kFrame ? "" : "s");
    }

    const TemporaryFolder folder_;
};

#define EXPECT_PART(text, part) EXPECT_NE((text).find(part), std::string::npos) << "said: " << (text)

TEST_F(RoundTripProgram, ShowsAndMeasuresWhatEncodeAndDecodeMakeOfAClip) {
    const std::string originals = make_pictures("f%03d.png", 3);
    for (const auto& [weights, later] :
         {std::pair<std::string, std::size_t>{"synthetic:wan2.1,dim=4", 0}, {"synthetic:taew2.1,dim=8", 3}}) {
        const auto shown = view(path("f%03d.png"), weights, {"--screenshot", path("shot.png")});
        ASSERT_EQ(shown.exit_code, 0) << shown.messages;
        EXPECT_PART(shown.messages, "9 frames shown");
        EXPECT_PART(shown.messages, measured(path("f%03d.png"), originals, weights, later));
    }
    const auto picture = present::read_png(path("shot.png"));
    ASSERT_TRUE(picture) << picture.error().message;
    EXPECT_EQ(picture->width, 640U);
    const auto two = view(path("f%03d.png"), "synthetic:wan2.1,dim=4", {"--frames", "2"});
    EXPECT_PART(two.messages, "2 frames shown");
}

TEST_F(RoundTripProgram, TakesOnePictureOfAFamilyForThese) {
    const std::string originals = make_pictures("p.png", 1);
    const std::string weights = "synthetic:flux.2,dim=4";
    const auto shown = view(path("p.png"), weights);
    ASSERT_EQ(shown.exit_code, 0) << shown.messages;
    EXPECT_PART(shown.messages, measured(path("p.png"), originals, weights));
    make_pictures("f%03d.png", 3);
    const auto several = view(path("f%03d.png"), weights);
    EXPECT_EQ(several.exit_code, 1);
    EXPECT_PART(several.messages, "it has more than one picture, a clip of FLUX.2 is one: --frames 1 takes the first");
    EXPECT_EQ(view(path("f%03d.png"), weights, {"--frames", "1"}).exit_code, 0);
}

TEST_F(RoundTripProgram, RefusesWhatIsNoRoundTrip) {
    make_pictures("p.png", 1);
    std::ofstream(path("text.mp4")) << "no video";
    const std::string weights = "synthetic:wan2.1,dim=4";
    const auto refused = [&](const std::string& pictures, const std::vector<std::string>& more, int code = 1) {
        const auto result = view(pictures, weights, more);
        EXPECT_EQ(result.exit_code, code) << result.messages;
        return result.messages;
    };
    EXPECT_PART(refused(path("none.mp4"), {}), path("none.mp4") + ": ");
    EXPECT_PART(refused(path("text.mp4"), {}), path("text.mp4") + ": ");
    EXPECT_PART(refused(path("p.png"), {"--pictures", "50x32"}), "50x32");
    EXPECT_PART(refused(path("p.png"), {"--latents", "raw"}), "--latents does not go with --roundtrip");
    EXPECT_PART(refused(path("p.png"), {"--tensor", "z"}), "what says how latents are read does not go with");
    EXPECT_PART(refused(path("p.png"), {"--loop", "--frames", "9"}), "--loop does not go with --roundtrip");
    EXPECT_PART(refused("-", {}), "does not go with --roundtrip: pictures come from a file");
    const auto without = run_program({"view", path("p.png"), "--roundtrip", "--headless", "--weights",
                                      "synthetic:lighttaew2.1,dim=8", "--lane", "cpu"});
    EXPECT_EQ(without.exit_code, 1);
    EXPECT_PART(without.messages, "of which only the decoder is built");
}

}  // namespace
}  // namespace kinetograph::test
