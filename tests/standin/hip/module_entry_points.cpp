// Entry points of the stand-in: modules, launches and graphs.
#include <kinetograph/engine/accel/hip/code_object.hpp>
#include <kinetograph/tests/standin/hip/entry_points.hpp>

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace kinetograph::accel::hip {

namespace {

/// A code object's bytes: hipModuleLoadData is given only an address, so the ELF header must give the size.
std::span<const std::byte> elf_image(const void* image) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof(header));
    const std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
    return {static_cast<const std::byte*>(image), end};
}

std::vector<const standin::GraphNode*> nodes_of(const GraphNodeHandle* handles, std::size_t count) {
    std::vector<const standin::GraphNode*> nodes(count);
    std::transform(handles, handles + count, nodes.begin(), [](GraphNodeHandle handle) { return of(handle); });
    return nodes;
}

}  // namespace

STANDIN_EXPORT Status hipModuleLoadData(ModuleHandle* module, const void* image) {
    STANDIN_ENTER();
    auto made = std::make_unique<standin::Module>();
    if (std::memcmp(image, ELFMAG, SELFMAG) == 0) {
        const auto object = read_code_object(elf_image(image));
        if (!object || !object->has_value()) return Status::InvalidImage;
        if ((*object)->architecture != machine().options().architecture.substr(0, (*object)->architecture.size()))
            return Status::NoBinaryForGpu;
        made->kernels.emplace();
        for (const CodeObjectKernel& kernel : (*object)->kernels) made->kernels->insert(kernel.name);
    } else if (!standin::is_placeholder(image)) {
        return Status::InvalidImage;
    }
    *module = handle_of(machine().modules.add(std::move(made)));
    return Status::Success;
}

STANDIN_EXPORT Status hipModuleUnload(ModuleHandle module) {
    STANDIN_ENTER();
    const auto unloaded = machine().modules.remove(of(module));
    if (!unloaded) {
        machine().complain("hipModuleUnload of a module that does not exist");
        return Status::InvalidHandle;
    }
    machine().wait_until_idle();
    return Status::Success;
}

STANDIN_EXPORT Status hipModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
    STANDIN_ENTER();
    *function = handle_of(of(module)->find(name));
    return *function != nullptr ? Status::Success : Status::NotFound;
}

STANDIN_EXPORT Status hipFuncGetAttribute(int* value, int attribute, FunctionHandle function) {
    STANDIN_ENTER();
    switch (attribute) {
        case kFunctionMaxThreadsPerBlock:
            *value = static_cast<int>(of(function)->kernel.max_threads);
            return Status::Success;
        case kFunctionSharedBytes:
            *value = static_cast<int>(of(function)->kernel.shared_bytes);
            return Status::Success;
        default:
            return Status::InvalidValue;
    }
}

STANDIN_EXPORT Status hipModuleLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                            StreamHandle stream, void** parameters, void** extra) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (parameters != nullptr || extra == nullptr || extra[0] != kLaunchBufferPointer ||
        extra[2] != kLaunchBufferSize || extra[4] != kLaunchEnd)
        return Status::InvalidValue;
    const standin::Kernel& kernel = of(function)->kernel;
    const std::span given(static_cast<const std::byte*>(extra[1]), *static_cast<const std::size_t*>(extra[3]));
    if (kernel.argument_bytes != 0 && given.size() != kernel.argument_bytes) {
        machine().complain(fmt::format("{} launched with {} bytes of arguments, it takes {}", kernel.name, given.size(),
                                       kernel.argument_bytes));
        return Status::InvalidValue;
    }
    const Extent3 grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
    if (grid.volume() == 0 || block.volume() == 0 || block.volume() > kernel.max_threads)
        return Status::InvalidConfiguration;
    return of(stream)->push(
        standin::launch(kernel, {.grid = grid, .block = block, .dynamic_shared_bytes = shared_bytes}, given));
}

STANDIN_EXPORT Status hipStreamBeginCapture(StreamHandle stream, int mode) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (of(stream)->capture || mode != kCaptureModeThreadLocal) return Status::IllegalState;
    of(stream)->capture = std::make_unique<standin::Stream::Capture>();
    return Status::Success;
}

