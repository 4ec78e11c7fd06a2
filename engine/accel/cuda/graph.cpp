#include <kinetograph/engine/accel/cuda/graph.hpp>

namespace kinetograph::accel::cuda {

CudaGraph::~CudaGraph() {
    const CurrentUncaptured current(*context_);
    (void)context_->cuda().cuGraphExecDestroy(exec_);
}

CudaCapture::~CudaCapture() {
    const CurrentUncaptured current(*context_);
    (void)context_->cuda().cuGraphDestroy(graph_);
}

Result<std::shared_ptr<Graph>> CudaCapture::instantiate(std::vector<std::shared_ptr<DriverEvent>> events) {
    const CurrentUncaptured current(*context_);
    const Driver& driver = context_->driver();
    std::size_t nodes = 0;
    KG_CHECK(driver.call(driver->cuGraphGetNodes, graph_, nullptr, &nodes));
    const auto what = [&] { return fmt::format("a graph of {} nodes", nodes); };
    GraphExecHandle exec = nullptr;
    if (auto made = driver.call(driver->cuGraphInstantiateWithFlags, &exec, graph_, 0ULL); !made)
        return fail(std::move(made.error()), what());
    auto graph = std::make_shared<CudaGraph>(context_, exec, nodes, std::move(events));
    if (auto uploaded = driver.call(driver->cuGraphUpload, exec, stream_); !uploaded)
        return fail(std::move(uploaded.error()), what());
    return graph;
}

}  // namespace kinetograph::accel::cuda
