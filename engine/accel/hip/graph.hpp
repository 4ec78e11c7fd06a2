// Graphs of HIP: captured from a stream by the runtime, instantiated once, launched for every replay.
#pragma once

#include <kinetograph/engine/accel/driver_stream.hpp>
#include <kinetograph/engine/accel/hip/event.hpp>

namespace kinetograph::accel::hip {

class HipGraph final : public DriverGraph {
  public:
    HipGraph(std::shared_ptr<Context> context, GraphExecHandle exec, std::size_t nodes,
             std::vector<std::shared_ptr<DriverEvent>> events)
        : DriverGraph(nodes, std::move(events)), context_(std::move(context)), exec_(exec) {}
    ~HipGraph() override;
    HipGraph(const HipGraph&) = delete;
    HipGraph& operator=(const HipGraph&) = delete;

    const Context& context() const { return *context_; }
    GraphExecHandle handle() const { return exec_; }

  private:
    std::shared_ptr<Context> context_;
    GraphExecHandle exec_;
};

/// What hipStreamEndCapture gives.
class HipCapture final : public CapturedWork {
  public:
    /// Takes over `graph`.
    HipCapture(std::shared_ptr<Context> context, GraphHandle graph) : context_(std::move(context)), graph_(graph) {}
    ~HipCapture() override;
    HipCapture(const HipCapture&) = delete;
    HipCapture& operator=(const HipCapture&) = delete;
    Result<std::shared_ptr<Graph>> instantiate(std::vector<std::shared_ptr<DriverEvent>> events) override;

  private:
    std::shared_ptr<Context> context_;
    GraphHandle graph_;
};

/// Adds a record of `event` to the capture that `stream` is in, behind everything captured so far.
/// hipEventRecord itself would only mark a place in the capture and stamp nothing.
Result<void> capture_event(const Context& context, StreamHandle stream, const HipEvent& event);

}  // namespace kinetograph::accel::hip
