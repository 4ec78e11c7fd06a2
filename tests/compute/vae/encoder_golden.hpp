// Comparisons for the encoders of every lane: with diffusers' moments of a small clip.
#pragma once

#include <kinetograph/compute/vae/encoder_model.hpp>
#include <kinetograph/tests/compute/vae/decoder_golden.hpp>

#include <numeric>

namespace kinetograph::test {

/// Steps of so many pictures.
using Cut = std::vector<std::int64_t>;

/// The moments of the first pictures of a clip, by an encoder of width 8 on parameters by rule: [t, h, w, 2 z_dim].
inline std::vector<float> encode_in_steps(accel::Device& device, const std::string& family,
                                          const golden::Tensor& pictures, vae::Precision precision, const Cut& cut) {
    const auto checkpoint = vae::Checkpoint::open("synthetic:" + family + ",dim=8").value();
    const std::int64_t all = std::accumulate(cut.begin(), cut.end(), std::int64_t{0});
    const auto model = vae::create_encoder(device, checkpoint, {.precision = precision},
                                           all == 1 ? vae::Pictures::One : vae::Pictures::Clip);
    EXPECT_TRUE(model) << model.error().message;
    if (!model) return {};
    const auto stepper = stream::Decoder::create(*model, {pictures.shape[2], pictures.shape[3]},
                                                 {.latent_frames = *std::ranges::max_element(cut)});
    EXPECT_TRUE(stepper) << stepper.error().message;
    if (!stepper) return {};
    std::vector<float> made;
    std::int64_t next = 0;
    for (const std::int64_t count : cut) {
        const auto step = (*stepper)->step(golden::tchw(pictures, next, count), count);
        EXPECT_TRUE(step) << step.error().message;
        if (!step) return {};
        step->append_to(made);
        next += count;
    }
    return made;
}

/// `steps` of 1, 4, 4 pictures.
inline void expect_encodes(accel::Device& device, vae::Precision precision, golden::Limit limit, std::int64_t steps) {
    const golden::File file("encoders.safetensors");
    const Cut cut = steps == 1 ? Cut{1} : steps == 2 ? Cut{1, 4} : Cut{1, 4, 4};
    const auto made = encode_in_steps(device, "wan2.1", file.tensor("wan2.1.pictures"), precision, cut);
    EXPECT_TRUE(golden::within(made, golden::thwc(file.tensor("wan2.1.moments"), 0, steps), limit));
}

}  // namespace kinetograph::test
