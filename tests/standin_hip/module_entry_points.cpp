// Entry points of the stand-in: modules, launches and graphs.
#include <kinetograph/engine/accel/hip/code_object.hpp>
#include <kinetograph/tests/standin_hip/entry_points.hpp>

#include <elf.h>

#include <cstring>

namespace kinetograph::accel::hip {

namespace {

/// A code object's bytes: hipModuleLoadData is given an address only, so the ELF header has to tell the size.
std::span<const std::byte> elf_image(const void* image) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof(header));
    const std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
    return {static_cast<const std::byte*>(image), end};
}

/// An argument buffer with the alignment of kernel arguments, which a launch copies.
struct Arguments {
    explicit Arguments(std::span<const std::byte> given) : words((given.size() + sizeof(Word) - 1) / sizeof(Word)) {
        std::memcpy(words.data(), given.data(), given.size());
    }
    struct alignas(16) Word {
        std::byte bytes[16];
    };
    std::vector<Word> words;
};

}  // namespace

STANDIN_EXPORT Status hipModuleLoadData(ModuleHandle* module, const void* image) {
    STANDIN_ENTER();
    auto made = std::make_unique<RuntimeModule>();
    if (std::memcmp(image, ELFMAG, SELFMAG) == 0) {
        const auto object = read_code_object(elf_image(image));
        if (!object || !object->has_value()) return Status::InvalidImage;
        if ((*object)->architecture != machine().options().architecture.substr(0, (*object)->architecture.size()))
            return Status::NoBinaryForGpu;
        made->kernels.emplace();
        for (const CodeObjectKernel& kernel : (*object)->kernels) made->kernels->insert(kernel.name);
    } else if (std::strncmp(static_cast<const char*>(image), standin::kPlaceholderImage.data(),
                            standin::kPlaceholderImage.size()) != 0) {
        return Status::InvalidImage;
    }
    *module = made.release();
    machine().add(machine().modules, *module);
    return Status::Success;
}

STANDIN_EXPORT Status hipModuleUnload(ModuleHandle module) {
    STANDIN_ENTER();
    if (!machine().remove(machine().modules, module)) {
        machine().complain("hipModuleUnload of a module that does not exist");
        return Status::InvalidHandle;
    }
    machine().wait_until_idle();
    delete module;
    return Status::Success;
}

STANDIN_EXPORT Status hipModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
    STANDIN_ENTER();
    if (module->kernels && !module->kernels->contains(std::string_view(name))) return Status::NotFound;
    const auto kernel = standin::find_kernel(name);
    if (!kernel) return Status::NotFound;
    module->functions.push_back(std::make_unique<RuntimeFunction>(RuntimeFunction{module, *kernel}));
    *function = module->functions.back().get();
    return Status::Success;
}

STANDIN_EXPORT Status hipFuncGetAttribute(int* value, int attribute, FunctionHandle function) {
    STANDIN_ENTER();
    switch (attribute) {
        case kFunctionMaxThreadsPerBlock:
            *value = static_cast<int>(function->kernel.max_threads);
            return Status::Success;
        case kFunctionSharedBytes:
            *value = static_cast<int>(function->kernel.shared_bytes);
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
    const standin::Kernel& kernel = function->kernel;
    const std::span given(static_cast<const std::byte*>(extra[1]), *static_cast<const std::size_t*>(extra[3]));
    if (given.size() != kernel.argument_bytes) {
        machine().complain(fmt::format("{} launched with {} bytes of arguments, it takes {}", kernel.name, given.size(),
                                       kernel.argument_bytes));
        return Status::InvalidValue;
    }
    const Extent3 grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
    if (grid.volume() == 0 || block.volume() == 0 || block.volume() > kernel.max_threads)
        return Status::InvalidConfiguration;
    return stream->push([name = kernel.name, grid, block, shared_bytes, arguments = Arguments(given)] {
        return machine().run_kernel(name, {grid, block, shared_bytes, arguments.words.data()});
    });
}

STANDIN_EXPORT Status hipStreamBeginCapture(StreamHandle stream, int mode) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (stream->capture || mode != kCaptureModeThreadLocal) return Status::IllegalState;
    stream->capture = std::make_unique<RuntimeStream::Capture>();
    return Status::Success;
}

