// The bundled clip through the bundled checkpoint against frames 0 and 4 as PyTorch made them in float32.
#include <gtest/gtest.h>
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/compute/vae/calibration.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/source_tree.hpp>

#include <cmath>
#include <filesystem>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

const std::filesystem::path kAssets = test::source_tree() / "assets";

/// PSNR in dB of values in [-1, 1]; `frame` [H, W, 3], `reference` [3, 2, H, W] of which frame `index` is meant.
double psnr(std::span<const float> frame, std::span<const float> reference, std::size_t index) {
    const std::size_t pixels = frame.size() / 3;
    double squared = 0;
    for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t p = 0; p < pixels; ++p) {
            const double d = static_cast<double>(frame[p * 3 + c]) - reference[(c * 2 + index) * pixels + p];
            squared += d * d;
        }
    return 10.0 * std::log10(4.0 * static_cast<double>(frame.size()) / squared);
}

void expect_orbit_psnr(Precision precision, double least_db) {
    const auto checkpoint = Checkpoint::open((kAssets / "demo_vae.safetensors").string());
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    const auto clip = Latents::open(kAssets / "orbit.safetensors");
    ASSERT_TRUE(clip) << clip.error().message;
    const auto stored = tensor::SafetensorsFile::open(kAssets / "orbit_ref.safetensors");
    ASSERT_TRUE(stored) << stored.error().message;
    const auto reference = tensor::to_f32(*stored->find("frames"), "frames");
    ASSERT_TRUE(reference);

    const auto device = accel::cpu::create_device();
    const auto decoder = Decoder::create_for(*Model::create(*device, *checkpoint, {.precision = precision}), *clip);
    ASSERT_TRUE(decoder) << decoder.error().message;
    const auto first = (*decoder)->step(clip->frame(0));
    ASSERT_TRUE(first) << first.error().message;
    const double frame0 = psnr(first->thwc(), *reference, 0);
    const auto second = (*decoder)->step(clip->frame(1));
    ASSERT_TRUE(second) << second.error().message;
    const double frame4 = psnr(second->pictures.back(), *reference, 1);
    EXPECT_GE(frame0, least_db);
    EXPECT_GE(frame4, least_db);
    std::printf("orbit %s: frame 0 %.1f dB, frame 4 %.1f dB\n", std::string(to_string(precision)).c_str(), frame0,
                frame4);
}

/// Latent frames 4 to 6 of a clip: in the middle of its motion.
Latents middle_of(const char* name) {
    Latents clip = Latents::open(kAssets / name).value();
    const std::int64_t pixels = clip.height * clip.width;
    std::vector<float> values;
    for (std::int64_t c = 0; c < clip.channels; ++c) {
        const auto first = clip.values.begin() + (c * clip.frames + 4) * pixels;
        values.insert(values.end(), first, first + 3 * pixels);
    }
    clip.values = std::move(values);
    clip.frames = 3;
    return clip;
}

TEST(DemoClip, OrbitInInt8CalibratedOnTunnelIsWithin60DbOfFp32) {
    const Checkpoint checkpoint = Checkpoint::open((kAssets / "demo_vae.safetensors").string()).value();
    const Latents tunnel = middle_of("tunnel.safetensors"), orbit = middle_of("orbit.safetensors");
    const auto device = accel::cpu::create_device();
    const auto calibration = calibrate(*device, checkpoint, checkpoint.family().bytes.front(), std::span(&tunnel, 1));
    ASSERT_TRUE(calibration) << calibration.error().message;
    const ModelOptions int8{.sums = conv::Sums::Int8, .byte_layers = calibration->layers};
    const auto tested = Decoder::create_for(*Model::create(*device, checkpoint, int8), orbit).value();
    const auto exact =
        Decoder::create_for(*Model::create(*device, checkpoint, {.precision = Precision::Fp32}), orbit).value();
    double squared = 0, worst = 0, frames = 0;
    for (std::int64_t t = 0; t < orbit.frames; ++t) {
        const auto made = tested->step(orbit.frame(t)).value(), wanted = exact->step(orbit.frame(t)).value();
        for (std::size_t i = 0; i < made.pictures.size(); ++i, ++frames) {
            double sum = 0;
            for (std::size_t at = 0; at < made.pictures[i].size(); ++at)
                sum += std::pow(double{made.pictures[i][at]} - wanted.pictures[i][at], 2);
            sum /= static_cast<double>(made.pictures[i].size());
            squared += sum;
            worst = std::max(worst, sum);
        }
    }
    const double mean_db = 10 * std::log10(4 * frames / squared), worst_db = 10 * std::log10(4 / worst);
    std::printf("orbit int8: %.1f dB, worst frame %.1f dB\n", mean_db, worst_db);
    EXPECT_GE(mean_db, 60);
    EXPECT_GE(worst_db, 58);
}

TEST(DemoClip, OrbitInFp32IsWithin60DbOfTheStoredFrames) { expect_orbit_psnr(Precision::Fp32, 60.0); }
TEST(DemoClip, OrbitInBf16IsWithin38DbOfTheStoredFrames) { expect_orbit_psnr(Precision::Bf16, 38.0); }

}  // namespace
}  // namespace kinetograph::vae
