// Entry points of the stand-in: captures and graphs.
#include <kinetograph/tests/standin/cuda/entry_points.hpp>

namespace kinetograph::accel::cuda {

STANDIN_EXPORT Status cuStreamBeginCapture_v2(StreamHandle stream, CaptureMode mode) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    if (stream == nullptr) return Status::StreamCaptureUnsupported;  // it waits for other streams, which a graph cannot
    if (of(stream)->capture) return Status::IllegalState;
    begin_capture(*of(stream), mode);
    return Status::Success;
}

STANDIN_EXPORT Status cuStreamIsCapturing(StreamHandle stream, CaptureStatus* status) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    *status = CaptureStatus::None;
    if (const auto& capture = of(stream)->capture; capture != nullptr)
        *status = capture->invalidated ? CaptureStatus::Invalidated : CaptureStatus::Active;
    return Status::Success;
}

STANDIN_EXPORT Status cuStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    *graph = nullptr;
    const Status ended = end_capture(*of(stream));
    if (ended == Status::IllegalState) return ended;
    auto captured = of(stream)->end_capture();
    if (ended != Status::Success) return ended;
    if (captured == nullptr) return Status::StreamCaptureInvalidated;
    *graph = handle_of(machine().graphs.add(std::move(captured)));
    return Status::Success;
}

STANDIN_EXPORT Status cuGraphGetNodes(GraphHandle graph, GraphNodeHandle* nodes, std::size_t* count) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().graphs, of(graph), __func__)) return Status::InvalidHandle;
    if (nodes != nullptr) return Status::NotSupported;
    *count = of(graph)->nodes.size();
    return Status::Success;
}

STANDIN_EXPORT Status cuGraphInstantiateWithFlags(GraphExecHandle* exec, GraphHandle graph, unsigned long long flags) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().graphs, of(graph), __func__)) return Status::InvalidHandle;
    if (flags != 0) return Status::InvalidValue;
    *exec = handle_of(machine().graph_execs.add(std::make_unique<standin::GraphExec>(*of(graph))));
    return Status::Success;
}

STANDIN_EXPORT Status cuGraphUpload(GraphExecHandle exec, StreamHandle stream) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().graph_execs, of(exec), __func__) || unknown(machine().streams, of(stream), __func__))
        return Status::InvalidHandle;
    STANDIN_LEAVE_UNLESS(of(stream)->refuse_capture());
    return of(stream)->push([]() -> standin::Status { return {}; });
}

STANDIN_EXPORT Status cuGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().graph_execs, of(exec), __func__) || unknown(machine().streams, of(stream), __func__))
        return Status::InvalidHandle;
    return of(stream)->push(of(exec)->replay());
}

STANDIN_EXPORT Status cuGraphExecDestroy(GraphExecHandle exec) {
    STANDIN_ENTER(Context);
    if (machine().graph_execs.remove(of(exec))) return machine().fault();
    machine().complain("cuGraphExecDestroy of a graph that does not exist");
    return Status::InvalidHandle;
}

STANDIN_EXPORT Status cuGraphDestroy(GraphHandle graph) {
    STANDIN_ENTER(Context);
    if (machine().graphs.remove(of(graph))) return machine().fault();
    machine().complain("cuGraphDestroy of a graph that does not exist");
    return Status::InvalidHandle;
}

}  // namespace kinetograph::accel::cuda
