// A stream of a GPU that is lost at a drawn moment, or whose display is, while its reader is slow and others restart
// it, cancel it and ask it. Every call ends, frames come in order until the loss is told, and devices that are opened
// afterwards in the same process serve. On the stand-ins whose kernels do nothing, beside lavapipe.
// KINETOGRAPH_CHAOS_SECONDS and KINETOGRAPH_CHAOS_SEED say for how long, and which chaos.
#include "stream_chaos.hpp"

#include <kinetograph/engine/accel/hip/device.hpp>
#include <kinetograph/tests/engine/accel/device_fixture.hpp>
#include <kinetograph/tests/engine/interop/held.hpp>
#include <kinetograph/tests/engine/interop/watchdog.hpp>

#include <array>
#include <atomic>

namespace kinetograph::stream {
namespace {

using kinetograph::testing::chaos_seed;
using kinetograph::testing::chaos_time;
using kinetograph::testing::Dice;
using testing::FrameRecord;
using testing::FrameRingDesc;

struct Way {
    const char* name;
    bool is_cuda;  ///< the GPU that draws; else HIP, beside it
    FrameRingDesc::Storage storage;
};
std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }
constexpr std::array kWays{
    Way{"CudaImages", true, FrameRingDesc::Storage::Image}, Way{"CudaBuffers", true, FrameRingDesc::Storage::Buffer},
    Way{"CudaHostMemory", true, FrameRingDesc::Storage::Host}, Way{"HipImages", false, FrameRingDesc::Storage::Image},
    Way{"HipHostMemory", false, FrameRingDesc::Storage::Host}};

enum class Loss : std::uint8_t { None, Accelerator, Display };

class LossChaos : public testing::StreamChaos, public ::testing::WithParamInterface<Way> {
  protected:
    standin::Control& control() { return GetParam().is_cuda ? *cuda_.control() : hip_; }
    void open_devices(Dice& dice) {
        if (!display_) {
            vulkan::testing::faults().recover();
            auto display = vulkan::Device::create(*instance_);
            ASSERT_TRUE(display) << display.error().message;
            display_ = std::move(*display);
        }
        const standin::Options options{.jitter_seed = 1 + dice.roll(1000)};
        if (!GetParam().is_cuda) hip_.reset(options);
        auto device = GetParam().is_cuda ? cuda_.create_device(*display_, options)
                                         : accel::hip::create_device({.library = STANDIN_HIP_IDLE});
        ASSERT_TRUE(device) << device.error().message;
        accelerator_ = std::move(*device);
        ASSERT_NO_FATAL_FAILURE(make_bridge());
        ASSERT_EQ(bridge_->choice().topology,
                  GetParam().is_cuda ? interop::Topology::Shared : interop::Topology::Staged)
            << bridge_->choice().reason;
    }
    void close_devices() {
        stream_.reset();
        bridge_->close();
        bridge_.reset();
        accelerator_.reset();
        if (vulkan::testing::faults().device_lost) display_.reset();
        EXPECT_EQ(control().complaints(), std::vector<std::string>{});
        EXPECT_EQ(control().live(), standin::Live{});
    }
    void expect_allowed(const Error& error) override {
        if (error.code == ErrorCode::Cancelled) return;
        EXPECT_EQ(error.code, ErrorCode::DeviceLost) << error.message;
        EXPECT_TRUE(lost_) << error.message;
    }
    void lose(Loss loss) {
        lost_ = loss != Loss::None;
        losses_ += lost_ ? 1 : 0;
        if (loss == Loss::Accelerator) control().fail();
        if (loss == Loss::Display) vulkan::testing::faults().device_lost = true;
    }
    void check(const FrameRecord& record, const std::optional<FrameRecord>& before, bool pushed) override;
    void disturb(Dice& dice);
    void expect_told(bool pushed);
    void act(Dice& dice);

