// A viewer in which everything happens at drawn moments: pauses, steps, speeds, seeks, other clips, broken ones, sizes,
// lost accelerators, lost displays, and readers that are slow. Whatever it shows is the right picture of the right
// clip. On the stand-in for CUDA, whose kernels do nothing, it is the device itself that is lost, and pictures are not
// compared. KINETOGRAPH_CHAOS_SECONDS and KINETOGRAPH_CHAOS_SEED say for how long, and which chaos.
#include "in_place_test.hpp"

#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/tests/compute/stream/chaos.hpp>
#include <kinetograph/tests/engine/interop/cuda_side.hpp>
#include <kinetograph/tests/engine/interop/held.hpp>
#include <kinetograph/tests/engine/interop/watchdog.hpp>

namespace kinetograph::viewer {
namespace {

using kinetograph::testing::chaos_seed;
using kinetograph::testing::chaos_time;
using kinetograph::testing::Dice;
using testing::Pictures;
using testing::Topology;
using testing::Way;

/// A stream whose device is lost once `left` frames have been taken.
class LosableStream final : public stream::FrameSource {
  public:
    LosableStream(std::unique_ptr<stream::FrameSource> stream, std::atomic<int>& left)
        : stream_(std::move(stream)), left_(left) {}
    Result<std::optional<interop::FrameRecord>> take(Nanoseconds timeout) override {
        if (is_lost_ || left_ == 0) return lose();
        auto taken = stream_->take(timeout);
        if (taken && *taken && left_ > 0) --left_;
        return taken;
    }
    Result<std::optional<interop::FrameRecord>> try_take_ahead() override { return stream_->try_take_ahead(); }
    Result<void> release(const interop::FrameRecord& record, const interop::TimelinePoint& done) override {
        return stream_->release(record, done);
    }
    void restart() override { stream_->restart(); }
    void cancel() override { stream_->cancel(); }
    bool close(Nanoseconds timeout) override { return stream_->close(timeout); }
    void set_loop(bool loop) override { stream_->set_loop(loop); }
    bool finished() const override { return stream_->finished(); }
    stream::SourceStats stats() const override { return stream_->stats(); }
    stream::SourceHealth health() const override { return stream_->health(); }
    const stream::SourceFacts& facts() const override { return stream_->facts(); }
    std::optional<Nanoseconds> decoded_at(const interop::FrameRecord& record) const override {
        return stream_->decoded_at(record);
    }
    std::optional<bool> is_finite(const interop::FrameRecord& record) const override {
        return stream_->is_finite(record);
    }
    void collect() override { stream_->collect(); }

  private:
    tl::unexpected<Error> lose() {
        is_lost_ = true;
        left_ = -1;
        return fail(ErrorCode::DeviceLost, "the accelerator was lost");
    }
    std::unique_ptr<stream::FrameSource> stream_;
    std::atomic<int>& left_;  ///< negative: endless
    bool is_lost_ = false;
};

/// Opens "small" and "wide"; any other clip is broken.
class LosableSource final : public ClipSource {
  public:
    LosableSource(Way way, const testing::MakeDevice& make_device, std::int64_t latent_frames)
        : source_(way, make_device, latent_frames) {}
    void draw_on(const vulkan::Display& display) override { source_.draw_on(display); }
    Result<Clip> open(const std::filesystem::path& latents, bool loop) override {
        if (latents != "small" && latents != "wide") return fail(ErrorCode::NotFound, "no such clip");
        KG_TRY(auto clip, source_.open(latents, loop));
        clip.stream = std::make_unique<LosableStream>(std::move(clip.stream), frames_left);
        return clip;
    }
    void close() override { source_.close(); }
    std::string description() const override { return source_.description(); }

    std::atomic<int> frames_left{-1};  ///< until the accelerator is lost; negative: endless

  private:
    testing::SmallSource source_;
};

/// The stand-in as the GPU that draws. A lost device is replaced in the library as it is, as in a process.
Result<std::unique_ptr<accel::Device>> create_cuda_device(const vulkan::Device& display) {
    interop::testing::CudaSide cuda(STANDIN_CUDA_IDLE);
    if (cuda.control()->calls() == 0) return cuda.create_device(display);
    return accel::cuda::create_device({.library = STANDIN_CUDA_IDLE});
}

std::vector<Topology> topologies_and_cuda() {
    std::vector<Topology> all = testing::topologies();
    all.push_back({"cuda", create_cuda_device});
    return all;
}

class ViewerChaos : public testing::InPlaceTest, public ::testing::WithParamInterface<Topology> {
  protected:
    void SetUp() override {
        InPlaceTest::SetUp();
        make_device_ = GetParam().make_device;
        vulkan::testing::faults().reset();
        if (!is_cuda()) return;
        vulkan::testing::faults().exports_semaphores = true;
        cuda_->reset({});
    }
    bool is_cuda() const { return GetParam().name == "cuda"; }
    void TearDown() override {
        vulkan::testing::faults().reset();
        if (!is_cuda()) return;
        EXPECT_EQ(cuda_->complaints(), std::vector<std::string>{});
        cuda_->reset({});
    }
    void play(Dice& dice, std::uint32_t turns);
    void act(Dice& dice);
    void turn(Dice& dice);
    void lose_display(const Error& loss);
    void check_picture(const present::Picture& picture) const;

