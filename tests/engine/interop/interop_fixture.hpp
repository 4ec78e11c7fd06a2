// InteropTest: a Vulkan device under validation on one side, an accelerator on the other; any message of the layers
// fails the test.
#pragma once

#include "cuda_side.hpp"
#include "same_gpu.hpp"

#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/interop/bridge.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/tests/engine/vulkan/faults.hpp>

#include <gtest/gtest.h>

#include <string>

namespace kinetograph::interop::testing {

/// One combination of accelerator and display, and what the bridge must choose for it.
struct Pairing {
    std::string name;
    bool pretends_same_gpu = false;  ///< otherwise the CPU as it is
    bool imports_timelines = true;
    bool no_external_memory_host = false;
    Topology topology;
    Staging staging;
    Timelines timelines;
};
inline std::ostream& operator<<(std::ostream& out, const Pairing& pairing) { return out << pairing.name; }

inline const Pairing kSharedTimelines{"SharedWithItsTimelines", true, true, false, Topology::Shared, Staging::None,
                                      Timelines::Shared};
inline const Pairing kSharedRelayed{"SharedWithRelays", true, false, false, Topology::Shared, Staging::None,
                                    Timelines::Relayed};
inline const Pairing kStagedPinned{"StagedInPinnedMemory", false, false, false, Topology::Staged, Staging::Pinned,
                                   Timelines::Relayed};
inline const Pairing kStagedMapped{"StagedInMappedMemory", false, false, true, Topology::Staged, Staging::Mapped,
                                   Timelines::Relayed};

class InteropTest : public ::testing::Test {
  protected:
    void SetUp() override { vulkan::testing::faults().reset(); }
    void open_display() {
        auto loader = vulkan::testing::faulty_loader();
        ASSERT_TRUE(loader) << loader.error().message;
        auto instance = vulkan::Instance::create(*loader, {.validation = validation_});
        ASSERT_TRUE(instance) << instance.error().message;
        instance_ = std::move(*instance);
        log_ = instance_->validation();
        auto display = vulkan::Device::create(*instance_);
        ASSERT_TRUE(display) << display.error().message;
        display_ = std::move(*display);
    }
    void make_bridge(const BridgeOptions& options = {}) {
        auto bridge = Bridge::create(*accelerator_, display_.get(), options);
        ASSERT_TRUE(bridge) << bridge.error().message;
        bridge_ = std::move(*bridge);
    }
    void open(const Pairing& pairing) {
        vulkan::testing::faults().no_external_memory_host = pairing.no_external_memory_host;
        vulkan::testing::faults().exports_semaphores = pairing.timelines == Timelines::Shared;
        vulkan::testing::faults().tells_budget = tells_budget_;
        ASSERT_NO_FATAL_FAILURE(open_display());
        if (pairing.topology == Topology::Shared && !display_->report().extensions.external_memory_fd)
            GTEST_SKIP() << "no VK_KHR_external_memory_fd here";
        accelerator_ = create_same_gpu(
            {.uuid = pairing.pretends_same_gpu ? display_->report().uuid : std::array<std::uint8_t, 16>{},
             .kind = kind_,
             .imports_timelines = pairing.imports_timelines},
            &calls_);
        ASSERT_NO_FATAL_FAILURE(make_bridge());
        const TopologyChoice& choice = bridge_->choice();
        ASSERT_EQ(choice.topology, pairing.topology) << choice.reason;
        ASSERT_EQ(choice.staging, pairing.staging) << choice.reason;
        ASSERT_EQ(choice.timelines, pairing.timelines) << choice.reason;
    }
    /// Opens CUDA on the same GPU as Vulkan, memory and timelines shared; skips if a real driver has no such device.
    void open(CudaSide& cuda, const standin::Options& options = {}) {
        vulkan::testing::faults().exports_semaphores = !cuda.real();  // NVIDIA's driver exports them itself
        ASSERT_NO_FATAL_FAILURE(open_display());
        auto device = cuda.create_device(*display_, options);
        if (!device && cuda.real()) GTEST_SKIP() << device.error().message;
        ASSERT_TRUE(device) << device.error().message;
        accelerator_ = std::move(*device);
        ASSERT_NO_FATAL_FAILURE(make_bridge());
        ASSERT_EQ(bridge_->choice().topology, Topology::Shared) << bridge_->choice().reason;
        ASSERT_EQ(bridge_->choice().timelines, Timelines::Shared) << bridge_->choice().reason;
    }
    /// Submits a batch without passes, which waits for `waits` and `point` and signals `value`.
    static void submit(graph::LaneBackend& lane, std::uint64_t value, std::span<const graph::ResolvedWait> waits = {},
                       const graph::Point& point = {}) {
        graph::Batch batch;
        batch.lane = lane.lane();
        graph::Plan plan;
        plan.batches_on_lane[lane.lane().index()] = 1;
        ASSERT_TRUE(lane.submit({.plan = &plan,
                                 .batch = &batch,
                                 .waits = waits,
                                 .points = {&point, point.timeline != nullptr ? 1U : 0U},
                                 .passes = {},
                                 .resources = {},
                                 .signal = value}));
    }
    /// Frees what a test made itself.
    virtual void release() {}
    void TearDown() override {
        if (bridge_) bridge_->close();
        release();
        bridge_.reset();
        accelerator_.reset();
        display_.reset();
        EXPECT_EQ(vulkan::testing::faults().alive, 0) << "objects of Vulkan that were not destroyed";
        instance_.reset();
        if (log_) {
            EXPECT_EQ(log_->text(), "");
        }
        vulkan::testing::faults().reset();
    }

    vulkan::Validation validation_ = vulkan::Validation::On;
    std::string_view kind_ = "hip";
    bool tells_budget_ = false;  ///< the display reports budgets, by VK_EXT_memory_budget
    AcceleratorCalls calls_;
    std::unique_ptr<vulkan::Instance> instance_;
    std::shared_ptr<vulkan::ValidationLog> log_;
    std::unique_ptr<vulkan::Device> display_;
    std::unique_ptr<accel::Device> accelerator_;
    std::unique_ptr<Bridge> bridge_;
};

}  // namespace kinetograph::interop::testing
