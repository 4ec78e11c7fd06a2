#include <kinetograph/engine/accel/hip/graph.hpp>

namespace kinetograph::accel::hip {

Result<std::shared_ptr<HipGraph>> HipGraph::create(std::shared_ptr<Context> context, GraphHandle captured,
                                                   std::vector<std::shared_ptr<HipEvent>> events) {
    const Runtime& runtime = *context->runtime;
    std::shared_ptr<HipGraph> graph(new HipGraph(std::move(context), captured, std::move(events)));
    if (auto counted = runtime.check(runtime->hipGraphGetNodes(captured, nullptr, &graph->nodes_), "hipGraphGetNodes");
        !counted)
        return fail(std::move(counted.error()));
    if (auto made = runtime.check(runtime->hipGraphInstantiate(&graph->exec_, captured, nullptr, nullptr, 0),
                                  "hipGraphInstantiate");
        !made)
        return fail(std::move(made.error()), fmt::format("a graph of {} nodes", graph->nodes_));
    return graph;
}

HipGraph::~HipGraph() {
    (void)context_->make_current();
    if (exec_ != nullptr) (void)context_->hip().hipGraphExecDestroy(exec_);
    (void)context_->hip().hipGraphDestroy(graph_);
}

Result<void> HipGraph::launch(StreamHandle stream) {
    for (const auto& event : events_) event->expect();
    return context_->runtime->check(context_->hip().hipGraphLaunch(exec_, stream), "hipGraphLaunch");
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
