// Graphs of a GPU: captured from a stream by the driver, instantiated once, launched for every replay.
#pragma once

#include <kinetograph/engine/accel/gpu/clock.hpp>

#include <vector>

namespace kinetograph::accel::gpu {

class GpuGraph final : public Graph {
  public:
    /// Takes over `captured`, and prepares the device's memory for it on `stream` ahead of the first replay. Errors:
    /// what the driver says.
    static Result<std::shared_ptr<GpuGraph>> instantiate(std::shared_ptr<Context> context, GraphHandle captured,
                                                         StreamHandle stream,
                                                         std::vector<std::shared_ptr<GpuEvent>> events);
    ~GpuGraph() override;
    GpuGraph(const GpuGraph&) = delete;
    GpuGraph& operator=(const GpuGraph&) = delete;

    std::size_t nodes() const override { return nodes_; }
    const void* owner() const override { return context_.get(); }
    GraphExecHandle handle() const { return handle_; }
    /// Before a replay: it will record the events.
    void expect_events() const {
        for (const auto& event : events_) event->expect();
    }

  private:
    GpuGraph(std::shared_ptr<Context> context, GraphExecHandle handle, std::size_t nodes,
             std::vector<std::shared_ptr<GpuEvent>> events)
        : context_(std::move(context)), handle_(handle), nodes_(nodes), events_(std::move(events)) {}
    std::shared_ptr<Context> context_;
    GraphExecHandle handle_;
    std::size_t nodes_;
    std::vector<std::shared_ptr<GpuEvent>> events_;
};

}  // namespace kinetograph::accel::gpu
