// The bundled clip through the bundled checkpoint against frames 0 and 4 as PyTorch made them in float32.
#include <gtest/gtest.h>
#include <kinetograph/compute/stream/decoder.hpp>
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

TEST(DemoClip, OrbitInFp32IsWithin60DbOfTheStoredFrames) { expect_orbit_psnr(Precision::Fp32, 60.0); }
TEST(DemoClip, OrbitInBf16IsWithin38DbOfTheStoredFrames) { expect_orbit_psnr(Precision::Bf16, 38.0); }

}  // namespace
}  // namespace kinetograph::vae
