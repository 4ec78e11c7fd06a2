// What every lane's clips do with their state: cases that a test runs on a device.
#pragma once

#include "small_decoder.hpp"

#include <kinetograph/compute/stream/step_loop.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace kinetograph::stream::testing {

/// A stream on a device without Vulkan, into which the latent frames of small_clip() are pushed.
class PushedClip {
  public:
    static constexpr Nanoseconds kLong = std::chrono::minutes(5);
    static constexpr std::int64_t kWide = 1;  ///< latent pixels: a model of a GPU takes its time
    using Frames = std::vector<std::vector<std::uint8_t>>;

    PushedClip(accel::Device& device, std::shared_ptr<vae::Model> model, vae::StepOptions options = {})
        : model_(std::move(model)), clip_(small_clip(8, kWide)) {
        options.storage = interop::FrameStorage::Host;
        bridge_ = interop::Bridge::create(device, nullptr).value();
        auto made = StepLoop::of_pushed(bridge_, model_, {kHeight, kWide}, options);
        EXPECT_TRUE(made) << made.error().message;
        source_ = std::move(*made);
    }
    LatentQueue& latents() { return *source_.latents; }
    FrameSource& frames() { return *source_.frames; }

    /// From memory of the clip's, at a due time.
    void push(std::int64_t t, Nanoseconds due) {
        pinned_ =
            model_->device().allocate_pinned("latents of the test", clip_.frame(t).size() * sizeof(float)).value();
        std::ranges::copy(clip_.frame(t), reinterpret_cast<float*>(pinned_->host_data()));
        const auto pushed =
            source_.latents->push({.address = pinned_->data(), .bytes = pinned_->bytes(), .due = due}, kLong);
        EXPECT_TRUE(pushed) << pushed.error().message;
    }
    /// Values that are not finite, which the host does not see: they are in the device's memory.
    void push_nan() {
        std::ranges::fill(clip_.values, std::numeric_limits<float>::quiet_NaN());
        push(0, Nanoseconds{});
    }
    void push(std::int64_t t) {
        const auto pushed = source_.latents->push(clip_.frame(t), kLong);
        EXPECT_TRUE(pushed) << pushed.error().message;
    }
    /// The next `count` frames, the first of which is the clip's frame `first`.
    Frames take(std::int64_t count, std::int64_t first) {
        Frames taken;
        for (std::int64_t i = 0; i < count; ++i) {
            const auto record = source_.frames->take(kLong);
            EXPECT_TRUE(record) << record.error().message;
            if (!record || !*record) return taken;
            EXPECT_EQ((*record)->label.index, first + i);
            const auto* pixels = reinterpret_cast<const std::uint8_t*>((*record)->host.data());
            taken.emplace_back(pixels, pixels + (*record)->host.size());
            EXPECT_TRUE(source_.frames->release(**record));
        }
        return taken;
    }
    /// The frames of latent frame `t`, pushed as the clip's `at`-th.
    Frames decode(std::int64_t t, std::int64_t at) {
        push(t);
        return at == 0 ? take(1, 0) : take(4, 4 * at - 3);
    }
    Frames decode(std::int64_t t) { return decode(t, t); }

  private:
    std::shared_ptr<vae::Model> model_;
    vae::Latents clip_;
    std::unique_ptr<accel::Memory> pinned_;
    std::shared_ptr<interop::Bridge> bridge_;
    PushedSource source_;
};

/// The state of a clip continues in another one, by way of memory and of a file, and the first clip goes on.
inline void expect_saved_states_continue(accel::Device& device) {
    const auto model = small_model(device);
    const test::TemporaryFolder folder;
    const auto path = folder.path() / "clip.state";
    PushedClip clip(device, model);
    clip.decode(0);
    clip.decode(1);
    const auto state = clip.latents().save(PushedClip::kLong);
    ASSERT_TRUE(state) << state.error().message;
    ASSERT_TRUE(*state);
    EXPECT_EQ((*state)->latent_frames, 2);
    EXPECT_EQ((*state)->frames, 5);
    ASSERT_TRUE((*state)->write(path));
    const auto third = clip.decode(2), fourth = clip.decode(3);
    EXPECT_NE(third, fourth);

    const auto read = vae::ClipState::read(path);
    ASSERT_TRUE(read) << read.error().message;
    for (const vae::ClipState* from : {&**state, &*read}) {
        PushedClip other(device, model);
        other.decode(4, 0);
        const auto loaded = other.latents().load(*from, PushedClip::kLong);
        ASSERT_TRUE(loaded && *loaded) << loaded.error().message;
        EXPECT_EQ(other.decode(2), third);
        EXPECT_EQ(other.decode(3), fourth);
    }
}

