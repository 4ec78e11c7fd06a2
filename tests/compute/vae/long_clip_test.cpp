// A clip of 1,000 latent frames with fast sums: nothing that steps hand on accumulates.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

constexpr int kClipSteps = test::kAddressSanitized ? 150 : 1000;
constexpr int kPeriod = 5;  // latent frames after which the clip repeats
constexpr int kReach = 60;  // more latent frames than a frame depends on
constexpr LatentSize kClipSize{2, 3};

std::vector<float> repeating_latent(int step) {
    std::vector<float> values(static_cast<std::size_t>(16 * kClipSize.height * kClipSize.width));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(1.7F * static_cast<float>(i) + 2.3F * static_cast<float>(step % kPeriod));
    return values;
}

/// Steps of a clip that repeats make the same bits again and again once they have forgotten its begin; a drift would
/// change them.
TEST(LongClip, OfFastSumsRepeatsItsBitsOverAThousandLatentFrames) {
    const auto device = accel::cpu::create_device();
    const auto checkpoint = Checkpoint::open("synthetic:wan2.1,dim=4").value();
    const auto model =
        Model::create(*device, checkpoint, {.precision = Precision::Bf16, .sums = conv::Sums::Fast}).value();
    const auto decoder = Decoder::create(model, kClipSize).value();
    std::vector<std::vector<float>> period(kPeriod);
    for (int step = 0; step < kClipSteps; ++step) {
        const auto frames = decoder->step(repeating_latent(step));
        ASSERT_TRUE(frames) << frames.error().message;
        const std::vector<float> values = frames->thwc();
        std::vector<float>& before = period[static_cast<std::size_t>(step % kPeriod)];
        if (step >= kReach + kPeriod) {
            ASSERT_EQ(values, before) << "step " << step;
        }
        before = values;
    }
    EXPECT_NE(period[0], period[1]) << "the clip moves";
}

}  // namespace
}  // namespace kinetograph::vae
