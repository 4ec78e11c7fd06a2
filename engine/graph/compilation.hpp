// Compilation: what the phases of compile() hand to one another. Internal to the compiler.
#pragma once

#include <kinetograph/engine/graph/plan.hpp>

#include <algorithm>
#include <span>

namespace kinetograph::graph {

/// [lane] -> how many batches of that lane are known to be complete.
using LaneClock = std::array<std::uint32_t, kMaxLanes>;

template <class Enum>
constexpr std::size_t index_of(Enum value) {
    return static_cast<std::size_t>(value);
}

constexpr std::size_t index_of(Lane lane) { return lane.index(); }
constexpr std::size_t index_of(MemoryDomain domain) { return domain.index(); }

/// A set of Access kinds, one bit each.
using AccessSet = std::uint16_t;
constexpr AccessSet bit(Access access) { return static_cast<AccessSet>(1U << index_of(access)); }
template <class Function>
void for_each(AccessSet set, Function&& function) {
    for (std::size_t kind = 0; kind < kAccessCount; ++kind)
        if ((set >> kind & 1U) != 0) function(static_cast<Access>(kind));
}

/// All that one pass does to one resource.
struct Use {
    std::uint32_t pass = kNoIndex;
    std::uint32_t resource = kNoIndex;
    std::uint32_t read_version = kNoIndex;
    std::uint32_t other_read_version = kNoIndex;  ///< a second one is an error
    std::uint32_t written_version = kNoIndex;
    AccessSet reads = 0;
    Access write = Access::KernelWrite;  ///< if writes()
    bool changes_layout = false;  ///< set by cut_batches(): the image comes from another layout, or from an unknown one
    bool writes() const { return written_version != kNoIndex; }
    bool acts_as_write() const { return writes() || changes_layout; }
    AccessSet kinds() const { return static_cast<AccessSet>(reads | (writes() ? bit(write) : 0)); }
};

/// `after` must not start before `before` has ended, because of `resource`.
struct Dependency {
    std::uint32_t before = kNoIndex;
    std::uint32_t after = kNoIndex;
    std::uint32_t resource = kNoIndex;
    std::uint32_t version = 0;
    bool after_reads = false;  ///< reads what `before` writes; else overwrites what `before` reads or writes
};

/// Rows of indices in one array: row r is items[begin[r]] up to, but not including, items[begin[r + 1]].
struct Rows {
    std::vector<std::uint32_t> begin, items;
    std::span<const std::uint32_t> row(std::uint32_t r) const {
        return {items.data() + begin[r], begin[r + 1] - begin[r]};
    }
};

struct DraftBatch {
    Lane lane = Lane::Host;
    std::uint32_t ordinal = 0;
    LaneClock known{};  ///< complete when the batch starts, of this execution
    LaneClock prior{};  ///< complete when the batch starts, of the previous execution
    std::vector<Wait> waits{};
    std::vector<std::uint32_t> passes{};  ///< frame passes
    std::uint32_t first_position = 0;     ///< plan position of its first pass, or where it would be
};

/// When a transient's bytes are in use.
struct Lifetime {
    std::uint32_t first = kNoIndex;                    ///< plan position of the pass that creates it
    std::uint32_t last = 0;                            ///< plan position of its last pass
    LaneClock batches{};                               ///< [lane] -> last batch that uses it, plus 1; 0: none
    std::array<std::uint32_t, kMaxLanes> free_from{};  ///< [lane] -> first plan position that may reuse its bytes
};

/// `after` takes over bytes of `before`: in this execution, or of the previous execution's `before`.
struct Succession {
    std::uint32_t before = kNoIndex;
    std::uint32_t after = kNoIndex;
    bool across = false;
};

struct PlacedBarrier {
    std::uint32_t position = 0;  ///< in the plan
    Barrier barrier{};
};

struct Compilation {
    Compilation(const FrameGraph& graph, const CompileOptions& compile_options)
        : frame(graph), options(compile_options) {}

    const FrameGraph& frame;
    const CompileOptions& options;
    std::vector<std::string> errors;