/// A branch and its clip continue alike with the same latents, and neither changes the other.
inline void expect_branches_continue(accel::Device& device) {
    const auto model = small_model(device);
    PushedClip clip(device, model), reference(device, model), branch(device, model);
    for (int t = 0; t < 2; ++t) EXPECT_EQ(clip.decode(t), reference.decode(t));
    const auto done = clip.latents().branch_to(branch.latents(), PushedClip::kLong);
    ASSERT_TRUE(done && *done) << done.error().message;
    branch.decode(5, 2);
    const auto wanted = reference.decode(2);
    EXPECT_EQ(clip.decode(2), wanted);
    PushedClip second(device, model);
    ASSERT_TRUE(clip.latents().branch_to(second.latents(), PushedClip::kLong));
    EXPECT_EQ(second.decode(3), reference.decode(3));
}

/// Frames that were made of the latents that are taken back are dropped, whether they were taken or not.
inline void expect_rewound_clips_continue(accel::Device& device) {
    const auto model = small_model(device);
    PushedClip clip(device, model, {.slots = 12, .rewind_steps = 2}), reference(device, model);
    clip.decode(0);
    const auto other = clip.latents().rewind(2, PushedClip::kLong);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().message, "rewinding 2 steps: 1 are kept of the 2 asked for");
    clip.decode(1);
    clip.decode(5, 2);
    clip.push(6);
    const auto rewound = clip.latents().rewind(2, PushedClip::kLong);
    ASSERT_TRUE(rewound && *rewound) << rewound.error().message;
    reference.decode(0);
    reference.decode(1);
    EXPECT_EQ(clip.decode(2), reference.decode(2));
    EXPECT_EQ(clip.decode(3), reference.decode(3));
    ASSERT_TRUE(clip.latents().rewind(2, PushedClip::kLong));
    const auto more = clip.latents().rewind(1, PushedClip::kLong);
    EXPECT_FALSE(more) << "the points before were overwritten";
    PushedClip again(device, model);
    again.decode(0);
    again.decode(1);
    EXPECT_EQ(clip.decode(4, 2), again.decode(4, 2));
}

/// A parked clip gives back exactly its state's bytes of the device, takes no latents, and continues.
inline void expect_parked_clips_give_back_their_state(accel::Device& device) {
    const auto model = small_model(device);
    PushedClip clip(device, model, {.rewind_steps = 1}), reference(device, model);
    for (int t = 0; t < 2; ++t) EXPECT_EQ(clip.decode(t), reference.decode(t));
    const std::uint64_t state = clip.frames().facts().memory.state(), before = device.bytes_allocated();
    EXPECT_EQ(state, 2 * clip.frames().facts().memory.histories);
    const auto parked = clip.latents().park(PushedClip::kLong);
    ASSERT_TRUE(parked && *parked) << parked.error().message;
    if (!device.info().is_host()) {
        EXPECT_EQ(before - device.bytes_allocated(), state);
    }
    const auto refused = clip.latents().push(small_clip(1, PushedClip::kWide).frame(0), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "the clip is parked: resume() comes first");
    const auto saved = clip.latents().save(PushedClip::kLong);
    ASSERT_TRUE(saved && *saved) << saved.error().message;
    const auto resumed = clip.latents().resume(PushedClip::kLong);
    ASSERT_TRUE(resumed && *resumed) << resumed.error().message;
    EXPECT_EQ(device.bytes_allocated(), before);
    const auto wanted = reference.decode(2);
    EXPECT_EQ(clip.decode(2), wanted);
    ASSERT_TRUE(clip.latents().load(**saved, PushedClip::kLong));
    EXPECT_EQ(clip.decode(2), wanted);
    ASSERT_TRUE(clip.latents().park(PushedClip::kLong));
    clip.frames().restart();
    EXPECT_EQ(clip.decode(0), PushedClip(device, model).decode(0));
}

/// A clip takes what was declared before it was made, to the byte.
inline void expect_clips_take_what_is_declared(accel::Device& device) {
    const auto model = small_model(device);
    const PushedClip first(device, model);
    for (const std::int64_t points : {0, 3}) {
        const auto bridge = interop::Bridge::create(device, nullptr).value();
        const vae::StepOptions options{.storage = interop::FrameStorage::Host, .rewind_steps = points};
        const auto declared = StepLoop::declared_memory(*bridge, *model, {kHeight, PushedClip::kWide}, options);
        ASSERT_TRUE(declared) << declared.error().message;
        const std::uint64_t before = device.bytes_allocated();
        PushedClip clip(device, model, options);
        const std::uint64_t on_host = device.info().is_host() ? declared->io : 0;
        EXPECT_EQ(device.bytes_allocated() - before, declared->clip() - declared->io + on_host);
        EXPECT_EQ(declared->state(), clip.frames().facts().memory.state());
        EXPECT_EQ(declared->points, static_cast<std::uint64_t>(points) * declared->histories);
    }
}

}  // namespace kinetograph::stream::testing