STANDIN_EXPORT Status hipStreamIsCapturing(StreamHandle stream, int* status) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    *status = kCaptureStatusNone;
    if (const auto& capture = of(stream)->capture; capture != nullptr)
        *status = capture->invalidated ? 2 : kCaptureStatusActive;
    return Status::Success;
}

STANDIN_EXPORT Status hipStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    *graph = nullptr;
    if (!of(stream)->capture) return Status::IllegalState;
    if (of(stream)->capture->thread != std::this_thread::get_id())
        machine().complain("a capture ended by another thread than the one that began it");
    auto captured = of(stream)->end_capture();
    if (captured == nullptr) return Status::StreamCaptureInvalidated;
    *graph = handle_of(machine().graphs.add(std::move(captured)));
    return Status::Success;
}

STANDIN_EXPORT Status hipStreamGetCaptureInfo_v2(StreamHandle stream, int* status, unsigned long long* id,
                                                 GraphHandle* graph, const GraphNodeHandle** dependencies,
                                                 std::size_t* count) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    *status = 0;
    if (!of(stream)->capture) return Status::Success;
    const standin::Stream::Capture& capture = *of(stream)->capture;
    thread_local std::vector<GraphNodeHandle> tail;  // valid until the next call
    tail.clear();
    for (const standin::GraphNode* node : capture.tail)
        tail.push_back(handle_of(const_cast<standin::GraphNode*>(node)));
    *status = capture.invalidated ? 2 : kCaptureStatusActive;
    *id = 1;
    *graph = handle_of(capture.graph.get());
    *dependencies = tail.data();
    *count = tail.size();
    return Status::Success;
}

STANDIN_EXPORT Status hipStreamUpdateCaptureDependencies(StreamHandle stream, GraphNodeHandle* dependencies,
                                                         std::size_t count, unsigned flags) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (!of(stream)->capture || flags != kSetCaptureDependencies) return Status::InvalidValue;
    of(stream)->capture->tail = nodes_of(dependencies, count);
    return Status::Success;
}

STANDIN_EXPORT Status hipGraphAddEventRecordNode(GraphNodeHandle* node, GraphHandle graph,
                                                 const GraphNodeHandle* dependencies, std::size_t count,
                                                 EventHandle event) {
    STANDIN_ENTER();
    *node = handle_of(of(graph)->add(of(event)->record(), nodes_of(dependencies, count)));
    return Status::Success;
}

STANDIN_EXPORT Status hipGraphGetNodes(GraphHandle graph, GraphNodeHandle* nodes, std::size_t* count) {
    STANDIN_ENTER();
    if (nodes != nullptr) return Status::NotSupported;
    *count = of(graph)->nodes.size();
    return Status::Success;
}

STANDIN_EXPORT Status hipGraphInstantiate(GraphExecHandle* exec, GraphHandle graph, GraphNodeHandle* /*error_node*/,
                                          char* /*log*/, std::size_t /*log_bytes*/) {
    STANDIN_ENTER();
    *exec = handle_of(machine().graph_execs.add(std::make_unique<standin::GraphExec>(*of(graph))));
    return Status::Success;
}

STANDIN_EXPORT Status hipGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = of(stream)->refuse_capture(); refused != Status::Success) return refused;
    return of(stream)->push(of(exec)->replay());
}

STANDIN_EXPORT Status hipGraphExecDestroy(GraphExecHandle exec) {
    STANDIN_ENTER();
    if (machine().graph_execs.remove(of(exec))) return Status::Success;
    machine().complain("hipGraphExecDestroy of a graph that does not exist");
    return Status::InvalidHandle;
}

STANDIN_EXPORT Status hipGraphDestroy(GraphHandle graph) {
    STANDIN_ENTER();
    if (machine().graphs.remove(of(graph))) return Status::Success;
    machine().complain("hipGraphDestroy of a graph that does not exist");
    return Status::InvalidHandle;
}

}  // namespace kinetograph::accel::hip