    interop::testing::CudaSide cuda_{STANDIN_CUDA_IDLE};
    standin::Control& hip_ = *accel::control_of(STANDIN_HIP_IDLE);
    std::atomic<bool> lost_{false};
    std::uint64_t losses_ = 0;
};

/// Frames come in order, and are waited for.
void LossChaos::check(const FrameRecord& record, const std::optional<FrameRecord>& before, bool pushed) {
    if (before && before->generation == record.generation) {
        const bool around = !pushed && record.label.index == 0;
        EXPECT_TRUE(around || record.label.index == before->label.index + 1) << record.label.index;
    } else {
        EXPECT_EQ(record.label.index, 0);
    }
    if (const auto ready = bridge_->wait(record.ready); !ready) expect_allowed(ready.error());
}

void LossChaos::disturb(Dice& dice) {
    switch (dice.roll(8)) {
        case 0:
            stream_->restart();
            break;
        case 1:
            stream_->cancel();
            dice.pause(std::chrono::milliseconds(2));
            stream_->restart();
            break;
        case 2:
            stream_->collect();
            EXPECT_LE(stream_->stats().held, kSlots);
            EXPECT_FALSE(stream_->health().lanes.empty());
            break;
        default:
            dice.pause(std::chrono::milliseconds(8));
    }
}

/// The loss is returned to a reader and a writer that begin again after it.
void LossChaos::expect_told(bool pushed) {
    stream_->restart();
    const std::vector<float> latent = clip_.frame(0);
    std::optional<Error> told;
    while (!told) {  // a test that hangs has failed
        if (pushed) {
            const auto given = latents_->push(latent, std::chrono::milliseconds(10));
            if (!given) told = given.error();
        }
        const auto taken = stream_->take(std::chrono::milliseconds(10));
        if (!taken) told = taken.error();
        if (taken && *taken) {
            EXPECT_TRUE(stream_->release(**taken));
        }
    }
    EXPECT_EQ(told->code, ErrorCode::DeviceLost) << told->message;
}

/// One stream on devices of its own, from its making to its end.
void LossChaos::act(Dice& dice) {
    const interop::testing::Watchdog watchdog("an act of the chaos", std::chrono::seconds(120));
    ASSERT_NO_FATAL_FAILURE(open_devices(dice));
    const bool pushed = dice.one_in(2);
    ASSERT_NO_FATAL_FAILURE(make_stream(GetParam().storage, pushed, dice.one_in(2)));
    constexpr std::array kLosses{Loss::None, Loss::Accelerator, Loss::Accelerator, Loss::Display};
    const Loss loss = kLosses.at(dice.roll(kLosses.size()));
    lost_ = false;
    use_stream(dice, pushed, [&] {
        const std::uint32_t turns = 5 + dice.roll(40), moment = dice.roll(turns);
        for (std::uint32_t i = 0; i < turns; ++i) {
            if (i == moment) lose(loss);
            disturb(dice);
        }
    });
    const bool draws = GetParam().storage == FrameRingDesc::Storage::Image;
    if (loss == Loss::Accelerator || (loss == Loss::Display && draws)) expect_told(pushed);
    close_devices();
}

TEST_P(LossChaos, OfAStreamEndsEveryCallAndLeavesNothing) {
    if (cuda_.real()) GTEST_SKIP() << "a real device is not lost at will";
    validation_ = vulkan::Validation::Off;  // its state machine does not know devices that are lost
    vulkan::testing::faults().exports_semaphores = GetParam().is_cuda;
    ASSERT_NO_FATAL_FAILURE(open_display());
    Dice dice(chaos_seed());
    SCOPED_TRACE(fmt::format("KINETOGRAPH_CHAOS_SEED={}", chaos_seed()));
    ASSERT_NO_FATAL_FAILURE(act(dice));
    display_.reset();
    const interop::testing::Holders holders{};
    const interop::testing::Held before = holders.now();
    const Nanoseconds end = host_now() + chaos_time() / kWays.size();
    while ((host_now() < end || read_ == 0 || losses_ == 0) && !HasFailure()) ASSERT_NO_FATAL_FAILURE(act(dice));
    display_.reset();
    holders.expect(before);
    fmt::print("{} frames read, {} losses\n", read_, losses_);
    hip_.reset({});
}

INSTANTIATE_TEST_SUITE_P(Ways, LossChaos, ::testing::ValuesIn(kWays),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace kinetograph::stream
