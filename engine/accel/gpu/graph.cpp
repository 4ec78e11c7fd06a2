#include <kinetograph/engine/accel/gpu/graph.hpp>

namespace kinetograph::accel::gpu {

Result<std::shared_ptr<GpuGraph>> GpuGraph::instantiate(std::shared_ptr<Context> context, GraphHandle captured,
                                                        StreamHandle stream,
                                                        std::vector<std::shared_ptr<GpuEvent>> events) {
    const auto nodes = context->count_nodes(captured);
    auto handle = nodes ? context->instantiate(captured, stream) : fail(nodes.error());
    context->release(captured);
    KG_CHECK(nodes);
    KG_CHECK_IN(fmt::format("a graph of {} nodes", *nodes), handle);
    return std::shared_ptr<GpuGraph>(new GpuGraph(std::move(context), *handle, *nodes, std::move(events)));
}

GpuGraph::~GpuGraph() {
    if (context_->given_up().has_ended()) context_->release(handle_);
}

}  // namespace kinetograph::accel::gpu
