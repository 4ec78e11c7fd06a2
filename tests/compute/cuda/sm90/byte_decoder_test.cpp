// A whole decoder with products of bytes on Hopper's kernels: calibrated there, and the CPU lane's picture.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/compute/vae/calibration.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

#include <cmath>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

class Sm90ByteDecoder : public test::CudaLane {
  protected:
    standin::Options pose() const override { return {.name = "Stand-in H200", .architecture = "sm_90"}; }

    static constexpr LatentSize kSize{4, 4};
    static constexpr std::int64_t kFrames = 3;

    static Latents clip() {
        return {.name = "clip",
                .channels = 16,
                .frames = kFrames,
                .height = kSize.height,
                .width = kSize.width,
                .values = synthetic_tensor("test.latents", {kFrames, 16, kSize.height, kSize.width}).value()};
    }
    Calibration calibrated(accel::Device& device) const {
        const Latents latents = clip();
        return calibrate(device, checkpoint_, *find_byte_recipe(checkpoint_.family(), "").value(),
                         std::span(&latents, 1))
            .value();
    }
    std::vector<float> decode(accel::Device& device, const std::vector<nn::ByteLayer>& layers) const {
        const auto model =
            Model::create(device, checkpoint_, {.sums = conv::Sums::Int8, .byte_layers = layers}).value();
        const auto decoder = Decoder::create(model, kSize).value();
        const Latents latents = clip();
        std::vector<float> frames;
        for (std::int64_t t = 0; t < kFrames; ++t) decoder->step(latents.frame(t)).value().append_to(frames);
        return frames;
    }

    Checkpoint checkpoint_ = Checkpoint::open("synthetic:wan2.1,dim=16").value();
    std::unique_ptr<accel::Device> cpu_ = accel::cpu::create_device();
};

/// Every step's values are those of that step: a replayed graph writes where its own step reads.
TEST_F(Sm90ByteDecoder, IsCalibratedToTheRangesThatTheCpuFinds) {
    const Calibration made = calibrated(*device_), wanted = calibrated(*cpu_);
    ASSERT_EQ(made.layers.size(), wanted.layers.size());
    for (std::size_t i = 0; i < made.layers.size(); ++i) {
        EXPECT_EQ(made.layers[i].conv, wanted.layers[i].conv);
        EXPECT_NEAR(made.layers[i].input.scale, wanted.layers[i].input.scale, 0.05F * wanted.layers[i].input.scale);
    }
}

/// Sums are the same integers; floats of the epilogues and the layers in bf16 round otherwise.
TEST_F(Sm90ByteDecoder, ShowsTheCpusPicture) {
    const std::vector<nn::ByteLayer> layers = calibrated(*cpu_).layers;
    const std::vector<float> made = decode(*device_, layers), wanted = decode(*cpu_, layers);
    ASSERT_EQ(made.size(), wanted.size());
    double squares = 0;
    for (std::size_t i = 0; i < made.size(); ++i) squares += std::pow(double{made[i]} - wanted[i], 2);
    EXPECT_GT(10 * std::log10(4 * static_cast<double>(made.size()) / squares), 44);
}

}  // namespace
}  // namespace kinetograph::vae
