// A device that is lost in the middle of work that others wait for: every wait ends, with a sentence, and nothing is
// left behind. Rounds: KINETOGRAPH_LOSS_ROUNDS, 20 of each kind unless it says otherwise; a soak takes 1000.
#include "held.hpp"
#include "scale_crossing.hpp"
#include "watchdog.hpp"

#include <kinetograph/engine/accel/cuda/device.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/engine/vulkan/timeline.hpp>
#include <kinetograph/tests/engine/accel/hip/standin_fixture.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace kinetograph::interop {
namespace {

struct Side {
    std::string name;
    std::string_view kind = "cuda";
    accel::Batches batches = accel::Batches::Eager;
};
std::ostream& operator<<(std::ostream& out, const Side& side) { return out << side.name; }

class Losses : public testing::ScaleCrossing, public ::testing::WithParamInterface<Side> {
  protected:
    void SetUp() override {
        ScaleCrossing::SetUp();
        validation_ = vulkan::Validation::Off;  // its state machine does not know devices that are lost
        vulkan::testing::faults().exports_semaphores = is_cuda();
        ASSERT_NO_FATAL_FAILURE(open_display());
        before_ = process_.now();
    }
    void TearDown() override {
        before_.vulkan_objects = vulkan::testing::faults().alive;  // what was retired goes with the device
        if (accelerator_ == nullptr) process_.expect(before_);
        ScaleCrossing::TearDown();
        if (!is_cuda()) hip_.reset({});
    }
    bool is_cuda() const { return GetParam().kind == "cuda"; }
    const char* wanted() const { return is_cuda() ? "CUDA_ERROR_LAUNCH_FAILED (719)" : "hipErrorLaunchFailure (719)"; }

    void start(const standin::Options& options) {
        if (!is_cuda()) hip_.reset(options);
        start_on(is_cuda() ? cuda_.create_device(*display_, options) : open_again());
    }
    /// In the process as it is, after whatever has happened in it.
    static Result<std::unique_ptr<accel::Device>> open_again() {
        if (GetParam().kind == "cuda") return accel::cuda::create_device({.library = KINETOGRAPH_STANDIN_CUDA_LIBRARY});
        return accel::hip::create_device({.library = accel::hip::kStandin});
    }
    void start_on(Result<std::unique_ptr<accel::Device>> device) {
        ASSERT_TRUE(device) << device.error().message;
        accelerator_ = std::move(*device);
        ASSERT_NO_FATAL_FAILURE(make_bridge());
        ASSERT_EQ(bridge_->choice().topology, is_cuda() ? Topology::Shared : Topology::Staged)
            << bridge_->choice().reason;
        load_kernel();
        make_lanes(GetParam().batches);
    }
    void end() {
        bridge_->close();
        release();
        bridge_.reset();
        accelerator_.reset();
        EXPECT_EQ(is_cuda() ? cuda_.complaints() : complaints_of_hip(), "");
    }
    std::string complaints_of_hip() const {
        std::string text;
        for (const std::string& complaint : hip_.complaints()) text += complaint + "\n";
        if (hip_.live() != standin::Live{}) text += "something is alive still\n";
        return text;
    }
    /// Steps with two in flight, until one fails; the first error.
    std::optional<Error> run_until_lost(std::uint32_t steps) {
        std::optional<graph::Execution> before;
        for (std::uint32_t step = 1; step <= steps; ++step) {
            frame_.clear();
            declare(frame_, step);
            const auto now = executor_->execute(frame_);
            if (!now) return now.error();
            if (before)
                if (auto done = executor_->wait(*before); !done) return done.error();
            before = *now;
        }
        if (auto done = executor_->wait(*before); !done) return done.error();
        return std::nullopt;
    }

