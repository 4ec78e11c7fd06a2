// Comparisons for the decoders of every family: with reference frames step by step, and with outputs of modules.
#pragma once

#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/golden/golden.hpp>

#include <algorithm>

namespace kinetograph::test {

// Limits of tests/golden/README.md.
constexpr golden::Limit kFp32Decode{2e-5, 1e-4};
constexpr golden::Limit kFp32Trace{1e-5, 5e-5};
constexpr golden::Limit kBf16AgainstBf16All{2e-2, 0.08};
constexpr golden::Limit kBf16AgainstFp32{2.5e-2, 0.10};
constexpr golden::Limit kFp16AgainstFp32{4e-3, 0.02};  ///< eight times bf16's resolution
/// The limit of fast sums: a convolution's expected error is 2.9e-3 instead of 2.3e-3 in bf16.
constexpr golden::Limit of_fast_sums(golden::Limit exact) { return {1.26 * exact.relative_l2, 1.26 * exact.max_abs}; }

inline void round_to_bf16(std::span<float> values) {
    for (float& value : values) value = tensor::from_bf16(tensor::to_bf16(value));
}

inline golden::Tensor rounded(golden::Tensor tensor) {
    round_to_bf16(tensor.values);
    return tensor;
}

/// Decodes the first `steps` of [C, T, h, w] latents, one frame a step, and compares every step, and then the whole,
/// with [3, T', H, W] frames, of which the upper rows may be stored. Returns all frames.
inline std::vector<float> expect_decodes_to(stream::Decoder& decoder, const golden::Tensor& latents,
                                            const golden::Tensor& frames, golden::Limit limit, std::int64_t steps) {
    std::vector<float> all;
    for (std::int64_t t = 0; t < steps; ++t) {
        const auto step = decoder.step(golden::tchw(latents, t, 1));
        EXPECT_TRUE(step) << step.error().message;
        if (!step) return {};
        EXPECT_EQ(step->frames.count, t == 0 ? 1 : 4);
        EXPECT_EQ(step->frames.first, t == 0 ? 0 : 4 * t - 3);
        const auto wanted = golden::thwc(frames, step->frames.first, step->frames.count);
        EXPECT_TRUE(golden::within(golden::upper_rows(step->thwc(), step->frames.count, wanted.size()), wanted, limit))
            << "step " << t;
        step->append_to(all);
    }
    const auto wanted = golden::thwc(frames, 0, 4 * steps - 3);
    EXPECT_TRUE(golden::within(golden::upper_rows(all, 4 * steps - 3, wanted.size()), wanted, limit)) << "whole clip";
    return all;
}

inline std::vector<float> expect_decodes_to(stream::Decoder& decoder, const golden::Tensor& latents,
                                            const golden::Tensor& frames, golden::Limit limit) {
    return expect_decodes_to(decoder, latents, frames, limit, latents.shape[1]);
}

/// Small clips of odd sides by diffusers: FAMILY.latents and FAMILY.frames of families.safetensors.
struct FamilyClip {
    std::string family, checkpoint;
};
inline const std::vector<FamilyClip>& family_clips() {
    static const std::vector<FamilyClip> clips{{"wan2.2", "synthetic:wan2.2,dim=16"},
                                               {"lightvae", "synthetic:lightvae"},
                                               {"qwen-image", "synthetic:qwen-image,dim=16"},
                                               {"taef1", "synthetic:taef1,dim=8"},
                                               {"sd", "synthetic:sd,dim=8"},
                                               {"flux.1", "synthetic:flux.1,dim=8"},
                                               {"flux.2", "synthetic:flux.2,dim=8"}};
    return clips;
}

/// Decodes latents of 2 x 1 pixels in steps of cut[0], cut[1], ... latent frames; returns all frames.
inline std::vector<float> decode_in_steps(accel::Device& device, const std::string& checkpoint,
                                          vae::Precision precision, const std::vector<std::int64_t>& cut) {
    const auto opened = vae::Checkpoint::open(checkpoint).value();
    const auto model = vae::Model::create(device, opened, {.precision = precision}).value();
    const auto decoder =
        stream::Decoder::create(model, {2, 1}, {.latent_frames = *std::max_element(cut.begin(), cut.end())}).value();
    std::vector<float> frames;
    std::int64_t next = 0;
    for (const std::int64_t count : cut) {
        std::vector<float> latents(static_cast<std::size_t>(count * opened.z_dim() * 2));
        for (float& value : latents) value = static_cast<float>(next++ * 7919 % 2003 - 1001) / 500;
        const auto step = decoder->step(latents, count);
        EXPECT_TRUE(step) << step.error().message;
        if (!step) return {};
        step->append_to(frames);
    }
    return frames;
}

/// The frames of narrow decoders are the same bits in steps of 1 and of `count` latent frames after a first one.
inline void expect_cuts_agree(accel::Device& device, vae::Precision precision, std::int64_t count) {
    for (const std::string checkpoint :
         {"synthetic:wan2.2,dim=8", "synthetic:lightvae,dim=8", "synthetic:taew2.1,dim=8"}) {
        SCOPED_TRACE(checkpoint);
        const auto singly = decode_in_steps(device, checkpoint, precision, std::vector<std::int64_t>(1 + count, 1));
        EXPECT_FALSE(singly.empty());
        EXPECT_EQ(decode_in_steps(device, checkpoint, precision, {1, count}), singly);
    }
}

/// The outputs of `modules` in step 0 and step 1; conv2's golden holds both steps in one tensor.
inline void expect_traces_match(stream::Decoder& decoder, const golden::File& file,
                                std::span<const std::string> modules, golden::Limit limit = kFp32Trace) {
    const auto latents = file.tensor("latents");
    for (const std::string& module : modules) {
        ASSERT_TRUE(decoder.reset());
        for (std::int64_t step = 0; step < 2; ++step) {
            const auto traced = decoder.trace(golden::tchw(latents, step, 1), module);
            ASSERT_TRUE(traced) << traced.error().message;
            const bool whole_clip = module == "conv2";
            const auto expected = file.tensor(whole_clip ? module : "chunk" + std::to_string(step) + "." + module);
            const auto wanted =
                whole_clip ? golden::thwc(expected, step, 1) : golden::thwc(expected, 0, expected.shape[1]);
            const std::int64_t frames = whole_clip ? 1 : expected.shape[1];
            EXPECT_TRUE(golden::within(golden::upper_rows(*traced, frames, wanted.size()), wanted, limit))
                << module << " in step " << step;
        }
    }
}

/// Decoders on the CPU that do not clamp, and undo the latents' normalisation only on request.
struct DecoderGolden : testing::Test {
    std::unique_ptr<accel::Device> device = accel::cpu::create_device();

    std::unique_ptr<stream::Decoder> decoder(const std::string& checkpoint, const golden::Tensor& latents,
                                             vae::Precision precision, vae::LatentScale scale = vae::LatentScale::Raw,
                                             conv::Sums sums = conv::Sums::Exact) {
        auto opened = vae::Checkpoint::open(checkpoint);
        EXPECT_TRUE(opened) << opened.error().message;
        const auto model = vae::Model::create(*device, *opened,
                                              {.precision = precision, .sums = sums, .latents = scale, .clamp = false});
        auto created = stream::Decoder::create(model.value(), {latents.shape[2], latents.shape[3]});
        EXPECT_TRUE(created) << created.error().message;
        return std::move(*created);
    }
};

}  // namespace kinetograph::test
