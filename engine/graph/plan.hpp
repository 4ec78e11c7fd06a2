// Plan: what compile() makes of a FrameGraph. A plain value: printable, diffable, testable without a GPU.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/graph/frame_graph.hpp>

#include <array>
#include <string>
#include <vector>

namespace kinetograph::graph {

enum class Aliasing : std::uint8_t { Packed, Separate };

/// Which lanes exist, what memory they reach, and what it costs one lane to wait for another.
struct LaneTopology {
    struct Pair {
        bool can_wait = true;           ///< false: the hand-over must go through the host lane
        Nanoseconds hand_over{50'000};  ///< typical cost of one wait, for ordering and for the plan's report
    };
    std::array<bool, kLaneCount> present{};
    std::array<std::array<bool, kDomainCount>, kLaneCount> reaches{};  ///< [lane][domain]
    std::array<std::array<Pair, kLaneCount>, kLaneCount> waits{};      ///< [waiting lane][signalling lane]

    /// Host and accelerator lanes, the accelerator being the CPU: both reach Accelerator and Host memory.
    static LaneTopology cpu_only();
    /// All five lanes; Vulkan lanes reach Graphics and Shared, the accelerator Accelerator and Shared, the host Host
    /// and Shared.
    static LaneTopology all();
};

struct CompileOptions {
    Aliasing aliasing = Aliasing::Packed;  ///< transient memory: shared by lifetime, or Separate to debug
    LaneTopology topology = LaneTopology::all();
};

/// Memory and layout dependency inside a lane, or an image layout change, in front of a pass.
struct Barrier {
    std::uint32_t resource = kNoIndex;  ///< kNoIndex: all memory (aliasing)
    Access before = Access::KernelRead;
    Access after = Access::KernelRead;
    bool discard = false;  ///< earlier contents are not needed: image layout may come from undefined
};

/// Waits until `lane` has signalled batch `batch` (its ordinal on that lane, from 0). `executions_ago` 1: of the
/// previous execution of the same plan; when another plan ran in between, the executor waits for that plan's last value
/// instead.
struct Wait {
    Lane lane = Lane::Host;
    std::uint32_t batch = 0;
    std::uint32_t executions_ago = 0;
};

struct PlannedPass {
    std::uint32_t pass = kNoIndex;  ///< index into FrameGraph::passes()
    std::string name;
    std::vector<Barrier> barriers;  ///< before the pass, in its lane
};

/// A run of passes on one lane that is submitted together: wait, run, signal the lane's timeline once.
struct Batch {
    Lane lane = Lane::Host;
    std::uint32_t ordinal = 0;  ///< on its lane
    std::vector<Wait> waits;
    std::vector<std::uint32_t> passes;  ///< indices into Plan::passes, in order
};

struct PlannedResource {
    std::uint32_t resource = kNoIndex;  ///< index into FrameGraph::resources()
    std::string name;
    ResourceKind kind = ResourceKind::Transient;
    ResourceType type = ResourceType::Buffer;
    MemoryDomain domain = MemoryDomain::Accelerator;
    ImageDesc image;  ///< images only
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;      ///< in the arena of its domain; transients only
    std::uint32_t first_pass = 0;  ///< lifetime, as indices into Plan::passes
    std::uint32_t last_pass = 0;
    std::vector<Access> uses;  ///< distinct, sorted: what image usage flags derive from
    bool culled = false;
};

struct Plan {
    Fingerprint fingerprint;
    std::vector<PlannedPass> passes;         ///< in execution order; culled passes are absent
    std::vector<Batch> batches;              ///< in submission order
    std::vector<PlannedResource> resources;  ///< same indices as FrameGraph::resources()
    std::vector<std::string> culled;         ///< names of culled passes
    std::array<std::uint64_t, kDomainCount> arena_bytes{};
    std::array<std::uint32_t, kLaneCount> batches_on_lane{};
    std::uint64_t transient_bytes = 0;  ///< sum without aliasing
    Nanoseconds hand_over_cost{};       ///< sum over the waits inside one execution

    std::string to_json() const;
    std::string to_graphviz() const;
};

/// Compiles the declaration. Pure: same inputs, same plan.
/// Errors: InvalidArgument with one line for every mistake found, each naming the pass, the resource and both parties.
Result<Plan> compile(const FrameGraph& frame, const CompileOptions& options = {});

/// The fingerprint that compile() would give its plan.
Fingerprint fingerprint(const FrameGraph& frame, const CompileOptions& options);

}  // namespace kinetograph::graph
