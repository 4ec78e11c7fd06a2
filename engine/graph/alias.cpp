// Offset packing: the largest transient first, each in the smallest gap that is free during its whole lifetime. Then
// the arenas are swept in plan order to find which transients take over bytes of which others:
//
//     offset
//       ^
//       |  +---------+  +---------+
//       |  |    b    |  |    d    |     d takes over the bytes of b: succession {b, d}.
//       |  +------+--+--+---+-----+     c takes over the bytes of a: succession {a, c}.
//       |  |  a   |  |  c   |           In the next execution a takes over from c and b from d:
//       |  +------+  +------+           successions {c, a} and {d, b} across executions.
//       +---------------------------> plan position
#include <kinetograph/engine/graph/compilation.hpp>

#include <algorithm>
#include <utility>

namespace kinetograph::graph {

namespace {

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

/// Images fill whole multiples of their alignment, so that no buffer shares a granule with one.
std::uint64_t packed_bytes(const ResourceNode& resource) {
    return resource.type == ResourceType::Image ? align_up(resource.bytes, resource.alignment) : resource.bytes;
}

/// Transients placed so far, found by the stretches of the plan in which they are alive. When a lifetime ends depends
/// on the lane that wants the bytes: lanes learn at different plan positions that another lane's pass has ended.
class Placed {
  public:
    explicit Placed(const Compilation& c) : c_(c), seen_(c.frame.resources().size(), kNoIndex) {
        for (auto& lane : created_) lane.resize(c.planned.size() / kStretch + 1);
        for (auto& lane : blocking_) lane.resize(c.planned.size() / kStretch + 1);
    }

    void add(std::uint32_t resource) {
        created_[creator(resource)][first_stretch(resource)].push_back(resource);
        for (Lane lane : c_.lanes()) {
            if (c_.lane_batches[index_of(lane)].empty()) continue;
            for (std::size_t s = first_stretch(resource); s <= last_stretch(resource, lane); ++s)
                blocking_[index_of(lane)][s].push_back(resource);
        }
    }

    /// Those whose bytes `resource` must not use, by offset.
    const std::vector<std::uint32_t>& beside(std::uint32_t resource) {
        found_.clear();
        find(blocking_[creator(resource)][first_stretch(resource)], resource);
        for (Lane lane : c_.lanes()) {
            if (c_.lane_batches[index_of(lane)].empty()) continue;
            for (std::size_t s = first_stretch(resource); s <= last_stretch(resource, lane); ++s)
                find(created_[index_of(lane)][s], resource);
        }
        std::sort(found_.begin(), found_.end(), [&](auto a, auto b) {
            return c_.offsets[a] != c_.offsets[b] ? c_.offsets[a] < c_.offsets[b] : a < b;
        });
        return found_;
    }

  private:
    static constexpr std::uint32_t kStretch = 32;  ///< plan positions
    using Stretches = std::vector<std::vector<std::uint32_t>>;

    void find(const std::vector<std::uint32_t>& candidates, std::uint32_t resource) {
        for (std::uint32_t other : candidates)
            if (std::exchange(seen_[other], resource) != resource && interfere(resource, other))
                found_.push_back(other);
    }
    bool interfere(std::uint32_t a, std::uint32_t b) const {
        if (c_.lifetimes[a].first > c_.lifetimes[b].first) std::swap(a, b);
        return c_.lifetimes[b].first < c_.lifetimes[a].free_from[creator(b)];
    }
    std::size_t creator(std::uint32_t resource) const {
        return index_of(c_.lane_of(c_.planned[c_.lifetimes[resource].first]));
    }
    std::size_t first_stretch(std::uint32_t resource) const { return c_.lifetimes[resource].first / kStretch; }
    std::size_t last_stretch(std::uint32_t resource, Lane lane) const {
        return std::min<std::size_t>(c_.lifetimes[resource].free_from[index_of(lane)], c_.planned.size() - 1) /
               kStretch;
    }