    const testing::Holders process_{};
    testing::Held before_;  ///< of the process, before there was an accelerator
    interop::testing::CudaSide cuda_{KINETOGRAPH_STANDIN_CUDA_LIBRARY};
    standin::Control& hip_ = accel::hip::control_of(accel::hip::kStandin);
};

TEST_P(Losses, OfTheAcceleratorEndEveryWaitWithTheSentence) {
    for (const std::uint32_t launch : {1U, 3U, 30U, 75U, 130U, 170U}) {
        const testing::Watchdog watchdog(fmt::format("a fault in launch {}", launch), std::chrono::seconds(60));
        ASSERT_NO_FATAL_FAILURE(start({.faulting_launch = launch}));
        const auto lost = run_until_lost(60);
        ASSERT_TRUE(lost) << "launch " << launch;
        EXPECT_EQ(lost->code, ErrorCode::DeviceLost) << lost->message;
        EXPECT_NE(lost->message.find(wanted()), std::string::npos) << lost->message;
        end();
    }
}

/// Also by those that have nothing to do with the work that failed, and wait for something else.
TEST_P(Losses, AreToldByEveryLaneOfTheDevice) {
    const testing::Watchdog watchdog("two lanes", std::chrono::seconds(60));
    ASSERT_NO_FATAL_FAILURE(start({.faulting_launch = 20}));
    auto gate = accelerator_->create_timeline().value();
    auto other = accel::AcceleratorLane::create(*accelerator_).value();
    submit(*other, 1, {}, {gate, 1});
    ASSERT_TRUE(run_until_lost(60));
    const auto told = other->wait(1);
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, ErrorCode::DeviceLost) << told.error().message;
    EXPECT_NE(told.error().message.find(wanted()), std::string::npos) << told.error().message;
    other.reset();
    gate.reset();
    end();
}

/// The call that enqueues blocks, with a lock that all calls of the driver need, until Vulkan has gone on, which
/// waits for what the accelerator has done before.
TEST_P(Losses, NorDoesAFullQueueOfTheDriverHoldUpWhatIsToEmptyIt) {
    const testing::Watchdog watchdog("a full queue", std::chrono::seconds(60));
    ASSERT_NO_FATAL_FAILURE(start({.queue_depth = 2}));
    EXPECT_FALSE(run_until_lost(40));
    end();
}

/// The driver refuses to signal what Vulkan waits for: the error is reported, and Vulkan goes on.
TEST_P(Losses, OfOneSignalReleaseEveryWait) {
    const testing::Watchdog watchdog("a refused signal", std::chrono::seconds(60));
    for (const char* call : {"cuSignalExternalSemaphoresAsync", "cuStreamWriteValue64_v2", "hipStreamWriteValue64"}) {
        ASSERT_NO_FATAL_FAILURE(start({.injections = {{call, 5, standin::Code::InvalidValue}}}));
        const auto refused = run_until_lost(20);
        if ((call[0] == 'c') == is_cuda()) {
            ASSERT_TRUE(refused) << call;
            EXPECT_NE(refused->message.find("signalling value 5"), std::string::npos) << refused->message;
        }
        end();
    }
}

std::uint32_t rounds() {
    const char* given = std::getenv("KINETOGRAPH_LOSS_ROUNDS");
    return given != nullptr ? static_cast<std::uint32_t>(std::max(1, std::atoi(given))) : 20;
}

TEST_P(Losses, AtDrawnMomentsLeaveNothingBehind) {
    std::minstd_rand random(7);
    for (std::uint32_t round = 0; round < rounds(); ++round) {
        const std::uint32_t launch = 1 + static_cast<std::uint32_t>(random()) % 100;
        const testing::Watchdog watchdog(fmt::format("round {}, a fault in launch {}", round, launch),
                                         std::chrono::seconds(60));
        ASSERT_NO_FATAL_FAILURE(start({.faulting_launch = launch, .jitter_seed = 1 + round}));
        const auto lost = run_until_lost(60);
        ASSERT_TRUE(lost);
        EXPECT_EQ(lost->code, ErrorCode::DeviceLost) << lost->message;
        end();
    }
}

/// CUDA makes another context after the last reference to the failed one is gone; of HIP the application asks it.
TEST_P(Losses, AreOverForTheDeviceThatIsOpenedAfterwardsInTheSameProcess) {
    auto* const reset_of_hip = reinterpret_cast<int (*)()>(
        ::dlsym(::dlopen(accel::hip::kStandin.c_str(), RTLD_NOW | RTLD_LOCAL), "hipDeviceReset"));
    ASSERT_NO_FATAL_FAILURE(start({.faulting_launch = 30}));
    ASSERT_TRUE(run_until_lost(60));
    end();
    if (!is_cuda()) {
        ASSERT_EQ(reset_of_hip(), 0);
    }
    const testing::Watchdog watchdog("a device after a loss", std::chrono::seconds(60));
    ASSERT_NO_FATAL_FAILURE(start_on(open_again()));
    const auto lost = run_until_lost(20);
    EXPECT_FALSE(lost) << lost->message;
    expect_result(39.0F);  // 2 * 19 + 1: what was kept of the step before the last
    end();
}

