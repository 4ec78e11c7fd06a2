// What the chaos tests of streams share: a stream, its slow reader and who pushes latents, on threads of their own.
#pragma once

#include "chaos.hpp"
#include "stream_fixture.hpp"

#include <kinetograph/compute/stream/step_loop.hpp>

#include <atomic>
#include <functional>

namespace kinetograph::stream::testing {

class StreamChaos : public StreamTest {
  protected:
    using Dice = kinetograph::testing::Dice;
    static constexpr std::uint32_t kSlots = 11;
    static constexpr std::int64_t kLatents = 5;

    void release() override {
        stream_.reset();
        StreamTest::release();
    }
    void make_stream(FrameRingDesc::Storage storage, bool pushed, bool loop) {
        const vae::StepOptions options{.storage = storage, .slots = kSlots, .loop = loop};
        const auto model = small_model(*accelerator_);
        if (!pushed) {
            auto stream = StepLoop::of_clip(bridge(), model, clip_, options);
            ASSERT_TRUE(stream) << stream.error().message;
            stream_ = std::move(*stream);
            return;
        }
        auto source = StepLoop::of_pushed(bridge(), model, {kHeight, kWidth}, options);
        ASSERT_TRUE(source) << source.error().message;
        stream_ = std::move(source->frames);
        latents_ = std::move(source->latents);
    }
    /// A call's Error is one that it may have now.
    virtual void expect_allowed(const Error& error) = 0;
    /// The frame is one that may come after `before`, the reader's frame before it.
    virtual void check(const FrameRecord& record, const std::optional<FrameRecord>& before, bool pushed) = 0;

    /// Takes frames, holds some, and gives them back in any order, until it is over.
    void read_frames(Dice dice, bool pushed) {
        std::vector<FrameRecord> held;
        std::optional<FrameRecord> before;
        const auto give_back = [&] {
            const auto which = held.begin() + dice.roll(static_cast<std::uint32_t>(held.size()));
            EXPECT_TRUE(stream_->release(*which));
            held.erase(which);
        };
        while (!over_) {
            const auto taken =
                dice.one_in(8) ? stream_->try_take_ahead() : stream_->take(dice.up_to(std::chrono::milliseconds(5)));
            if (!taken) {
                expect_allowed(taken.error());
                dice.pause(std::chrono::milliseconds(1));
            } else if (*taken) {
                check(**taken, before, pushed);
                before = **taken;
                held.push_back(**taken);
                ++read_;
            }
            if (dice.one_in(20)) dice.pause(std::chrono::milliseconds(15));
            while (!held.empty() && (held.size() > kSlots - 6 || dice.one_in(2))) give_back();
        }
        while (!held.empty()) give_back();
    }
    /// The same latent frame again and again: whenever a clip begins anew, the same frames come.
    void push_latents(Dice dice) {
        const std::vector<float> latent = clip_.frame(0);
        while (!over_) {
            const auto pushed = latents_->push(latent, dice.up_to(std::chrono::milliseconds(10)));
            if (pushed) continue;
            expect_allowed(pushed.error());
            dice.pause(std::chrono::milliseconds(1));
        }
    }
    /// Calls `disturb` while the stream is read, and pushed to if `pushed`.
    void use_stream(Dice& dice, bool pushed, const std::function<void()>& disturb) {
        over_ = false;
        std::thread reader([&, of_reader = Dice(dice.roll(1U << 20U))] { read_frames(of_reader, pushed); });
        std::thread writer;
        if (pushed) writer = std::thread([&, of_writer = Dice(dice.roll(1U << 20U))] { push_latents(of_writer); });
        disturb();
        over_ = true;
        reader.join();
        if (writer.joinable()) writer.join();
    }

    const vae::Latents clip_ = small_clip(kLatents);
    std::unique_ptr<FrameSource> stream_;
    std::shared_ptr<LatentQueue> latents_;
    std::atomic<bool> over_{false};
    std::uint64_t read_ = 0;
};

}  // namespace kinetograph::stream::testing