    const Compilation& c_;
    std::array<Stretches, kMaxLanes> created_;   ///< [lane of the creating pass][stretch]
    std::array<Stretches, kMaxLanes> blocking_;  ///< [lane that wants the bytes][stretch]
    std::vector<std::uint32_t> seen_;            ///< [resource] -> the resource for which it was last examined
    std::vector<std::uint32_t> found_;
};

std::uint64_t best_offset(const Compilation& c, const ResourceNode& node, const std::vector<std::uint32_t>& beside) {
    std::uint64_t best = 0, best_gap = ~std::uint64_t{0}, end = 0;
    for (std::uint32_t other : beside) {
        const std::uint64_t begin = align_up(end, node.alignment);
        if (c.offsets[other] >= begin + packed_bytes(node) && c.offsets[other] - end < best_gap) {
            best = begin;
            best_gap = c.offsets[other] - end;
        }
        end = std::max(end, c.offsets[other] + packed_bytes(c.resource(other)));
    }
    return best_gap == ~std::uint64_t{0} ? align_up(end, node.alignment) : best;
}

void pack(Compilation& c, MemoryDomain domain, std::vector<std::uint32_t> transients) {
    std::uint64_t& arena = c.arena_bytes[index_of(domain)];
    const auto place = [&](std::uint32_t r, std::uint64_t offset) {
        c.offsets[r] = offset;
        arena = std::max(arena, offset + packed_bytes(c.resource(r)));
    };
    if (c.options.aliasing == Aliasing::Separate) {
        for (std::uint32_t r : transients) place(r, align_up(arena, c.resource(r).alignment));
        return;
    }
    std::sort(transients.begin(), transients.end(), [&](std::uint32_t a, std::uint32_t b) {
        const std::uint64_t size_a = c.resource(a).bytes, size_b = c.resource(b).bytes;
        if (size_a != size_b) return size_a > size_b;
        return c.lifetimes[a].first != c.lifetimes[b].first ? c.lifetimes[a].first < c.lifetimes[b].first : a < b;
    });
    Placed placed(c);
    for (std::uint32_t r : transients) {
        place(r, best_offset(c, c.resource(r), placed.beside(r)));
        placed.add(r);
    }
}

/// The owner of each byte of an arena while the plan is swept.
class Ownership {
  public:
    explicit Ownership(Compilation& c) : c_(c) {}

    /// Gives `resource` its bytes and notes the resources that had them before.
    void take(std::uint32_t resource, bool second_sweep) {
        const std::uint64_t begin = c_.offsets[resource];
        const std::uint64_t end = begin + c_.resource(resource).bytes;
        auto first = std::partition_point(spans_.begin(), spans_.end(), [&](auto& s) { return s.end <= begin; });
        auto last = first;
        kept_.clear();
        if (first != spans_.end() && first->begin < begin) kept_.push_back({first->begin, begin, first->who});
        kept_.push_back({begin, end, {.owner = resource, .second_sweep = second_sweep}});
        for (; last != spans_.end() && last->begin < end; ++last) {
            succeed(last->who, resource, second_sweep);
            if (last->end > end) kept_.push_back({end, last->end, last->who});
        }
        spans_.insert(spans_.erase(first, last), kept_.begin(), kept_.end());
    }

  private:
    struct Owner {
        std::uint32_t owner = kNoIndex;
        bool second_sweep = false;
    };
    struct Span {
        std::uint64_t begin, end;
        Owner who;
    };

    void succeed(const Owner& before, std::uint32_t after, bool second_sweep) {
        const bool across = before.second_sweep != second_sweep;
        if (second_sweep && !across) return;  // noted in the first sweep
        auto& list = c_.successions;
        for (auto s = list.rbegin(); s != list.rend() && s->after == after && s->across == across; ++s)
            if (s->before == before.owner) return;
        list.push_back({.before = before.owner, .after = after, .across = across});
    }

    Compilation& c_;
    std::vector<Span> spans_, kept_;  ///< spans: disjoint, by offset
};

}  // namespace

void alias(Compilation& c) {
    const auto resources = static_cast<std::uint32_t>(c.frame.resources().size());
    c.offsets.assign(resources, 0);
    std::array<std::vector<std::uint32_t>, kMaxDomains> transients;
    for (std::uint32_t r = 0; r < resources; ++r)
        if (c.lifetimes[r].first != kNoIndex) transients[index_of(c.resource(r).domain)].push_back(r);

    for (MemoryDomain domain : c.options.topology.domains()) {
        auto& in_domain = transients[index_of(domain)];
        pack(c, domain, in_domain);
        std::sort(in_domain.begin(), in_domain.end(), [&](std::uint32_t a, std::uint32_t b) {
            return c.lifetimes[a].first != c.lifetimes[b].first ? c.lifetimes[a].first < c.lifetimes[b].first : a < b;
        });
        Ownership ownership(c);
        for (bool second_sweep : {false, true})
            for (std::uint32_t r : in_domain) ownership.take(r, second_sweep);
    }
    std::stable_sort(c.successions.begin(), c.successions.end(),
                     [](const Succession& a, const Succession& b) { return a.after < b.after; });
}

}  // namespace kinetograph::graph
