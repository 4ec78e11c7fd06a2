// Placement: where the passes of a clip's steps run, where what is between them lies, and with which parameters.
#pragma once

#include <kinetograph/engine/graph/handles.hpp>

namespace kinetograph::vae {

class Parameters;

struct Placement {
    graph::Lane lane = graph::Lane::Accelerator;
    graph::MemoryDomain memory = graph::MemoryDomain::Accelerator;  ///< which the lane reaches
    Parameters* parameters = nullptr;  ///< on the lane's device; Model::declare fills in its own

    /// On the `device`-th accelerator of a graph.
    static Placement on(std::uint32_t device) {
        return {graph::Lane::accelerator(device), graph::MemoryDomain::accelerator(device)};
    }
};

}  // namespace kinetograph::vae
