// Frames that the viewer draws where a decoder of the CPU leaves them: in images of lavapipe, in every topology.
#include "in_place_test.hpp"

#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/compute/stream/step_loop.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/tests/engine/interop/held.hpp>
#include <kinetograph/tests/engine/interop/interop_fixture.hpp>

#include <future>

namespace kinetograph::viewer {
namespace {

using interop::testing::create_same_gpu;
using testing::Pictures;
using testing::StagedPlayer;
using testing::Topology;
using testing::Way;

class StreamedClips : public testing::InPlaceTest, public ::testing::WithParamInterface<Topology> {
  protected:
    void SetUp() override {
        InPlaceTest::SetUp();
        make_device_ = GetParam().make_device;
    }
};

TEST_P(StreamedClips, ShowBitForBitWhatAnUploadShowsAndUploadNothing) {
    const Pictures uploaded = view(Way::Uploaded);
    EXPECT_EQ(spans("upload", "transfer"), static_cast<std::size_t>(frames()));
    const Pictures in_place = view(Way::InPlace);
    EXPECT_EQ(route_.rfind(GetParam().name, 0), 0U) << route_;
    ASSERT_EQ(in_place.size(), static_cast<std::size_t>(frames()));
    EXPECT_TRUE(in_place == uploaded);
    EXPECT_NE(in_place[0], in_place[1]);
    EXPECT_EQ(spans("upload", "transfer"), 0U);
    EXPECT_EQ(spans("picture", "graphics"), static_cast<std::size_t>(frames()));
    // One axis: pictures after the copies that they are made of, and those after the decoder's passes.
    EXPECT_EQ(spans("frames to images", "async_compute"), static_cast<std::size_t>(latent_frames_));
    EXPECT_EQ(spans("write_frames", "accelerator"), static_cast<std::size_t>(latent_frames_));
}

TEST_P(StreamedClips, EndAfterAsManyFramesAsWereAskedFor) {
    options_.frames = 4;
    EXPECT_EQ(view(Way::InPlace).size(), 4U);
}

TEST_P(StreamedClips, AreSteppedBackStartedAgainAndLoopedBeyondTheNumberOfImages) {
    const Pictures expected = view(Way::Uploaded);
    const auto picture_of = [&](std::int64_t index) { return expected.at(static_cast<std::size_t>(index)); };
    StagedPlayer staged(Way::InPlace, make_device_, latent_frames_, options_, recorder_);
    ASSERT_TRUE(staged.play_until([&] { return staged.player().ended(); }));
    ASSERT_EQ(staged.index(), frames() - 1);
    for (std::int64_t back = frames() - 2; back >= 0; --back) {
        staged.press(Action::StepBack);
        ASSERT_EQ(staged.index(), back);
        EXPECT_TRUE(staged.picture() == picture_of(back)) << back;
    }
    staged.press(Action::StepForward);
    ASSERT_TRUE(staged.play_until([&] { return staged.index() == 1; }));
    EXPECT_TRUE(staged.picture() == picture_of(1));
    staged.press(Action::Loop);
    staged.press(Action::Restart);
    const std::uint64_t before = staged.player().counters().shown;
    ASSERT_TRUE(staged.play_until([&] { return staged.player().counters().shown > before + 150; }));
    EXPECT_TRUE(staged.picture() == picture_of(staged.index()));
    const stream::SourceStats decoding = staged.player().decoding();
    EXPECT_LE(decoding.depth + decoding.held, staged.player().clip()->slots);
    staged.press(Action::Loop);
    ASSERT_TRUE(staged.play_until([&] { return staged.player().ended(); }));
    EXPECT_TRUE(staged.picture() == picture_of(frames() - 1));
    EXPECT_EQ(staged.player().counters().dropped, 0U);
}

TEST_P(StreamedClips, FasterThanTheDisplayArePassedOverAndGivenBack) {
    StagedPlayer staged(Way::InPlace, make_device_, latent_frames_, options_, recorder_, true);
    staged.run_ahead();
    for (int i = 0; i < 30; ++i) staged.press(Action::Faster);
    ASSERT_TRUE(staged.play_until([&] { return staged.player().counters().dropped > 100; }));
}

TEST_P(StreamedClips, GoWhenAnotherIsDroppedWhilePicturesOfThemAreStillDrawn) {
    options_.latents = "wide";
    const Pictures wide = view(Way::Uploaded);
    StagedPlayer staged(Way::InPlace, make_device_, latent_frames_, options_, recorder_, true);
    staged.run_ahead();
    for (int round = 0; round < 3; ++round) {
        staged.drop(round % 2 == 0 ? "wide" : "small");
        ASSERT_TRUE(staged.play_until(
            [&] { return staged.player().latents() == (round % 2 == 0 ? "wide" : "small") && staged.index() >= 2; }));
    }
    EXPECT_TRUE(staged.picture() == wide.at(static_cast<std::size_t>(staged.index())));
}

TEST_P(StreamedClips, TellThePixelUnderThePointerAsUploadedOnesDo) {
    std::vector<std::array<std::uint8_t, 3>> pixels;
    for (const Way way : {Way::Uploaded, Way::InPlace}) {
        StagedPlayer staged(way, make_device_, latent_frames_, options_, recorder_);
        ASSERT_TRUE(staged.play_until([&] { return staged.player().ended(); }));
        EXPECT_FALSE(staged.pixel());
        const auto untouched = staged.picture();
        for (const std::uint32_t x : {3U, 12U}) {
            staged.picture(PixelPosition{x, 5});
            const auto pixel = staged.pixel();
            ASSERT_TRUE(pixel);
            EXPECT_EQ(pixel->position.x, x);
            EXPECT_EQ(pixel->position.y, 5U);
            pixels.push_back(pixel->rgb);
        }
        EXPECT_TRUE(staged.picture() == untouched);  // the pointer has left
        EXPECT_FALSE(staged.pixel());
    }
    ASSERT_EQ(pixels.size(), 4U);
    EXPECT_EQ(pixels[0], pixels[2]);
    EXPECT_EQ(pixels[1], pixels[3]);
    EXPECT_NE(pixels[0], pixels[1]);
}

/// Whole viewers: instance, devices, decoder, stream and stage. KINETOGRAPH_SOAK_ROUNDS scales their number.
TEST_P(StreamedClips, AndTheirViewersComeAndGoAndLeaveNothing) {
    vulkan::testing::faults().reset();
    options_.vulkan = vulkan::testing::faulty_loader().value();
    options_.validation = false;
    interop::testing::expect_nothing_grows({}, 2, interop::testing::soak_rounds(40), [&] {
        EXPECT_EQ(view(Way::InPlace).size(), static_cast<std::size_t>(frames()));
        EXPECT_EQ(vulkan::testing::faults().alive, 0);
    });
}

INSTANTIATE_TEST_SUITE_P(Topologies, StreamedClips, ::testing::ValuesIn(testing::topologies()),
                         [](const auto& topology) { return topology.param.name; });

/// A clip beside pictures that take as long as the test wants.
class LentImages : public interop::testing::InteropTest {
  protected:
    void SetUp() override {
        InteropTest::SetUp();
        kind_ = "cpu";
        validation_ = vulkan::Validation::WithoutSynchronization;
        ASSERT_NO_FATAL_FAILURE(open(interop::testing::kStagedPinned));
        pictures_ = vulkan::create_timeline(*display_, "pictures").value();
        auto stream = stream::StepLoop::of_clip({std::shared_ptr<void>(), bridge_.get()},
                                                stream::testing::small_model(*accelerator_),
                                                stream::testing::small_clip(3), {.slots = kImages, .loop = true});
        ASSERT_TRUE(stream) << stream.error().message;
        clip_ = Clip{.stream = std::move(*stream), .route = {}};
    }
    void release() override {
        clip_.reset();
        display_->retire(pictures_);
    }
    void finish_pictures(std::uint64_t value) {
        VkSemaphoreSignalInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
        info.semaphore = pictures_;
        info.value = value;
        display_->table().vkSignalSemaphore(display_->handle(), &info);
    }
    /// Takes frames until none has come for as long as `patience`, each on show until the pictures reach `value`.
    std::size_t show_all(std::uint64_t value, std::size_t most, Nanoseconds patience = std::chrono::seconds(60)) {
        std::size_t shown = 0;
        for (Nanoseconds last = host_now(); shown < most && host_now() - last < patience;) {
            auto frame = clip_->try_take();
            EXPECT_TRUE(frame) << frame.error().message;
            if (!frame || !*frame) continue;
            (*frame)->pixels->drawn_until({pictures_, nullptr, value});
            ++shown;
            last = host_now();
        }
        return shown;
    }

