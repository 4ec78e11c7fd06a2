// A small decoder's frames, then a large one's, on the CPU: gates decide when the large one is opened.
#include "small_decoder.hpp"

#include <kinetograph/compute/stream/previewed_source.hpp>
#include <kinetograph/compute/stream/step_loop.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

namespace kinetograph::stream {
namespace {

using interop::FrameRecord;
using Frames = std::vector<std::vector<std::uint8_t>>;
constexpr std::int64_t kLatentFrames = 2, kFrames = 5;
constexpr const char* kSmall = "synthetic:taew2.1,dim=2";
constexpr const char* kLarge = "synthetic:wan2.1,dim=2";

std::shared_ptr<vae::Model> model_of(accel::Device& device, const std::string& checkpoint) {
    const auto model =
        vae::Model::create(device, vae::Checkpoint::open(checkpoint).value(), {.precision = vae::Precision::Fp32});
    EXPECT_TRUE(model) << model.error().message;
    return *model;
}

struct Taken {
    std::int64_t index = 0;
    std::uint64_t generation = 0;
    std::vector<std::uint8_t> rgba;
};

class PreviewedSources : public ::testing::Test {
  protected:
    std::unique_ptr<FrameSource> stream_of(const std::string& checkpoint, std::int64_t width = testing::kWidth) {
        auto bridge = interop::Bridge::create(*device_, nullptr);
        EXPECT_TRUE(bridge) << bridge.error().message;
        auto stream = StepLoop::of_clip(std::move(*bridge), model_of(*device_, checkpoint),
                                        testing::small_clip(kLatentFrames, width),
                                        {.storage = interop::FrameRingDesc::Storage::Host, .slots = 12});
        EXPECT_TRUE(stream) << stream.error().message;
        return std::move(*stream);
    }
    /// The large stream is opened once the gate is.
    std::unique_ptr<FrameSource> begin(bool loop, std::int64_t large_width = testing::kWidth) {
        return create_previewed_source(
            stream_of(kSmall),
            [this, large_width](const CallLimits& limits) -> Result<std::unique_ptr<FrameSource>> {
                for (Lock lock(gate_); !open_;) {
                    opened_.wait_for(lock, limits.next_look());
                    KG_CHECK(limits.check("the gate"));
                }
                if (fails_) return fail(ErrorCode::NotFound, "no such checkpoint");
                return stream_of(kLarge, large_width);
            },
            loop);
    }
    void open_gate() {
        {
            const Lock lock(gate_);
            open_ = true;
        }
        opened_.notify_all();
    }
    static Frames frames_of(const std::string& checkpoint) {
        const auto device = accel::cpu::create_device();
        auto decoder = stream::Decoder::create(model_of(*device, checkpoint), {testing::kHeight, testing::kWidth});
        EXPECT_TRUE(decoder) << decoder.error().message;
        return testing::expected_frames(**decoder, testing::small_clip(kLatentFrames));
    }
    static const Frames& of_small() {
        static const Frames made = frames_of(kSmall);
        return made;
    }
    static const Frames& of_large() {
        static const Frames made = frames_of(kLarge);
        return made;
    }
    static Taken read(const FrameRecord& record) {
        Taken taken{record.label.index, record.generation, {}};
        for (std::uint32_t y = 0; y < record.height; ++y) {
            const auto row = record.host.subspan(y * record.row_bytes, 4U * record.width);
            for (const std::byte value : row) taken.rgba.push_back(static_cast<std::uint8_t>(value));
        }
        return taken;
    }
    Taken take(FrameSource& stream) {
        const auto record = stream.take(std::chrono::seconds(30));
        EXPECT_TRUE(record && *record) << (record ? "no frame" : record.error().message);
        if (!record || !*record) return {};
        Taken taken = read(**record);
        EXPECT_TRUE(stream.release(**record));
        return taken;
    }
    /// Takes until the large stream has taken over, and checks each frame; the index of the first one of the large.
    std::int64_t play_until_taken_over(FrameSource& stream, std::int64_t next) {
        for (int i = 0; i < 20'000; ++i, next = (next + 1) % kFrames) {
            const Taken taken = take(stream);
            EXPECT_EQ(taken.index, next) << "none twice, none left out";
            const Frames& by = stream.previews() ? of_small() : of_large();
            EXPECT_EQ(taken.rgba, by.at(static_cast<std::size_t>(taken.index))) << "frame " << taken.index;
            if (!stream.previews() || HasFailure()) return taken.index;
        }
        ADD_FAILURE() << "never taken over";
        return 0;
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    Mutex gate_;
    Condition opened_;
    bool open_ KG_GUARDED_BY(gate_) = false;
    bool fails_ = false;
};

TEST_F(PreviewedSources, ShowThePreviewWhileTheLargeDecoderIsOpened) {
    const auto stream = begin(false);
    for (std::int64_t i = 0; i < kFrames; ++i) {
        EXPECT_FALSE(stream->finished());
        const Taken taken = take(*stream);
        EXPECT_EQ(taken.index, i);
        EXPECT_EQ(taken.rgba, of_small().at(static_cast<std::size_t>(i)));
    }
    const auto after = stream->take(std::chrono::seconds(30));
    EXPECT_TRUE(after && !*after) << "the clip is over";
    EXPECT_TRUE(stream->finished());
    EXPECT_TRUE(stream->previews());
}

TEST_F(PreviewedSources, AreTakenOverAtAStepsBorderWithoutAJump) {
    const auto stream = begin(true);
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(take(*stream).index, i);
    open_gate();
    const std::int64_t first = play_until_taken_over(*stream, 3);
    EXPECT_TRUE(first == 0 || first % 4 == 1) << first;
    for (std::int64_t i = 1; i <= kFrames; ++i) {
        const Taken taken = take(*stream);
        EXPECT_EQ(taken.index, (first + i) % kFrames);
        EXPECT_EQ(taken.rgba, of_large().at(static_cast<std::size_t>(taken.index)));
    }
    stream->set_loop(false);
    for (;;) {
        const auto record = stream->take(std::chrono::seconds(30));
        ASSERT_TRUE(record) << record.error().message;
        if (!*record) break;
        ASSERT_TRUE(stream->release(**record));
    }
    EXPECT_TRUE(stream->finished());
}

TEST_F(PreviewedSources, BeginWithTheLargeDecoderOnceItIsOpenHoweverSlowItIs) {
    const auto stream = begin(false);
    for (std::int64_t i = 0; i < kFrames; ++i) EXPECT_EQ(take(*stream).index, i);
    open_gate();
    stream->restart();
    while (stream->previews()) stream->restart();  // it is being opened
    for (std::int64_t i = 0; i < kFrames; ++i) {
        const Taken taken = take(*stream);
        EXPECT_EQ(taken.index, i);
        EXPECT_EQ(taken.rgba, of_large().at(static_cast<std::size_t>(i)));
    }
}

TEST_F(PreviewedSources, BeginAnewWithANewGenerationWhateverDecodes) {
    const auto stream = begin(true);
    for (int i = 0; i < 3; ++i) static_cast<void>(take(*stream));
    stream->restart();
    const Taken first = take(*stream);
    EXPECT_EQ(first.index, 0);
    EXPECT_EQ(first.generation, 1U);
    open_gate();
    static_cast<void>(play_until_taken_over(*stream, 1));
    stream->restart();
    for (std::int64_t i = 0; i < 5; ++i) {
        const Taken taken = take(*stream);
        EXPECT_EQ(taken.index, i);
        EXPECT_EQ(taken.generation, 2U) << "generations grow across the change";
        EXPECT_EQ(taken.rgba, of_large().at(static_cast<std::size_t>(i)));
    }
}

TEST_F(PreviewedSources, AFrameOfThePreviewStaysItsReadersAfterTheChange) {
    const auto stream = begin(true);
    const auto kept = stream->take(std::chrono::seconds(30));
    ASSERT_TRUE(kept && *kept);
    open_gate();
    static_cast<void>(play_until_taken_over(*stream, 1));
    EXPECT_EQ(read(**kept).rgba, of_small().front());
    EXPECT_EQ(stream->stats().held, 1U);
    EXPECT_EQ(stream->is_finite(**kept), std::optional(true));
    EXPECT_TRUE(stream->release(**kept));
    EXPECT_EQ(stream->stats().held, 0U);
    EXPECT_FALSE(stream->release(**kept)) << "a record is good for one release";
    EXPECT_EQ(stream->health().lanes.size(), stream_of(kLarge)->health().lanes.size()) << "the preview is gone";
}

TEST_F(PreviewedSources, ReturnTheErrorOfOpeningTheLargeDecoder) {
    fails_ = true;
    const auto stream = begin(true);
    EXPECT_EQ(take(*stream).index, 0);
    open_gate();
    for (int i = 0; i < 20'000; ++i) {
        const auto record = stream->take(std::chrono::seconds(30));
        if (!record) {
            EXPECT_EQ(record.error().message, "no such checkpoint");
            return;
        }
        ASSERT_TRUE(*record);
        EXPECT_TRUE(stream->release(**record));
    }
    FAIL() << "no error";
}

TEST_F(PreviewedSources, RefuseALargeDecoderOfOtherFrames) {
    const auto stream = begin(true, 2 * testing::kWidth);
    open_gate();
    for (int i = 0; i < 20'000; ++i) {
        const auto record = stream->take(std::chrono::seconds(30));
        if (!record) {
            EXPECT_EQ(record.error().message,
                      "the preview makes 5 frames of 16x8, up to 4 at once, the decoder 5 of 32x8, up to 4");
            return;
        }
        ASSERT_TRUE(*record);
        EXPECT_TRUE(stream->release(**record));
    }
    FAIL() << "no error";
}

TEST_F(PreviewedSources, EndWhileTheLargeDecoderIsOpened) {
    static_cast<void>(begin(true));  // the gate stays closed
    const auto stream = begin(true);
    stream->cancel();
    const auto record = stream->take(std::chrono::seconds(30));
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, ErrorCode::Cancelled);
    stream->restart();
    EXPECT_EQ(take(*stream).index, 0);
    EXPECT_TRUE(stream->close(std::chrono::seconds(30)));
}

}  // namespace
}  // namespace kinetograph::stream
