#include <kinetograph/engine/graph/compilation.hpp>
#include <kinetograph/engine/graph/prepared_plan.hpp>

#include <algorithm>

namespace kinetograph::graph {

namespace {

void add_entries(PreparedPlan& prepared, const FrameGraph& frame, const PassNode& node) {
    const std::size_t first = prepared.entries.size();
    for (const AccessNode& access : node.accesses) {
        auto entry = std::find_if(prepared.entries.begin() + static_cast<std::ptrdiff_t>(first), prepared.entries.end(),
                                  [&](const auto& e) { return e.resource == access.resource; });
        if (entry == prepared.entries.end()) {
            const ResourceNode& resource = frame.resources()[access.resource];
            const auto index = static_cast<std::uint32_t>(prepared.entries.size());
            prepared.entries.push_back({.resource = access.resource, .physical = prepared.resources[access.resource]});
            if (resource.kind == ResourceKind::Imported) prepared.import_entries.push_back(index);
            entry = prepared.entries.end() - 1;
        }
        (is_write(access.access) ? entry->written_version : entry->read_version) = access.version;
    }
}

bool same_storage(const Physical& a, const Physical& b) {
    return a.object == b.object && a.offset == b.offset && a.bytes == b.bytes;
}

}  // namespace

Result<std::unique_ptr<PreparedPlan>> PreparedPlan::create(Plan plan, const FrameGraph& frame,
                                                           const std::array<MemoryBackend*, kMaxDomains>& memory) {
    auto prepared = std::make_unique<PreparedPlan>();
    prepared->plan = std::move(plan);
    prepared->resources.resize(prepared->plan.resources.size());
    std::array<const PlanMemory*, kMaxDomains> arenas{};
    for (MemoryDomain domain : kDomains) {
        if (prepared->plan.arena_bytes[index_of(domain)] == 0) continue;
        if (memory[index_of(domain)] == nullptr)
            return fail(ErrorCode::InvalidArgument, "no memory back end for domain {}, which needs {} bytes",
                        to_string(domain), prepared->plan.arena_bytes[index_of(domain)]);
        KG_TRY(auto arena, memory[index_of(domain)]->realize(prepared->plan, domain));
        arenas[index_of(domain)] = arena.get();
        prepared->memory.push_back(std::move(arena));
    }
    for (const PlannedResource& resource : prepared->plan.resources) {
        if (resource.culled) continue;
        if (resource.kind == ResourceKind::Transient)
            prepared->resources[resource.resource] = arenas[index_of(resource.domain)]->physical(resource.resource);
        if (resource.kind == ResourceKind::Imported) prepared->imports.push_back(resource.resource);
    }
    std::vector<std::size_t> first_entry;
    for (const PlannedPass& pass : prepared->plan.passes) {
        first_entry.push_back(prepared->entries.size());
        add_entries(*prepared, frame, frame.passes()[pass.pass]);
    }
    first_entry.push_back(prepared->entries.size());
    for (std::size_t p = 0; p < prepared->plan.passes.size(); ++p)
        prepared->passes.push_back({.planned = &prepared->plan.passes[p],
                                    .entries = std::span<const PassContext::Entry>(prepared->entries)
                                                   .subspan(first_entry[p], first_entry[p + 1] - first_entry[p])});
    prepared->note_uses(frame);
    return prepared;
}

void PreparedPlan::note_uses(const FrameGraph& frame) {
    last_batches.resize(plan.resources.size());
    std::vector<std::uint32_t> lanes_that_used(plan.resources.size());  // [resource] -> one bit per lane
    static_assert(kMaxLanes <= 32);
    for (const Batch& batch : plan.batches)
        for (const std::uint32_t position : batch.passes)
            for (const AccessNode& access : frame.passes()[plan.passes[position].pass].accesses) {
                last_batches[access.resource] = &batch;
                std::uint32_t& used = lanes_that_used[access.resource];
                const std::uint32_t lane = 1U << index_of(batch.lane);
                if (frame.resources()[access.resource].kind == ResourceKind::Imported && (used & lane) == 0)
                    first_uses.push_back({&batch, access.resource});
                used |= lane;
            }
}

Result<void> PreparedPlan::bind(const FrameGraph& frame) {
    for (std::uint32_t r : imports) {
        const ResourceNode& node = frame.resources()[r];
        if (node.imported.object == 0)
            return fail(ErrorCode::InvalidArgument, "import \"{}\" has no storage in this execution", node.name);
        if (node.type == ResourceType::Buffer && node.imported.bytes < node.bytes)
            return fail(ErrorCode::InvalidArgument, "import \"{}\" is declared with {} bytes, but its storage has {}",
                        node.name, node.bytes, node.imported.bytes);
        resources[r] = node.imported;
    }
    for (std::uint32_t e : import_entries) entries[e].physical = resources[entries[e].resource];
    if (nodes_ != frame.passes().data())
        for (PassRecord& pass : passes) pass.node = &frame.passes()[pass.planned->pass];
    nodes_ = frame.passes().data();
    return {};
}

bool PreparedPlan::share_bytes(const Binding& a, const Binding& b) const {
    const MemoryDomain domain = plan.resources[a.resource].domain;
    if (domain != plan.resources[b.resource].domain) return false;
    // Two base addresses may lie in one allocation; two objects of a back end never share bytes.
    const bool addresses = domain.kind() == MemoryKind::Host || domain.kind() == MemoryKind::Accelerator;
    if (!addresses && a.physical.object != b.physical.object) return false;
    const auto begin = [&](const Physical& p) { return (addresses ? p.object : 0) + p.offset; };
    const auto end = [&](const Physical& p) { return begin(p) + std::max<std::uint64_t>(p.bytes, 1); };
    return begin(a.physical) < end(b.physical) && begin(b.physical) < end(a.physical);
}

void PreparedPlan::remember_imports() {
    bindings_.clear();
    for (std::uint32_t r : imports) bindings_.push_back({r, resources[r]});
}

bool PreparedPlan::imports_changed_names() {
    constexpr std::size_t kRemembered = 64;  // beyond that, one wait costs less than the search
    for (std::size_t i = 0; i < imports.size(); ++i) {
        const Binding now{imports[i], resources[imports[i]]};
        const Binding last = bindings_[i];
        if (same_storage(last.physical, now.physical)) continue;
        if (std::any_of(bindings_.begin(), bindings_.end(), [&](const Binding& before) {
                return before.resource != now.resource && share_bytes(before, now);
            }))
            return true;
        bindings_[i] = now;
        const bool noted =
            std::any_of(bindings_.begin() + static_cast<std::ptrdiff_t>(imports.size()), bindings_.end(),
                        [&](const Binding& earlier) {
                            return earlier.resource == last.resource && same_storage(earlier.physical, last.physical);
                        });
        if (!noted) bindings_.push_back(last);
    }
    return bindings_.size() > imports.size() + kRemembered;
}

}  // namespace kinetograph::graph
