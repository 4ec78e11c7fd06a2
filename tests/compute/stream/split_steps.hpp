// Steps that several devices compute: cases that a test runs on the devices of a lane.
#pragma once

#include <kinetograph/compute/stream/decoder.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace kinetograph::stream::testing {

/// A decoder on a device and its companions, fed with latents that it makes by rule.
class SplitClip {
  public:
    SplitClip(accel::Device& device, const std::string& weights, vae::LatentSize size,
              const vae::ModelOptions& model = {}, const vae::StepOptions& steps = {})
        : size_(size) {
        const auto checkpoint = vae::Checkpoint::open(weights);
        EXPECT_TRUE(checkpoint) << checkpoint.error().message;
        auto made = vae::Model::create(device, *checkpoint, model);
        EXPECT_TRUE(made) << made.error().message;
        channels_ = (*made)->channels();
        auto decoder = Decoder::create(std::move(*made), size, steps);
        EXPECT_TRUE(decoder) << decoder.error().message;
        decoder_ = std::move(decoder).value();
    }
    Decoder& decoder() { return *decoder_; }

    /// The frames of a step on latents `t` and the next ones.
    std::vector<float> step(std::int64_t t, std::int64_t count = 1) {
        const auto frames = decoder_->step(latents(t, count), count);
        EXPECT_TRUE(frames) << frames.error().message;
        return frames ? frames->thwc() : std::vector<float>{};
    }
    std::vector<float> trace(std::int64_t t, const std::string& module) {
        const auto traced = decoder_->trace(latents(t, 1), module);
        EXPECT_TRUE(traced) << traced.error().message;
        return traced ? *traced : std::vector<float>{};
    }
    Result<void> between_steps(const std::function<Result<void>(vae::Clip&, accel::Stream&)>& work) {
        return decoder_->runner().between_steps(decoder_->clip(),
                                                [&](accel::Stream& stream) { return work(decoder_->clip(), stream); });
    }

  private:
    std::vector<float> latents(std::int64_t t, std::int64_t count) const {
        const std::int64_t frame = channels_ * size_.height * size_.width;
        std::vector<float> values;
        for (std::int64_t i = t * frame; i < (t + count) * frame; ++i)
            values.push_back(2.0F * std::sin(1.3F * static_cast<float>(i)));
        return values;
    }

    vae::LatentSize size_;
    std::int64_t channels_ = 0;
    std::unique_ptr<Decoder> decoder_;
};

struct SplitCase {
    std::string weights;
    vae::LatentSize size;
    vae::ModelOptions model{};
    int steps = 3;
};

/// Frames and what lies between the layers have the bits of one device.
inline void expect_the_bits_of_one_device(accel::Device& alone, accel::Device& together, const SplitCase& tried) {
    SCOPED_TRACE(fmt::format("{} of {}x{}, {}", tried.weights, tried.size.width, tried.size.height,
                             to_string(tried.model.precision)));
    SplitClip one(alone, tried.weights, tried.size, tried.model);
    SplitClip all(together, tried.weights, tried.size, tried.model);
    ASSERT_EQ(all.decoder().runner().lanes().size(), 1 + together.companions().size());
    for (int t = 0; t < tried.steps; ++t) {
        const std::vector<float> wanted = one.step(t);
        ASSERT_FALSE(wanted.empty());
        EXPECT_EQ(all.step(t), wanted) << "step " << t;
    }
    ASSERT_TRUE(all.decoder().reset() && one.decoder().reset());
    EXPECT_EQ(all.step(5), one.step(5)) << "every device's kept frames are forgotten";
}

/// Every device takes what was stated, none of them all of it, and gives it back.
inline void expect_memory_to_be_shared(accel::Device& alone, accel::Device& together, const SplitCase& tried) {
    const auto held = [](const accel::Device& device) { return device.bytes_allocated(); };
    std::vector<std::uint64_t> before;
    for (const auto& companion : together.companions()) before.push_back(held(*companion));
    {
        SplitClip one(alone, tried.weights, tried.size, tried.model);
        SplitClip all(together, tried.weights, tried.size, tried.model);
        const vae::StackMemory whole = one.decoder().clip().memory(), part = all.decoder().clip().memory();
        EXPECT_LT(part.histories, whole.histories);
        EXPECT_LT(part.transients, whole.transients);
        std::uint64_t taken = 0;
        for (std::size_t i = 0; i < before.size(); ++i) taken += held(*together.companions()[i]) - before[i];
        EXPECT_GT(taken, 0U);
        EXPECT_LE(taken, part.others);
        EXPECT_GT(taken, part.others * 3 / 4);
    }
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(held(*together.companions()[i]), before[i]);
}

/// A state is saved, loaded, parked, rewound and branched on every device.
inline void expect_state_on_every_device(accel::Device& together, const SplitCase& tried) {
    const vae::StepOptions steps{.rewind_steps = 2};
    SplitClip clip(together, tried.weights, tried.size, tried.model, steps);
    SplitClip other(together, tried.weights, tried.size, tried.model, steps);
    clip.step(0);
    clip.step(1);
    vae::ClipState state;
    const auto save = [&](vae::Clip& of, accel::Stream& stream) -> Result<void> {
        KG_TRY(state, of.save(stream));
        return {};
    };
    ASSERT_TRUE(clip.between_steps(save));
    const std::vector<float> third = clip.step(2), fourth = clip.step(3);
    other.step(4);
    const auto loaded = other.between_steps([&](vae::Clip& of, accel::Stream& on) { return of.load(state, on); });
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(other.step(2), third);
    const auto parked = other.between_steps([&](vae::Clip& of, accel::Stream& on) -> Result<void> {
        KG_CHECK(of.park(on));
        return of.resume(on);
    });
    ASSERT_TRUE(parked) << parked.error().message;
    EXPECT_EQ(other.step(3), fourth);
    ASSERT_TRUE(clip.between_steps([](vae::Clip& of, accel::Stream& on) { return of.rewind(2, on); }));
    EXPECT_EQ(clip.step(2), third);
    EXPECT_EQ(clip.step(3), fourth);
}

/// What goes through is the same where a trace asks for it.
inline void expect_traces_of_one_device(accel::Device& alone, accel::Device& together, const SplitCase& tried,
                                        const std::vector<std::string>& modules) {
    SplitClip one(alone, tried.weights, tried.size, tried.model);
    SplitClip all(together, tried.weights, tried.size, tried.model);
    for (const std::string& module : modules) {
        ASSERT_TRUE(one.decoder().reset() && all.decoder().reset());
        const std::vector<float> wanted = one.trace(0, module);
        EXPECT_FALSE(wanted.empty()) << module;
        EXPECT_EQ(all.trace(0, module), wanted) << module;
    }
}

}  // namespace kinetograph::stream::testing
