// HandOvers: an accelerator and a Vulkan queue that pass a mark back and forth, to measure the cost.
#pragma once

#include <kinetograph/engine/interop/bridge.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>

namespace kinetograph::cli {

/// The passes of one execution of the graph; every pass writes 256 bytes.
enum class Route : std::uint8_t {
    AcceleratorOnly,  ///< two passes on the accelerator, without a hand-over
    ThereAndBack,     ///< accelerator, Vulkan, accelerator: two hand-overs
};
std::string_view to_string(Route route);

/// Times of executions of one route.
struct HandOverTimes {
    Samples one_by_one;  ///< from execute() to the end of a wait for it
    Samples submission;  ///< of that, the call of execute(): the host's share
    double batched = 0;  ///< seconds per execution in a row of them of which only the last is waited for
};

/// Figures that must not grow or drift with the number of executions.
struct InteropState {
    std::uint64_t accelerator_bytes = 0;  ///< held of the accelerator's memory
    std::uint64_t vulkan_bytes = 0;       ///< held of Vulkan's
    std::uint64_t resident_bytes = 0;     ///< of this process in the host's memory
    std::uint64_t executions = 0;
    /// A lane's timeline value, and the value at which the last execution ends.
    struct Timeline {
        std::uint64_t value = 0, expected = 0;
    };
    Timeline accelerator, vulkan;
};

class HandOvers {
  public:
    /// `bridge` is not headless and must outlive this. Errors: those of the lanes and of their executor.
    static Result<std::unique_ptr<HandOvers>> create(interop::Bridge& bridge);
    HandOvers(const HandOvers&) = delete;
    HandOvers& operator=(const HandOvers&) = delete;
    ~HandOvers();

    /// `count` executions in each mode, after a few for warm-up. Errors: of the lanes.
    Result<HandOverTimes> time(Route route, std::int64_t count);
    /// `count` executions, two in flight, as in a display's loop.
    Result<void> run(std::int64_t count);
    InteropState state() const;

  private:
    explicit HandOvers(interop::Bridge& bridge) : bridge_(bridge) {}
    Result<void> make();
    void declare(Route route);
    Result<graph::Execution> execute();

    interop::Bridge& bridge_;
    std::unique_ptr<accel::AcceleratorLane> accelerator_;
    std::unique_ptr<vulkan::VulkanLane> vulkan_;
    graph::FrameGraph frame_;
    std::unique_ptr<graph::Executor> executor_;  // waits for the lanes before they are destroyed
    std::uint64_t executions_ = 0;
    graph::Execution last_;
};

}  // namespace kinetograph::cli
