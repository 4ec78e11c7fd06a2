// Graphs of CUDA: captured from a stream by the driver, instantiated once, launched for every replay.
#pragma once

#include <kinetograph/engine/accel/cuda/context.hpp>
#include <kinetograph/engine/accel/driver_stream.hpp>

namespace kinetograph::accel::cuda {

class CudaGraph final : public DriverGraph {
  public:
    CudaGraph(std::shared_ptr<Context> context, GraphExecHandle exec, std::size_t nodes,
              std::vector<std::shared_ptr<DriverEvent>> events)
        : DriverGraph(nodes, std::move(events)), context_(std::move(context)), exec_(exec) {}
    ~CudaGraph() override;
    CudaGraph(const CudaGraph&) = delete;
    CudaGraph& operator=(const CudaGraph&) = delete;

    const Context& context() const { return *context_; }
    GraphExecHandle handle() const { return exec_; }

  private:
    std::shared_ptr<Context> context_;
    GraphExecHandle exec_;
};

/// What cuStreamEndCapture gives.
class CudaCapture final : public CapturedWork {
  public:
    /// Takes over `graph`; `stream` is where its memory on the device is prepared, ahead of the first replay.
    CudaCapture(std::shared_ptr<Context> context, GraphHandle graph, StreamHandle stream)
        : context_(std::move(context)), graph_(graph), stream_(stream) {}
    ~CudaCapture() override;
    CudaCapture(const CudaCapture&) = delete;
    CudaCapture& operator=(const CudaCapture&) = delete;
    Result<std::shared_ptr<Graph>> instantiate(std::vector<std::shared_ptr<DriverEvent>> events) override;

  private:
    std::shared_ptr<Context> context_;
    GraphHandle graph_;
    StreamHandle stream_;
};

}  // namespace kinetograph::accel::cuda
