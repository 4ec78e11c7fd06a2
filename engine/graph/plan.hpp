// Plan: what compile() makes of a FrameGraph. A plain value: printable, diffable, testable without a GPU.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/graph/frame_graph.hpp>

#include <array>
#include <span>
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
    std::uint32_t accelerators = 1;         ///< from 1 to kMaxAccelerators: how far the table of lanes goes
    std::vector<std::string> devices{};     ///< [accelerator] -> its name, for errors; may be empty
    std::array<bool, kMaxLanes> present{};  ///< [lane]
    std::array<std::array<bool, kMaxDomains>, kMaxLanes> reaches{};  ///< [lane][domain]
    std::array<std::array<Pair, kMaxLanes>, kMaxLanes> waits{};      ///< [waiting lane][signalling lane]

    /// The lanes and domains of the table, present or not.
    std::span<const Lane> lanes() const {
        return std::span(kLanes).first(kMaxLanes - kMaxAccelerators + std::size_t{accelerators});
    }
    std::span<const MemoryDomain> domains() const {
        return std::span(kDomains).first(kMaxDomains - 2 * (kMaxAccelerators - std::size_t{accelerators}));
    }
    /// The lane is present and reaches these domains too.
    void let_reach(Lane lane, std::initializer_list<MemoryDomain> domains);

    /// The host, accelerators and Copies: every lane reaches all Accelerator and Host memory.
    static LaneTopology without_vulkan(std::uint32_t accelerators = 1);
    /// All lanes but Copies; Vulkan lanes reach Graphics and Shared memory, an accelerator its own and what it shares
    /// with Vulkan, the host Host and Shared. If there are several accelerators, they reach Host memory too, through
    /// which they exchange data.
    static LaneTopology all(std::uint32_t accelerators = 1);
};

struct CompileOptions {
    Aliasing aliasing = Aliasing::Packed;  ///< transient memory: shared by lifetime, or Separate to debug
    LaneTopology topology = LaneTopology::all();
};

/// Memory dependency inside a lane, or an image layout change, before a pass: accesses of kind `before` earlier on
/// the lane, in this execution or an earlier one, come before accesses of kind `after` by this pass and later ones.
/// A lane must not weaken a barrier; it may join all barriers before one pass into one command.
/// Images: `layout_of(before)` becomes `layout_of(after)` (from undefined when `discard`). Several barriers of one
/// image before one pass are one layout change, for all the accesses they name. Imported images: their first
/// barrier in an execution is always there; `before` is how the previous execution of the plan left them. Where that
/// does not hold (first execution, another image), the lane uses the image's actual layout, which it tracks.
struct Barrier {
    std::uint32_t resource = kNoIndex;  ///< kNoIndex: all memory (aliasing)
    Access before = Access::KernelRead;
    Access after = Access::KernelRead;
    bool discard = false;  ///< earlier contents are not needed: image layout may come from undefined
    /// Where the access `before` happened. Another lane: a wait has ordered it already, only the layout changes here.
    Lane from = Lane::Host;
    /// The transient that starts here on bytes which other transients, or itself in an earlier execution, used:
    /// `before` is how they were accessed, through whatever resource. Buffers have resource == kNoIndex then, images
    /// their own index, because their layout begins here too.
    std::uint32_t aliased = kNoIndex;
    friend bool operator==(const Barrier&, const Barrier&) = default;
};

/// Waits until `lane` has signalled batch `batch` (its ordinal on that lane, from 0); a signal covers all earlier work
/// of its lane, a wait holds back all later work of its lane. `executions_ago` 1: of the previous execution of the same
/// plan; in the first execution after another plan, every lane waits for all that was submitted before instead.
struct Wait {
    Lane lane = Lane::Host;
    std::uint32_t batch = 0;
    std::uint32_t executions_ago = 0;
    Nanoseconds hand_over{0};  ///< its cost, from the topology
    friend bool operator==(const Wait&, const Wait&) = default;
};

struct PlannedPass {
    std::uint32_t pass = kNoIndex;  ///< index into FrameGraph::passes()
    std::string name;
    std::vector<Barrier> barriers;  ///< before the pass, in its lane
};

/// A run of passes on one lane that is submitted together: wait, run, signal the lane's timeline once. A batch without
/// passes is a relay: the host lane hands over between two lanes that cannot wait for each other.
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
    std::uint32_t last_pass = 0;   ///< of an exported transient: the plan's last pass
    std::vector<Access> uses{};    ///< distinct, sorted: what image usage flags derive from
    bool culled = false;
};

/// A pass whose results are not needed: it is in no batch.
struct CulledPass {
    std::string name;
    std::string reason;  ///< `nothing reads "up2.out"`; `"up2.out" is for "unused", which is culled too`
    friend bool operator==(const CulledPass&, const CulledPass&) = default;
};

struct Plan {
    Fingerprint fingerprint;
    std::vector<PlannedPass> passes;         ///< in execution order; culled passes are absent
    std::vector<Batch> batches;              ///< in submission order
    std::vector<PlannedResource> resources;  ///< same indices as FrameGraph::resources()
    std::vector<CulledPass> culled;          ///< in declaration order
    std::array<std::uint64_t, kMaxDomains> arena_bytes{};
    std::array<std::uint32_t, kMaxLanes> batches_on_lane{};
    std::uint64_t transient_bytes = 0;  ///< sum without aliasing
    Nanoseconds hand_over_cost{};       ///< sum over the waits inside one execution

    std::string to_json() const;
    std::string to_graphviz() const;
};

/// Compiles the declaration. Pure: same inputs, same plan. The plan holds for any physical storage of the imports, and
/// keeps execution k + 1 from touching what execution k still uses. Errors: InvalidArgument with one line for every
/// mistake found, each naming the pass, the resource and both parties.
Result<Plan> compile(const FrameGraph& frame, const CompileOptions& options = {});

/// The fingerprint that compile() would give its plan.
Fingerprint fingerprint(const FrameGraph& frame, const CompileOptions& options);

}  // namespace kinetograph::graph