/// As where a program has more streams than the device has queues.
TEST_P(Losses, AreNoDifferentOnStreamsThatShareOneQueueOfTheDevice) {
    const testing::Watchdog watchdog("one queue of the device", std::chrono::seconds(60));
    ASSERT_NO_FATAL_FAILURE(start({.hardware_queues = 1}));
    EXPECT_FALSE(run_until_lost(40));
    end();
    ASSERT_NO_FATAL_FAILURE(start({.hardware_queues = 1, .faulting_launch = 60}));
    const auto lost = run_until_lost(60);
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->code, ErrorCode::DeviceLost) << lost->message;
    end();
}

/// The accelerator waits on the device for semaphores that a lost Vulkan device will not signal.
TEST_P(Losses, OfVulkanEndTheAcceleratorsWaitsToo) {
    std::minstd_rand random(11);
    for (std::uint32_t round = 0; round < rounds(); ++round) {
        const std::uint32_t submissions = 1 + static_cast<std::uint32_t>(random()) % 30;
        const testing::Watchdog watchdog(fmt::format("round {}, Vulkan lost after {} submissions", round, submissions),
                                         std::chrono::seconds(60));
        ASSERT_NO_FATAL_FAILURE(start({.jitter_seed = 1 + round}));
        vulkan::testing::faults().submissions_left = static_cast<int>(submissions);
        const auto lost = run_until_lost(60);
        ASSERT_TRUE(lost);
        EXPECT_EQ(lost->code, ErrorCode::DeviceLost) << lost->message;
        EXPECT_NE(lost->message.find("was lost while"), std::string::npos) << lost->message;
        end();
        display_.reset();  // a lost device is replaced in the same process
        vulkan::testing::faults().recover();
        auto display = vulkan::Device::create(*instance_);
        ASSERT_TRUE(display) << display.error().message;
        display_ = std::move(*display);
    }
}

/// A lane whose stream waits on the device for a lane of a lost Vulkan device.
class LostPartners : public testing::InteropTest {
  protected:
    void SetUp() override {
        InteropTest::SetUp();
        validation_ = vulkan::Validation::Off;
    }
    void make_lanes(const standin::Options& options) {
        ASSERT_NO_FATAL_FAILURE(open(cuda_, options));
        lane_ = accel::AcceleratorLane::create(*accelerator_).value();
        graphics_ =
            vulkan::VulkanLane::create(*display_, graph::Lane::Graphics, nullptr, bridge_->lane_sharing()).value();
        ASSERT_TRUE(bridge_->connect(*lane_, *graphics_));
    }
    /// Ends the process, with 0 if the lane ends in time: what it gives up stays in the driver until then.
    void lose_vulkan_with_one_queue() {
        const testing::Watchdog watchdog("a lane that cannot be released", std::chrono::seconds(30));
        make_lanes({.hardware_queues = 1});
        const auto gate = std::make_shared<graph::HostTimeline>("gate");
        submit(*graphics_, 1, {}, {gate, 1});
        const graph::ResolvedWait wait{graphics_.get(), 1};
        submit(*lane_, 1, {&wait, 1});
        vulkan::testing::faults().device_lost = true;
        const auto waited = lane_->wait(1);
        const bool told = !waited && waited.error().code == ErrorCode::DeviceLost;
        std::this_thread::sleep_for(graph::kLook);
        lane_.reset();
        std::_Exit(told && !HasFailure() ? 0 : 3);
    }

    interop::testing::CudaSide cuda_{KINETOGRAPH_STANDIN_CUDA_LIBRARY};
    std::unique_ptr<accel::AcceleratorLane> lane_;
    std::unique_ptr<vulkan::VulkanLane> graphics_;
};

/// The stream that is to release the lane shares the one queue that the lane's own wait blocks.
TEST_F(LostPartners, DoNotHoldUpTheEndOfALaneThatNoStreamCanRelease) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(lose_vulkan_with_one_queue(), ::testing::ExitedWithCode(0), "cannot run, and is never released");
}

