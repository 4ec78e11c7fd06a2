// GameLoop: pictures of an engine that draws at 60 Hz, to measure what a decoder beside it costs them.
#pragma once

#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/image.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>

#include <memory>

namespace kinetograph::cli {

/// A picture is a number of scaled copies of one image of 1920x1080 to another on the graphics queue, as many as take
/// the device about kWork alone.
class GameLoop {
  public:
    static constexpr Nanoseconds kPeriod{16'666'667}, kWork{4'000'000};

    /// `device` outlives it. Finds the number of copies. Errors: what Vulkan says.
    static Result<std::unique_ptr<GameLoop>> create(const vulkan::Device& device);
    GameLoop(const GameLoop&) = delete;
    GameLoop& operator=(const GameLoop&) = delete;
    ~GameLoop();

    /// Draws `count` pictures, one a period, or the next at once if one took longer. Returns the time from a picture's
    /// submission to its end. Errors: of the lane.
    Result<Samples> run(std::int64_t count);
    std::int64_t copies() const { return copies_; }

  private:
    explicit GameLoop(const vulkan::Device& device) : device_(device) {}
    Result<void> make();
    Result<double> draw();

    const vulkan::Device& device_;
    std::unique_ptr<vulkan::Image> scene_, picture_;
    std::unique_ptr<vulkan::VulkanLane> lane_;
    graph::FrameGraph frame_;
    std::unique_ptr<graph::Executor> executor_;  ///< waits for the lane before it is destroyed
    std::int64_t copies_ = 1;
};

}  // namespace kinetograph::cli