    std::vector<Use> uses;                   ///< in declaration order of their passes   (collect_uses)
    std::vector<std::uint32_t> first_use;    ///< [pass], and one past the last
    std::vector<Dependency> dependencies;    ///< (link)
    Rows dependencies_of;                    ///< [pass] -> dependencies with before == pass
    std::vector<std::uint32_t> topological;  ///< passes, every one after those it depends on
    std::vector<char> alive;                 ///< [pass] (cull)
    std::vector<std::uint32_t> order;        ///< alive passes, by estimated start (order)
    std::vector<DraftBatch> batches;         ///< in submission order (cut_batches)
    std::array<std::vector<std::uint32_t>, kMaxLanes> lane_batches;  ///< [lane][ordinal] -> index into batches
    std::vector<std::uint32_t> batch_of;                             ///< [pass] -> index into batches
    std::vector<std::uint32_t> planned;                              ///< [position] -> pass
    std::vector<std::uint32_t> position_of;                          ///< [pass]
    Rows uses_of;                         ///< [resource] -> uses, by plan position (find_lifetimes)
    std::vector<Lifetime> lifetimes;      ///< [resource]; transients only
    std::vector<Succession> successions;  ///< by `after` (alias)
    std::vector<std::uint64_t> offsets;   ///< [resource]
    std::array<std::uint64_t, kMaxDomains> arena_bytes{};
    std::vector<PlacedBarrier> barriers;  ///< (place_barriers)

    std::span<const Use> uses_by(std::uint32_t pass) const {
        return {uses.data() + first_use[pass], first_use[pass + 1] - first_use[pass]};
    }
    std::span<Use> uses_by(std::uint32_t pass) {
        return {uses.data() + first_use[pass], first_use[pass + 1] - first_use[pass]};
    }
    const PassNode& pass(std::uint32_t p) const { return frame.passes()[p]; }
    const ResourceNode& resource(std::uint32_t r) const { return frame.resources()[r]; }
    std::span<const Lane> lanes() const { return options.topology.lanes(); }
    Lane lane_of(std::uint32_t p) const { return frame.passes()[p].lane; }
    const DraftBatch& batch(Lane lane, std::uint32_t ordinal) const {
        return batches[lane_batches[index_of(lane)][ordinal]];
    }
    bool present(Lane lane) const { return options.topology.present[index_of(lane)]; }
    const LaneTopology::Pair& pair(Lane waiting, Lane signalling) const {
        return options.topology.waits[index_of(waiting)][index_of(signalling)];
    }
    /// True when the host lane can hand over from `signalling` to `waiting`.
    bool relayed(Lane waiting, Lane signalling) const {
        return waiting != Lane::Host && signalling != Lane::Host && present(Lane::Host) &&
               pair(Lane::Host, signalling).can_wait && pair(waiting, Lane::Host).can_wait;
    }
    Nanoseconds hand_over(Lane waiting, Lane signalling) const {
        if (pair(waiting, signalling).can_wait) return pair(waiting, signalling).hand_over;
        return pair(Lane::Host, signalling).hand_over + pair(waiting, Lane::Host).hand_over;
    }
};

/// Afterwards `clock` knows at least what `other` knows.
inline void raise(LaneClock& clock, const LaneClock& other) {
    for (std::size_t lane = 0; lane < kMaxLanes; ++lane) clock[lane] = std::max(clock[lane], other[lane]);
}
/// Clears the entries of `needed` that `known` covers already.
inline void drop_known(LaneClock& needed, const LaneClock& known) {
    for (std::size_t lane = 0; lane < kMaxLanes; ++lane)
        if (needed[lane] <= known[lane]) needed[lane] = 0;
}
/// Transitive reduction: a lane need not be waited for if another awaited batch started after that lane's work was
/// complete. With needed {host 2, accelerator 3}, if the third batch of the accelerator itself waited for the second of
/// the host, {accelerator 3} remains.
inline void drop_implied(const Compilation& c, LaneClock& needed) {
    for (Lane lane : c.lanes()) {
        if (needed[index_of(lane)] == 0) continue;
        LaneClock known = c.batch(lane, needed[index_of(lane)] - 1).known;
        known[index_of(lane)] = 0;
        drop_known(needed, known);
    }
}

// The phases, in the order in which compile() runs them; each is a file of its name.
void collect_uses(Compilation& c);    ///< accesses, joined by pass and resource
void validate(Compilation& c);        ///< every mistake becomes a sentence in errors
void link(Compilation& c);            ///< dependencies between passes; a cycle becomes an error
void cull(Compilation& c);            ///< drops what reaches no output
void order(Compilation& c);           ///< overlaps lanes, merges runs on one lane
void cut_batches(Compilation& c);     ///< runs submitted together, and the waits between them
void find_lifetimes(Compilation& c);  ///< when each transient's bytes are in use
void alias(Compilation& c);           ///< offsets in the arenas
void carry_over(Compilation& c);      ///< waits on the previous execution
void place_barriers(Compilation& c);  ///< dependencies inside a lane
Plan describe(Compilation& c);        ///< the plain value that is handed out

}  // namespace kinetograph::graph
