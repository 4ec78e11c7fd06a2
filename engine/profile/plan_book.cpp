#include <kinetograph/engine/profile/plan_book.hpp>

#include <kinetograph/engine/graph/executor.hpp>

#include <algorithm>

namespace kinetograph::profile {

/// One plan. `accesses` keeps what passes declared, because every further batch that a lane reports adds dependencies.
struct PlanBook::Page {
    struct Declared {
        std::uint32_t resource, version;
        bool is_write;
    };
    graph::Fingerprint fingerprint;
    std::uint64_t executor = 0;
    std::vector<bool> noted;                      ///< [batch]
    std::vector<std::vector<Declared>> accesses;  ///< [pass]
    std::shared_ptr<const PlanFacts> facts;
    Quick* quick = nullptr;
};

namespace {

void add_resources(const graph::Plan& plan, PlanFacts& facts) {
    for (const graph::PlannedResource& each : plan.resources)
        facts.resources.push_back({each.name, each.kind == graph::ResourceKind::Imported,
                                   std::string(to_string(each.domain)), each.bytes, each.offset, each.first_pass,
                                   each.last_pass, each.culled});
    for (const graph::MemoryDomain domain : graph::kDomains)
        if (const std::uint64_t bytes = plan.arena_bytes[domain.index()]; bytes > 0)
            facts.arenas.push_back({std::string(to_string(domain)), bytes});
}

/// The batch's index in the plan, or kNone.
std::uint32_t index_of(const graph::Plan& plan, graph::Lane lane, std::uint32_t ordinal) {
    for (std::uint32_t i = 0; i < plan.batches.size(); ++i)
        if (plan.batches[i].lane == lane && plan.batches[i].ordinal == ordinal) return i;
    return kNone;
}

void add_batches(const graph::Plan& plan, NameTable& names, PlanFacts& facts) {
    for (std::uint32_t i = 0; i < plan.batches.size(); ++i) {
        const graph::Batch& batch = plan.batches[i];
        BatchFacts described{.track = names.intern(to_string(batch.lane))};
        for (const graph::Wait& wait : batch.waits)
            described.waits.push_back({index_of(plan, wait.lane, wait.batch), wait.executions_ago, wait.hand_over});
        if (!batch.passes.empty()) {
            described.first_pass = batch.passes.front();
            described.last_pass = batch.passes.back();
        }
        for (const std::uint32_t pass : batch.passes) {
            facts.passes[pass].track = described.track;
            facts.passes[pass].batch = i;
        }
        facts.batches.push_back(std::move(described));
    }
}

PlanFacts facts_of(const graph::Plan& plan, NameTable& names) {
    PlanFacts facts;
    facts.transient_bytes = plan.transient_bytes;
    facts.hand_over_cost = plan.hand_over_cost;
    for (const graph::CulledPass& pass : plan.culled) facts.culled.push_back({pass.name, pass.reason});
    for (const graph::PlannedPass& pass : plan.passes)
        facts.passes.push_back(
            {.name = names.intern(pass.name), .barriers = static_cast<std::uint32_t>(pass.barriers.size())});
    add_batches(plan, names, facts);
    add_resources(plan, facts);
    return facts;
}

void add_work(const graph::PassWork& work, const PlanFacts& facts, std::span<const graph::AccessNode> accesses,
              PassFacts& pass) {
    pass.operations = work.operations;
    pass.kernel = work.kernel;
    pass.reason = work.reason;
    pass.bytes = work.bytes;
    if (work.bytes == 0)
        for (const graph::AccessNode& access : accesses) pass.bytes += facts.resources[access.resource].bytes;
}

/// A reader of a version depends on its writer; a writer depends on the writer of the previous version.
template <class Accesses>
std::vector<Dependency> dependencies_of(const Accesses& accesses) {
    struct Written {
        std::uint32_t resource, version, pass;
    };
    std::vector<Written> writers;
    for (std::uint32_t pass = 0; pass < accesses.size(); ++pass)
        for (const auto& each : accesses[pass])
            if (each.is_write) writers.push_back({each.resource, each.version, pass});
    const auto key = [](const Written& written) { return std::pair(written.resource, written.version); };
    std::ranges::sort(writers, {}, key);
    std::vector<Dependency> result;
    for (std::uint32_t pass = 0; pass < accesses.size(); ++pass)
        for (const auto& each : accesses[pass]) {
            const std::uint32_t needed = each.is_write ? each.version - 1 : each.version;
            const auto writer = std::ranges::lower_bound(writers, std::pair(each.resource, needed), {}, key);
            if (writer == writers.end() || key(*writer) != std::pair(each.resource, needed) || writer->pass == pass)
                continue;
            result.push_back({writer->pass, pass, each.resource, needed});
        }
    return result;
}

}  // namespace

std::uint32_t PlanFacts::find(NameId name, NameId track) const {
    for (std::uint32_t i = 0; i < passes.size(); ++i)
        if (passes[i].name == name && passes[i].track == track) return i;
    return kNone;
}

PlanBook::PlanBook(NameTable& names) : names_(names), quick_(std::make_unique<std::array<Quick, kMost>>()) {}
PlanBook::~PlanBook() = default;

std::uint32_t PlanBook::index_of(const graph::BatchRecord& batch) {
    return profile::index_of(*batch.plan, batch.batch->lane, batch.batch->ordinal);
}

/// Null if the plan is unknown. `id` is read before the other members and once more after them.
PlanBook::Quick* PlanBook::find_quick(const graph::Fingerprint& fingerprint, std::uint64_t executor, PlanId& id) const {
    for (Quick& each : *quick_) {
        id = each.id.load(std::memory_order_acquire);
        if (id == kNoPlan) continue;
        const bool is_same = each.low.load(std::memory_order_acquire) == fingerprint.low &&
                             each.high.load(std::memory_order_acquire) == fingerprint.high &&
                             each.executor.load(std::memory_order_acquire) == executor;
        if (is_same && each.id.load(std::memory_order_relaxed) == id) return &each;
    }
    id = kNoPlan;
    return nullptr;
}

PlanId PlanBook::id_of(const graph::Fingerprint& fingerprint, std::uint64_t executor) const {
    PlanId id = kNoPlan;
    find_quick(fingerprint, executor, id);
    return id;
}

PlanBook::Page& PlanBook::page_of(const graph::BatchRecord& batch) {
    for (const auto& page : pages_)
        if (page->fingerprint == batch.plan->fingerprint && page->executor == batch.executor) return *page;
    Page& page = add_page(facts_of(*batch.plan, names_), batch.plan->fingerprint, batch.executor);
    page.noted.resize(batch.plan->batches.size());
    page.accesses.resize(batch.plan->passes.size());
    return page;
}

PlanBook::Page& PlanBook::add_page(PlanFacts facts, const graph::Fingerprint& fingerprint, std::uint64_t executor) {
    auto page = std::make_unique<Page>();
    page->fingerprint = fingerprint;
    page->executor = executor;
    if (pages_.size() == kMost) {
        const auto oldest = std::ranges::min_element(
            pages_, {}, [](const auto& each) { return each->quick->last_use.load(std::memory_order_relaxed); });
        page->quick = (*oldest)->quick;
        pages_.erase(oldest);
    } else {
        page->quick = &(*quick_)[pages_.size()];
    }
    facts.id = next_++;
    Quick& quick = *page->quick;
    // Each store releases: a reader that sees one of them also sees that the previous id is gone.
    quick.id.store(kNoPlan, std::memory_order_release);
    quick.low.store(fingerprint.low, std::memory_order_release);
    quick.high.store(fingerprint.high, std::memory_order_release);
    quick.executor.store(executor, std::memory_order_release);
    for (auto& bits : quick.noted) bits.store(0, std::memory_order_release);
    quick.last_use.store(notes_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    if (fingerprint != graph::Fingerprint{}) quick.id.store(facts.id, std::memory_order_release);
    page->facts = std::make_shared<const PlanFacts>(std::move(facts));
    pages_.push_back(std::move(page));
    return *pages_.back();
}

PlanId PlanBook::add(PlanFacts facts) {
    const Lock lock(mutex_);
    return add_page(std::move(facts), {}, 0).facts->id;
}

PlanId PlanBook::note(const graph::BatchRecord& batch, NameId track) {
    const std::uint32_t index = index_of(batch);
    PlanId id = kNoPlan;
    Quick* quick = find_quick(batch.plan->fingerprint, batch.executor, id);
    if (quick == nullptr || index >= kMostQuick) return note_slowly(batch, track, index);
    const std::uint64_t noted = quick->noted[index / 64].load(std::memory_order_acquire);
    if ((noted >> (index % 64) & 1U) == 0 || quick->id.load(std::memory_order_relaxed) != id)
        return note_slowly(batch, track, index);
    // If the plan is dropped in between, its successor counts as used.
    quick->last_use.store(notes_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    return id;
}

PlanId PlanBook::note_slowly(const graph::BatchRecord& batch, NameId track, std::uint32_t index) {
    const Lock lock(mutex_);
    Page& page = page_of(batch);
    page.quick->last_use.store(notes_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    if (index == kNone || page.noted[index]) return page.facts->id;
    page.noted[index] = true;
    PlanFacts facts = *page.facts;
    ++facts.batches_told;
    facts.batches[index].track = track;
    for (std::size_t i = 0; i < batch.passes.size(); ++i) {
        const std::uint32_t pass = batch.batch->passes[i];
        const graph::PassNode& node = *batch.passes[i].node;
        facts.passes[pass].track = track;
        add_work(node.work, facts, node.accesses, facts.passes[pass]);
        for (const graph::AccessNode& access : node.accesses)
            page.accesses[pass].push_back({access.resource, access.version, is_write(access.access)});
    }
    facts.dependencies = dependencies_of(page.accesses);
    page.facts = std::make_shared<const PlanFacts>(std::move(facts));
    if (index < kMostQuick)
        page.quick->noted[index / 64].fetch_or(std::uint64_t{1} << (index % 64), std::memory_order_release);
    return page.facts->id;
}

std::shared_ptr<const PlanFacts> PlanBook::find(PlanId id) const {
    const Lock lock(mutex_);
    for (const auto& page : pages_)
        if (page->facts->id == id) return page->facts;
    return nullptr;
}

std::vector<std::shared_ptr<const PlanFacts>> PlanBook::all() const {
    const Lock lock(mutex_);
    std::vector<std::shared_ptr<const PlanFacts>> result;
    for (const auto& page : pages_) result.push_back(page->facts);
    return result;
}

}  // namespace kinetograph::profile