STANDIN_EXPORT Status hipStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    *graph = nullptr;
    if (!stream->capture) return Status::IllegalState;
    const auto capture = std::move(stream->capture);
    if (capture->thread != std::this_thread::get_id())
        machine().complain("a capture ended by another thread than the one that began it");
    if (capture->invalidated) return Status::StreamCaptureInvalidated;
    if (!capture->graph->one_line()) {
        machine().complain("a capture with a fork that was not joined");
        return Status::StreamCaptureInvalidated;
    }
    *graph = capture->graph.release();
    machine().add(machine().graphs, *graph);
    return Status::Success;
}

STANDIN_EXPORT Status hipStreamGetCaptureInfo_v2(StreamHandle stream, int* status, unsigned long long* id,
                                                 GraphHandle* graph, const GraphNodeHandle** dependencies,
                                                 std::size_t* count) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    *status = 0;
    if (!stream->capture) return Status::Success;
    *status = stream->capture->invalidated ? 2 : kCaptureStatusActive;
    *id = 1;
    *graph = stream->capture->graph.get();
    *dependencies = stream->capture->tail.data();
    *count = stream->capture->tail.size();
    return Status::Success;
}

STANDIN_EXPORT Status hipStreamUpdateCaptureDependencies(StreamHandle stream, GraphNodeHandle* dependencies,
                                                         std::size_t count, unsigned flags) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (!stream->capture || flags != kSetCaptureDependencies) return Status::InvalidValue;
    stream->capture->tail.assign(dependencies, dependencies + count);
    return Status::Success;
}

STANDIN_EXPORT Status hipGraphGetNodes(GraphHandle graph, GraphNodeHandle* nodes, std::size_t* count) {
    STANDIN_ENTER();
    if (nodes != nullptr) return Status::NotSupported;
    *count = graph->nodes.size();
    return Status::Success;
}

STANDIN_EXPORT Status hipGraphInstantiate(GraphExecHandle* exec, GraphHandle graph, GraphNodeHandle* /*error_node*/,
                                          char* /*log*/, std::size_t /*log_bytes*/) {
    STANDIN_ENTER();
    std::vector<standin::Work> work;
    work.reserve(graph->nodes.size());
    for (const auto& node : graph->nodes) work.push_back(node->work);
    auto made = std::make_unique<RuntimeGraphExec>();
    made->work = std::make_shared<const std::vector<standin::Work>>(std::move(work));
    *exec = made.release();
    machine().add(machine().graph_execs, *exec);
    return Status::Success;
}

STANDIN_EXPORT Status hipGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = refuse_capture(stream); refused != Status::Success) return refused;
    return stream->push([work = exec->work, running = exec->running] {
        std::lock_guard lock(*running);
        for (const standin::Work& item : *work) {
            machine().pause();
            if (const Status status = item(); status != Status::Success) return status;
        }
        return Status::Success;
    });
}

STANDIN_EXPORT Status hipGraphExecDestroy(GraphExecHandle exec) {
    STANDIN_ENTER();
    if (!machine().remove(machine().graph_execs, exec)) {
        machine().complain("hipGraphExecDestroy of a graph that does not exist");
        return Status::InvalidHandle;
    }
    delete exec;
    return Status::Success;
}

STANDIN_EXPORT Status hipGraphDestroy(GraphHandle graph) {
    STANDIN_ENTER();
    if (!machine().remove(machine().graphs, graph)) {
        machine().complain("hipGraphDestroy of a graph that does not exist");
        return Status::InvalidHandle;
    }
    delete graph;
    return Status::Success;
}

}  // namespace kinetograph::accel::hip
