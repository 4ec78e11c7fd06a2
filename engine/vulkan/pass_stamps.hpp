// PassStamps: the times of a batch's passes, by time stamp queries in its commands.
#pragma once

#include <kinetograph/engine/graph/handles.hpp>
#include <kinetograph/engine/profile/recorder.hpp>
#include <kinetograph/engine/vulkan/buffer.hpp>

#include <memory>
#include <vector>

namespace kinetograph::vulkan {

/// Two queries for every pass of one command buffer. Does nothing where the queue or the device cannot tell times.
class PassStamps {
  public:
    PassStamps(const Device& device, graph::Lane lane) : device_(device), lane_(lane) {}
    ~PassStamps();
    PassStamps(const PassStamps&) = delete;
    PassStamps& operator=(const PassStamps&) = delete;

    static bool are_available(const Device& device, graph::Lane lane);
    /// Makes room for that many passes and forgets earlier ones, whose commands have ended. Errors: what the driver
    /// says.
    Result<void> prepare(std::size_t passes);
    void begin(VkCommandBuffer commands, VkPipelineStageFlags2 stage) const;
    void end(VkCommandBuffer commands, VkPipelineStageFlags2 stage, profile::NameId pass);
    /// At the end of the commands, where their results are copied to memory: whether they are.
    bool copy(VkCommandBuffer commands) const;

    /// When the commands of a batch were given to the queue, and when the host saw that they had ended.
    struct Bracket {
        Nanoseconds submitted{}, seen{};
    };
    /// Adds a span for every pass, like `batch`, and notes the quality of the clock.
    void record(profile::Recorder& recorder, profile::SpanRecord batch, const Bracket& bracket) const;

  private:
    const Device& device_;
    graph::Lane lane_;
    VkQueryPool queries_ = VK_NULL_HANDLE;
    std::uint32_t capacity_ = 0;
    std::unique_ptr<Buffer> copies_;  ///< of `queries_`; null: the host reads those
    std::vector<profile::NameId> passes_;
};

}  // namespace kinetograph::vulkan