    VkSemaphore pictures_ = VK_NULL_HANDLE;
    static constexpr std::uint32_t kImages = 76;
    std::optional<Clip> clip_;
};

TEST_F(LentImages, AreWrittenAgainAndGoOnlyOnceThePicturesMadeOfThemAreDone) {
    const std::size_t images = kImages;
    EXPECT_LE(show_all(1, 2 * images, std::chrono::milliseconds(300)), images);
    finish_pictures(1);
    EXPECT_EQ(show_all(1, 2 * images), 2 * images);
    EXPECT_EQ(show_all(2, 1), 1U);
    auto gone = std::async(std::launch::async, [&] { clip_.reset(); });
    EXPECT_EQ(gone.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
    finish_pictures(2);
    gone.get();
}

TEST(Sessions, SayWhyThereAreNoImagesWhereTheDevicesHaveNothingInCommon) {
    vulkan::testing::faults().reset();
    vulkan::testing::faults().no_external_memory_host = true;
    const auto loader = vulkan::testing::faulty_loader();
    ASSERT_TRUE(loader) << loader.error().message;
    const auto instance = vulkan::Instance::create(*loader).value();
    const auto display = vulkan::Device::create(*instance).value();
    const auto session = session::Session::open(
        "synthetic:wan2.1,dim=2",
        {.accelerator = create_same_gpu({.kind = "cpu", .refuses_host_memory = true}), .display = display.get()});
    ASSERT_TRUE(session) << session.error().message;
    const auto stream = (*session)->decode(stream::testing::small_clip(1));
    vulkan::testing::faults().reset();
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error().message.rfind("headless: ", 0), 0U) << stream.error().message;
}

}  // namespace
}  // namespace kinetograph::viewer
