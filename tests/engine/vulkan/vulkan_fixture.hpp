// VulkanTest: a device with all three lanes under validation; any message of the layers fails the test.
#pragma once

#include "blocked_queue.hpp"
#include "faults.hpp"

#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>

#include <gtest/gtest.h>

namespace kinetograph::vulkan::testing {

class VulkanTest : public ::testing::Test {
  protected:
    void SetUp() override {
        faults().reset();
        auto loader = faulty_loader();
        ASSERT_TRUE(loader) << loader.error().message;
        auto instance = Instance::create(*loader, {.validation = Validation::On});
        ASSERT_TRUE(instance) << instance.error().message;
        instance_ = std::move(*instance);
        log_ = instance_->validation();
        auto device = Device::create(*instance_);
        ASSERT_TRUE(device) << device.error().message;
        device_ = std::move(*device);
        memory_ = std::make_unique<VulkanMemory>(*device_);
        make_executor(graph::Aliasing::Packed);
    }
    void TearDown() override {
        executor_.reset();
        lanes_.clear();
        memory_.reset();
        release();
        device_.reset();
        instance_.reset();
        ASSERT_TRUE(log_);
        EXPECT_EQ(log_->text(), "");
        faults().reset();
    }
    /// Frees what a test created itself; the device is idle.
    virtual void release() {}

    void make_executor(graph::Aliasing aliasing) {
        executor_.reset();
        lanes_.clear();
        for (const graph::Lane lane : {graph::Lane::Graphics, graph::Lane::AsyncCompute, graph::Lane::Transfer}) {
            auto made = VulkanLane::create(*device_, lane, &recorder_);
            ASSERT_TRUE(made) << made.error().message;
            lanes_.push_back(std::move(*made));
        }
        graph::ExecutorDesc desc;
        for (const auto& lane : lanes_) desc.lanes.push_back(lane.get());
        desc.memory.emplace_back(graph::MemoryDomain::Graphics, memory_.get());
        desc.memory.emplace_back(graph::MemoryDomain::Shared, memory_.get());
        desc.compile.aliasing = aliasing;
        auto executor = graph::Executor::create(std::move(desc));
        ASSERT_TRUE(executor) << executor.error().message;
        executor_ = std::move(*executor);
    }
    graph::FrameGraph make_graph() const {
        return graph::FrameGraph(
            {.image_footprint = [this](const graph::ImageDesc& desc) { return device_->footprint(desc); }});
    }
    VulkanLane& lane(graph::Lane lane) { return *lanes_[lane.index()]; }
    void run(const graph::FrameGraph& frame) {
        auto execution = executor_->execute(frame);
        ASSERT_TRUE(execution) << execution.error().message;
        auto done = executor_->wait(*execution);
        ASSERT_TRUE(done) << done.error().message;
    }

    profile::Recorder recorder_;
    std::unique_ptr<Instance> instance_;
    std::shared_ptr<ValidationLog> log_;
    std::unique_ptr<Device> device_;
    std::unique_ptr<VulkanMemory> memory_;
    std::vector<std::unique_ptr<VulkanLane>> lanes_;
    std::unique_ptr<graph::Executor> executor_;
};

}  // namespace kinetograph::vulkan::testing