INSTANTIATE_TEST_SUITE_P(Sides, Losses,
                         ::testing::Values(Side{"Cuda", "cuda", accel::Batches::Eager},
                                           Side{"CudaReplayed", "cuda", accel::Batches::Replayed},
                                           Side{"Hip", "hip", accel::Batches::Eager}),
                         [](const auto& side) { return side.param.name; });

/// A Vulkan device on the GPU of an accelerator that is lost.
class LossesOnOneGpu : public testing::InteropTest {
  protected:
    void SetUp() override {
        InteropTest::SetUp();
        validation_ = vulkan::Validation::Off;
    }

    interop::testing::CudaSide cuda_{KINETOGRAPH_STANDIN_CUDA_LIBRARY};
};

TEST_F(LossesOnOneGpu, AreToldToVulkanThoughOnlyTheEndOfAnIdleLaneMeetsThem) {
    if (cuda_.real()) GTEST_SKIP() << "only a stand-in fails when it is told to";
    ASSERT_NO_FATAL_FAILURE(open(cuda_));
    auto lane = accel::AcceleratorLane::create(*accelerator_).value();
    ASSERT_TRUE(bridge_->connect(*lane));
    submit(*lane, 1);
    ASSERT_TRUE(lane->wait(1));
    cuda_.control()->fail();
    EXPECT_FALSE(display_->losses().newest());
    lane.reset();
    const auto loss = display_->losses().newest();
    ASSERT_TRUE(loss);
    EXPECT_NE(loss->message.find("CUDA_ERROR_LAUNCH_FAILED (719)"), std::string::npos) << loss->message;
}

/// Whether they share memory or not; of another GPU Vulkan is told nothing.
TEST_F(LossesOnOneGpu, AreToldToVulkanInEveryTopology) {
    for (const auto& [pairing, closest] :
         {std::pair(testing::kSharedRelayed, Topology::Shared), std::pair(testing::kSharedRelayed, Topology::Staged),
          std::pair(testing::kStagedPinned, Topology::Staged)}) {
        ASSERT_NO_FATAL_FAILURE(open(pairing));
        if (IsSkipped()) return;
        ASSERT_NO_FATAL_FAILURE(make_bridge({.closest = closest}));
        ASSERT_EQ(bridge_->choice().topology, closest) << bridge_->choice().reason;
        auto graphics = vulkan::VulkanLane::create(*display_, graph::Lane::Graphics).value();
        for (const bool with_display : {true, false}) {
            auto lane = accel::AcceleratorLane::create(*accelerator_).value();
            ASSERT_TRUE(with_display ? bridge_->connect(*lane, *graphics) : bridge_->connect(*lane));
            const std::string message = with_display ? "a lane beside Vulkan's" : "a lane alone";
            lane->timeline()->report({ErrorCode::DeviceLost, message});
            const auto loss = display_->losses().newest();
            EXPECT_EQ(loss ? loss->message : "", pairing.pretends_same_gpu ? message : "") << pairing;
        }
        graphics.reset();
        bridge_.reset();
        accelerator_.reset();
        display_.reset();
    }
}

using ExportedSemaphores = testing::InteropTest;

/// What another API has imported outlives the semaphore that was exported, and its device.
TEST_F(ExportedSemaphores, AreOutlivedByWhatWasImported) {
    vulkan::testing::faults().exports_semaphores = true;
    ASSERT_NO_FATAL_FAILURE(open_display());
    const VkSemaphore semaphore = vulkan::create_timeline(*display_, "made", vulkan::Sharing::Exportable).value();
    const int fd = vulkan::export_timeline_fd(*display_, semaphore, "made").value();
    const auto imported = vulkan::testing::import_payload(fd);
    EXPECT_EQ(vulkan::testing::import_payload(fd), nullptr);
    ::close(fd);
    imported->signal(3);
    EXPECT_EQ(*vulkan::wait_timeline(*display_, semaphore, 3, std::chrono::seconds(10)), true);
    display_->table().vkDestroySemaphore(display_->handle(), semaphore, nullptr);
    imported->signal(4);
    EXPECT_TRUE(imported->wait(4, {}));
    display_.reset();
    EXPECT_EQ(imported->value(), 4U);
    imported->signal(5);
    EXPECT_TRUE(imported->wait(5, {}));
    EXPECT_FALSE(imported->wait(6, std::chrono::milliseconds(1)));
}

}  // namespace
}  // namespace kinetograph::interop
