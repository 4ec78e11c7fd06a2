#include <kinetograph/engine/graph/compilation.hpp>

#include <algorithm>

namespace kinetograph::graph {

namespace {

/// Rows of uses by resource, each row in plan order.
void index_uses(Compilation& c) {
    const std::size_t resources = c.frame.resources().size();
    auto& [begin, items] = c.uses_of;
    begin.assign(resources + 1, 0);
    std::size_t count = 0;
    for (std::uint32_t pass : c.planned) {
        for (const Use& use : c.uses_by(pass)) ++begin[use.resource + 1];
        count += c.uses_by(pass).size();
    }
    for (std::size_t r = 0; r < resources; ++r) begin[r + 1] += begin[r];
    std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
    items.resize(count);
    for (std::uint32_t pass : c.planned)
        for (std::uint32_t u = c.first_use[pass]; u < c.first_use[pass + 1]; ++u) items[next[c.uses[u].resource]++] = u;
}

/// First plan position from which `lane` knows that every use in `lifetime` has ended, by lane order or by waits.
std::uint32_t free_position(const Compilation& c, const Lifetime& lifetime, Lane lane, std::uint32_t last_on_lane) {
    const auto& batches = c.lane_batches[index_of(lane)];
    LaneClock elsewhere = lifetime.batches;
    elsewhere[index_of(lane)] = 0;
    const auto knows = [&](std::uint32_t batch) {
        const LaneClock& known = c.batches[batch].known;
        return std::equal(known.begin(), known.end(), elsewhere.begin(), std::greater_equal<>{});
    };
    const auto batch = std::partition_point(batches.begin(), batches.end(), [&](auto b) { return !knows(b); });
    if (batch == batches.end()) return kNoIndex;
    return std::max(c.batches[*batch].first_position, last_on_lane);
}

Lifetime lifetime_of(const Compilation& c, std::uint32_t resource) {
    Lifetime lifetime;
    std::array<std::uint32_t, kMaxLanes> after_last{};  // [lane] -> plan position after its last use
    for (std::uint32_t u : c.uses_of.row(resource)) {
        const std::uint32_t pass = c.uses[u].pass;
        const std::uint32_t position = c.position_of[pass];
        const auto lane = index_of(c.lane_of(pass));
        lifetime.first = std::min(lifetime.first, position);
        lifetime.last = std::max(lifetime.last, position);
        lifetime.batches[lane] = std::max(lifetime.batches[lane], c.batches[c.batch_of[pass]].ordinal + 1);
        after_last[lane] = std::max(after_last[lane], position + 1);
    }
    if (c.resource(resource).exported) {  // read outside the graph until the next execution
        lifetime.last = static_cast<std::uint32_t>(c.planned.size() - 1);
        lifetime.free_from.fill(kNoIndex);
        return lifetime;
    }
    for (Lane lane : c.lanes())
        lifetime.free_from[index_of(lane)] = free_position(c, lifetime, lane, after_last[index_of(lane)]);
    return lifetime;
}

}  // namespace

void find_lifetimes(Compilation& c) {
    index_uses(c);
    const auto resources = static_cast<std::uint32_t>(c.frame.resources().size());
    c.lifetimes.resize(resources);
    for (std::uint32_t r = 0; r < resources; ++r)
        if (c.resource(r).kind == ResourceKind::Transient && !c.uses_of.row(r).empty())
            c.lifetimes[r] = lifetime_of(c, r);
}

}  // namespace kinetograph::graph
