#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/graph/frame_graph.hpp>
#include <kinetograph/engine/graph/handles.hpp>

namespace kinetograph::graph {

std::string_view to_string(Lane lane) {
    switch (lane) {
        case Lane::Graphics:
            return "graphics";
        case Lane::AsyncCompute:
            return "async_compute";
        case Lane::Transfer:
            return "transfer";
        case Lane::Accelerator:
            return "accelerator";
        case Lane::Host:
            return "host";
    }
    return "?";
}

}  // namespace kinetograph::graph
