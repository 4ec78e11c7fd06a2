// Graphs of HIP: captured from a stream by the runtime, instantiated once, launched for every replay.
#pragma once

#include <kinetograph/engine/accel/hip/event.hpp>

#include <vector>

namespace kinetograph::accel::hip {

class HipGraph final : public Graph {
  public:
    /// Takes over `captured`. `events` are those that the graph records.
    /// Errors: what the driver says; `captured` is destroyed then too.
    static Result<std::shared_ptr<HipGraph>> create(std::shared_ptr<Context> context, GraphHandle captured,
                                                    std::vector<std::shared_ptr<HipEvent>> events);
    ~HipGraph() override;
    HipGraph(const HipGraph&) = delete;
    HipGraph& operator=(const HipGraph&) = delete;

    std::size_t nodes() const override { return nodes_; }
    const Context& context() const { return *context_; }
    /// Enqueues one replay. Errors: what the driver says.
    Result<void> launch(StreamHandle stream);

  private:
    HipGraph(std::shared_ptr<Context> context, GraphHandle graph, std::vector<std::shared_ptr<HipEvent>> events)
        : context_(std::move(context)), graph_(graph), events_(std::move(events)) {}

    std::shared_ptr<Context> context_;
    GraphHandle graph_;
    GraphExecHandle exec_ = nullptr;
    std::vector<std::shared_ptr<HipEvent>> events_;
    std::size_t nodes_ = 0;
};

/// The capture that a stream is in.
struct Capture {
    std::optional<Error> error;  ///< first call that cannot be captured
    std::vector<std::shared_ptr<HipEvent>> events;
};

/// Adds a record of `event` to the capture that `stream` is in, behind everything captured so far.
/// hipEventRecord itself would only mark a place in the capture and stamp nothing.
Result<void> capture_event(const Context& context, StreamHandle stream, const HipEvent& event);

}  // namespace kinetograph::accel::hip
