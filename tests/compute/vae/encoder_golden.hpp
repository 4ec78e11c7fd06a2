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

/// Pictures by the rule of `latents`, in [-1, 1].
inline golden::Tensor pictures_by_rule(std::int64_t frames, std::int64_t height, std::int64_t width) {
    golden::Tensor pictures{{3, frames, height, width}, {}};
    pictures.values = vae::synthetic_tensor("latents", pictures.shape).value();
    for (float& value : pictures.values) value /= 1.7F;
    return pictures;
}
/// Those of the references of Wan 2.2's encoder and of TAEHV's.
inline golden::Tensor larger_pictures() { return pictures_by_rule(9, 32, 48); }

/// `steps` of 1, 4, 4 pictures; of TAEHV, one of 4.
inline void expect_encodes(accel::Device& device, vae::Precision precision, golden::Limit limit, std::int64_t steps) {
    const golden::File file("encoders.safetensors");
    const Cut cut = steps == 1 ? Cut{1} : steps == 2 ? Cut{1, 4} : Cut{1, 4, 4};
    const auto expect = [&](const std::string& family, const golden::Tensor& pictures, const Cut& each) {
        const auto made = encode_in_steps(device, family, pictures, precision, each);
        EXPECT_TRUE(golden::within(made, golden::thwc(file.tensor(family + ".moments"), 0, std::ssize(each)), limit))
            << family;
    };
    expect("wan2.1", file.tensor("wan2.1.pictures"), cut);
    expect("wan2.2", larger_pictures(), cut);
    expect("taew2.2", larger_pictures(), {4});
    for (const char* family : {"taef1", "sd", "flux.1", "flux.2"}) expect(family, larger_pictures(), {1});
}

}  // namespace kinetograph::test