    standin::Control* const cuda_ = interop::testing::CudaSide(STANDIN_CUDA_IDLE).control();
    std::map<std::string, Pictures> expected_;  ///< [clip] -> pictures at the first size
    std::unique_ptr<LosableSource> source_;
    std::unique_ptr<Stage> stage_;
    std::unique_ptr<Player> player_;
    Nanoseconds now_ = std::chrono::seconds(1000);
    std::uint64_t checked_ = 0, losses_ = 0;
};

/// Another device draws from now on, in pictures of the size that the options say.
void ViewerChaos::lose_display(const Error& loss) {
    player_->leave_display(loss, now_);
    vulkan::testing::faults().recover();
    const auto replaced = stage_->replace_device();
    ASSERT_TRUE(replaced) << replaced.error().message;
    source_->draw_on(stage_->device());
    player_->enter_display(now_);
    ++losses_;
}

void ViewerChaos::act(Dice& dice) {
    constexpr std::array kActions{Action::PlayPause, Action::StepForward, Action::StepBack, Action::Slower,
                                  Action::Faster,    Action::NormalSpeed, Action::Loop,     Action::Restart};
    const std::uint32_t roll = dice.roll(40);
    if (roll < 24) {
        player_->handle(kActions.at(roll % kActions.size()), now_);
    } else if (roll < 27) {
        player_->open(roll % 2 == 0 ? "small" : "wide", now_);
    } else if (roll == 27) {
        player_->open("broken", now_);
    } else if (roll == 28) {
        if (is_cuda())
            cuda_->fail();
        else
            source_->frames_left = static_cast<int>(dice.roll(20));
    } else if (roll == 29) {
        vulkan::testing::faults().submissions_left = static_cast<int>(dice.roll(20));
    } else if (roll == 30) {
        options_.width = dice.one_in(2) ? 96 : 16 + dice.roll(100);
        lose_display({ErrorCode::DeviceLost, "another size is wanted"});
    } else {
        dice.pause(std::chrono::milliseconds(4));
    }
}

void ViewerChaos::turn(Dice& dice) {
    constexpr Nanoseconds kRefresh = std::chrono::milliseconds(16);
    if (!player_->starving()) now_ += kRefresh;
    const auto moved = player_->advance(now_, kRefresh);
    if (!moved) {
        // What a display does that is lost, a decoder may notice first.
        EXPECT_TRUE(moved.error().code == ErrorCode::DeviceLost || moved.error().message == "no such clip")
            << moved.error().message;
        ++losses_;
    }
    if (player_->failure() && dice.one_in(4)) player_->handle(Action::Restart, now_);
    if (player_->frame() == nullptr) dice.pause(std::chrono::milliseconds(4));  // for those who load and decode
    Stage::Picture picture;
    picture.subject.frame = player_->frame();
    picture.interface = [] {};
    picture.read_back = dice.one_in(3);
    const auto shown = stage_->show(picture);
    if (!shown) {
        ASSERT_EQ(shown.error().code, ErrorCode::DeviceLost) << shown.error().message;
        ASSERT_NO_FATAL_FAILURE(lose_display(shown.error()));
    } else if (shown->picture && player_->frame() != nullptr && options_.width == 96) {
        if (!is_cuda()) check_picture(*shown->picture);
        ++checked_;
    }
}

void ViewerChaos::check_picture(const present::Picture& picture) const {
    const auto index = static_cast<std::size_t>(player_->frame()->index);
    const Pictures& wanted = expected_.at(player_->latents().string());
    EXPECT_TRUE(picture.rgba == wanted.at(index)) << player_->latents() << ", frame " << index;
}

void ViewerChaos::play(Dice& dice, std::uint32_t turns) {
    source_ = std::make_unique<LosableSource>(Way::InPlace, make_device_, latent_frames_);
    options_.width = 96;
    stage_ = Stage::create(options_, recorder_).value();
    player_ = std::make_unique<Player>(*source_, dice.one_in(2), 1.0);
    source_->draw_on(stage_->device());
    player_->open("small", now_);
    for (std::uint32_t i = 0; i < turns; ++i) {
        const interop::testing::Watchdog watchdog("a turn of the chaos", std::chrono::seconds(120));
        if (dice.one_in(3)) {
            ASSERT_NO_FATAL_FAILURE(act(dice));
        }
        ASSERT_NO_FATAL_FAILURE(turn(dice));
    }
    player_.reset();
    source_.reset();
    stage_.reset();
    vulkan::testing::faults().recover();
}

TEST_P(ViewerChaos, ShowsTheRightPicturesAndLeavesNothing) {
    if (cuda_ == nullptr) GTEST_SKIP() << "a real device is not lost at will";
    for (const char* clip : {"small", "wide"}) {
        options_.latents = clip;
        if (!is_cuda()) expected_[clip] = view(Way::Uploaded);
    }
    options_.vulkan = vulkan::testing::faulty_loader().value();
    options_.validation = false;
    SCOPED_TRACE(fmt::format("KINETOGRAPH_CHAOS_SEED={}", chaos_seed()));
    Dice dice(chaos_seed());
    ASSERT_NO_FATAL_FAILURE(play(dice, 20));
    const interop::testing::Holders holders{.driver = cuda_};
    const interop::testing::Held before = holders.now();
    EXPECT_EQ(before.vulkan_objects, 0);
    const Nanoseconds end = host_now() + chaos_time() / 3;
    do {
        ASSERT_NO_FATAL_FAILURE(play(dice, 20 + dice.roll(150)));
        holders.expect(before);
    } while ((host_now() < end || checked_ == 0) && !HasFailure());
    fmt::print("{} pictures{}, {} losses\n", checked_, is_cuda() ? "" : " compared", losses_);
}

INSTANTIATE_TEST_SUITE_P(Topologies, ViewerChaos, ::testing::ValuesIn(topologies_and_cuda()),
                         [](const auto& topology) { return topology.param.name; });

}  // namespace
}  // namespace kinetograph::viewer
