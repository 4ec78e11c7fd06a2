#include <kinetograph/engine/graph/compilation.hpp>

#include <utility>

namespace kinetograph::graph {

namespace {

void describe_batches(Compilation& c, Plan& plan) {
    plan.batches.reserve(c.batches.size());
    std::uint32_t position = 0;
    for (DraftBatch& draft : c.batches) {
        Batch& batch = plan.batches.emplace_back();
        batch.lane = draft.lane;
        batch.ordinal = draft.ordinal;
        batch.waits = std::move(draft.waits);
        batch.passes.reserve(draft.passes.size());
        for (std::size_t i = 0; i < draft.passes.size(); ++i) batch.passes.push_back(position++);
        for (Wait& wait : batch.waits) {
            wait.hand_over = c.pair(batch.lane, wait.lane).hand_over;
            if (wait.executions_ago == 0) plan.hand_over_cost += wait.hand_over;
        }
    }
    for (Lane lane : c.lanes())
        plan.batches_on_lane[index_of(lane)] = static_cast<std::uint32_t>(c.lane_batches[index_of(lane)].size());
}

/// One clause for every resource that the pass writes. Its readers, if any, are culled too.
std::string why_culled(const Compilation& c, std::uint32_t pass) {
    std::string reason;
    for (const Use& written : c.uses_by(pass)) {
        if (!written.writes()) continue;
        const auto needs = [&](const Use& use) {
            return use.pass != pass && use.resource == written.resource &&
                   (use.read_version == written.written_version ||
                    (use.writes() && use.written_version == written.written_version + 1));
        };
        const auto reader = std::ranges::find_if(c.uses, needs);
        const std::string& name = c.resource(written.resource).name;
        if (!reason.empty()) reason += "; ";
        reason += reader == c.uses.end()
                      ? fmt::format("nothing reads \"{}\"", name)
                      : fmt::format("\"{}\" is for \"{}\", which is culled too", name, c.pass(reader->pass).name);
    }
    return reason.empty() ? "it writes nothing" : reason;
}

void describe_passes(Compilation& c, Plan& plan) {
    std::vector<std::uint32_t> barriers(c.planned.size(), 0);
    for (const PlacedBarrier& placed : c.barriers) ++barriers[placed.position];
    plan.passes.reserve(c.planned.size());
    for (std::uint32_t position = 0; position < c.planned.size(); ++position) {
        PlannedPass& planned = plan.passes.emplace_back();
        planned.pass = c.planned[position];
        planned.name = c.pass(planned.pass).name;
        planned.barriers.reserve(barriers[position]);
    }
    for (const PlacedBarrier& placed : c.barriers) plan.passes[placed.position].barriers.push_back(placed.barrier);
    for (std::uint32_t pass = 0; pass < c.alive.size(); ++pass)
        if (c.alive[pass] == 0) plan.culled.push_back({c.pass(pass).name, why_culled(c, pass)});
}

PlannedResource describe_resource(const Compilation& c, std::uint32_t r) {
    const ResourceNode& node = c.resource(r);
    PlannedResource planned{.resource = r,
                            .name = node.name,
                            .kind = node.kind,
                            .type = node.type,
                            .domain = node.domain,
                            .image = node.image,
                            .bytes = node.bytes,
                            .offset = c.offsets[r]};
    const auto uses = c.uses_of.row(r);
    planned.culled = uses.empty();
    if (uses.empty()) return planned;
    AccessSet kinds = 0;
    for (std::uint32_t u : uses) kinds |= c.uses[u].kinds();
    for_each(kinds, [&](Access kind) { planned.uses.push_back(kind); });
    planned.first_pass = c.position_of[c.uses[uses.front()].pass];
    planned.last_pass = c.position_of[c.uses[uses.back()].pass];
    if (node.kind == ResourceKind::Transient) planned.last_pass = c.lifetimes[r].last;
    return planned;
}

}  // namespace

Plan describe(Compilation& c) {
    Plan plan;
    plan.fingerprint = fingerprint(c.frame, c.options);
    describe_batches(c, plan);
    describe_passes(c, plan);
    plan.resources.reserve(c.frame.resources().size());
    for (std::uint32_t r = 0; r < c.frame.resources().size(); ++r) {
        plan.resources.push_back(describe_resource(c, r));
        if (plan.resources.back().kind == ResourceKind::Transient && !plan.resources.back().culled)
            plan.transient_bytes += plan.resources.back().bytes;
    }
    plan.arena_bytes = c.arena_bytes;
    return plan;
}

}  // namespace kinetograph::graph
