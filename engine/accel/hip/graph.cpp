#include <kinetograph/engine/accel/hip/graph.hpp>

namespace kinetograph::accel::hip {

HipGraph::~HipGraph() {
    (void)context_->make_current();
    (void)context_->hip().hipGraphExecDestroy(exec_);
}

HipCapture::~HipCapture() {
    (void)context_->make_current();
    (void)context_->hip().hipGraphDestroy(graph_);
}

Result<std::shared_ptr<Graph>> HipCapture::instantiate(std::vector<std::shared_ptr<DriverEvent>> events) {
    const Runtime& runtime = *context_->runtime;
    (void)context_->make_current();
    std::size_t nodes = 0;
    KG_CHECK(runtime.check(runtime->hipGraphGetNodes(graph_, nullptr, &nodes), "hipGraphGetNodes"));
    GraphExecHandle exec = nullptr;
    if (auto made =
            runtime.check(runtime->hipGraphInstantiate(&exec, graph_, nullptr, nullptr, 0), "hipGraphInstantiate");
        !made)
        return fail(std::move(made.error()), fmt::format("a graph of {} nodes", nodes));
    return std::make_shared<HipGraph>(context_, exec, nodes, std::move(events));
}

Result<void> capture_event(const Context& context, StreamHandle stream, const HipEvent& event) {
    const Runtime& runtime = *context.runtime;
    int status = 0;
    unsigned long long id = 0;
    GraphHandle graph = nullptr;
    const GraphNodeHandle* dependencies = nullptr;
    std::size_t count = 0;
    if (auto asked =
            runtime.check(runtime->hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &dependencies, &count),
                          "hipStreamGetCaptureInfo_v2");
        !asked)
        return asked;
    if (status != kCaptureStatusActive)
        return fail(ErrorCode::Unsupported, "hipStreamGetCaptureInfo_v2: the capture has been invalidated");
    GraphNodeHandle node = nullptr;
    if (auto added =
            runtime.check(runtime->hipGraphAddEventRecordNode(&node, graph, dependencies, count, event.handle()),
                          "hipGraphAddEventRecordNode");
        !added)
        return added;
    return runtime.check(runtime->hipStreamUpdateCaptureDependencies(stream, &node, 1, kSetCaptureDependencies),
                         "hipStreamUpdateCaptureDependencies");
}

}  // namespace kinetograph::accel::hip
