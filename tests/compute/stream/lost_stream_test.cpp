// A stream of the CUDA lane whose device is lost: on the stand-in driver whose kernels do nothing, beside lavapipe.
#include "stream_fixture.hpp"

#include <kinetograph/compute/stream/step_loop.hpp>
#include <kinetograph/tests/engine/interop/cuda_side.hpp>
#include <kinetograph/tests/engine/interop/watchdog.hpp>

#include <array>
#include <thread>

namespace kinetograph::stream {
namespace {

/// A decoder that loses its device, in memory of Vulkan that the accelerator writes in place: readers are handed frames
/// ahead of their contents.
class LostStreamTest : public testing::StreamTest {
  protected:
    void release() override {
        stream_.reset();
        StreamTest::release();
    }
    void TearDown() override {
        StreamTest::TearDown();
        EXPECT_EQ(cuda_.complaints(), "");
    }
    void open_faulting(std::uint32_t launch) {
        if (cuda_.real()) GTEST_SKIP() << "a real device is not lost at will";
        validation_ = vulkan::Validation::Off;
        ASSERT_NO_FATAL_FAILURE(open(cuda_, {.faulting_launch = launch}));
    }
    void start(Result<std::unique_ptr<FrameSource>> stream) {
        ASSERT_TRUE(stream) << stream.error().message;
        stream_ = std::move(*stream);
    }
    /// However often it is asked, and for whatever.
    void expect_told_again(const Error& lost) {
        EXPECT_EQ(lost.code, ErrorCode::DeviceLost) << lost.message;
        for (int i = 0; i < 12; ++i) {
            const auto again = i % 3 == 2 ? stream_->try_take_ahead() : stream_->try_take();
            ASSERT_FALSE(again) << "call " << i << ": " << (*again ? "a frame" : "nothing");
            EXPECT_EQ(again.error().message, lost.message) << "call " << i;
        }
        EXPECT_FALSE(stream_->finished());
    }
    static vae::StepOptions options(bool loop) {
        vae::StepOptions options;
        options.storage = testing::FrameRingDesc::Storage::Buffer;
        options.slots = 12;
        options.loop = loop;
        return options;
    }
    interop::testing::CudaSide cuda_{STANDIN_CUDA_IDLE};
    std::unique_ptr<FrameSource> stream_;
};

class LostStreams : public LostStreamTest, public ::testing::WithParamInterface<std::uint32_t> {};

TEST_P(LostStreams, TellTheReaderThoughFramesAreWaiting) {
    const interop::testing::Watchdog watchdog(fmt::format("a fault in launch {}", GetParam()),
                                              std::chrono::seconds(60));
    ASSERT_NO_FATAL_FAILURE(open_faulting(GetParam()));
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE(start(
        StepLoop::of_clip(bridge(), testing::small_model(*accelerator_), testing::small_clip(2, 1), options(true))));
    for (;;) {
        const auto record = stream_->try_take();
        if (!record) {
            ASSERT_NO_FATAL_FAILURE(expect_told_again(record.error()));
            break;
        }
        if (*record) {
            ASSERT_TRUE(stream_->release(**record, {}));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

INSTANTIATE_TEST_SUITE_P(AtLaunch, LostStreams, ::testing::Values(30U, 130U, 300U));

enum class Source : std::uint8_t { Clip, Loop, Pushed };
std::string name_of(Source source) {
    constexpr std::array kNames{"AClip", "ALoop", "PushedLatents"};
    return kNames.at(static_cast<std::size_t>(source));
}

/// The device is lost in the first step, so that no frame is good.
class LostFirstSteps : public LostStreamTest, public ::testing::WithParamInterface<Source> {
  protected:
    static constexpr std::uint32_t kLaunch = 30;
    void release() override {
        LostStreamTest::release();
        latents_.reset();
    }
    void start_from(Source source) {
        const auto model = testing::small_model(*accelerator_);
        const vae::Latents clip = testing::small_clip(1, 1);
        const vae::StepOptions options = LostStreamTest::options(source == Source::Loop);
        if (source != Source::Pushed) return start(StepLoop::of_clip(bridge(), model, clip, options));
        const vae::LatentSize size{clip.height, clip.width};
        auto pushed_to = StepLoop::of_pushed(bridge(), model, size, options);
        ASSERT_TRUE(pushed_to) << pushed_to.error().message;
        stream_ = std::move(pushed_to->frames);
        // Latents that are made later: else push() may meet the loss itself.
        latents_ = accelerator_->allocate("latents", clip.frame(0).size() * sizeof(float)).value();
        const auto made = std::make_shared<graph::HostTimeline>("the generator");
        const LatentFrame latent{latents_->data(), latents_->bytes(), {VK_NULL_HANDLE, made, 1}};
        const auto pushed = pushed_to->latents->push(latent, std::chrono::seconds(30));
        ASSERT_TRUE(pushed) << pushed.error().message;
        ASSERT_TRUE(*pushed);
        made->signal(1);
    }
    std::unique_ptr<accel::Memory> latents_;
};

/// The reader comes late: the decoding thread has met the loss by then, and may have begun anew.
TEST_P(LostFirstSteps, HandOutNothingAndTellWhyFromTheFirstCallOn) {
    const interop::testing::Watchdog watchdog("a fault in a first step", std::chrono::seconds(60));
    ASSERT_NO_FATAL_FAILURE(open_faulting(kLaunch));
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE(start_from(GetParam()));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto lost = stream_->take(std::chrono::seconds(30));
    ASSERT_FALSE(lost) << (*lost ? "a frame" : "nothing");
    ASSERT_NO_FATAL_FAILURE(expect_told_again(lost.error()));
}

INSTANTIATE_TEST_SUITE_P(Of, LostFirstSteps, ::testing::Values(Source::Clip, Source::Loop, Source::Pushed),
                         [](const auto& chosen) { return name_of(chosen.param); });

}  // namespace
}  // namespace kinetograph::stream
