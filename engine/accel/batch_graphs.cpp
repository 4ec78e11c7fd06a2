#include <kinetograph/engine/accel/batch_graphs.hpp>
#include <kinetograph/engine/graph/fingerprint.hpp>

#include <algorithm>

namespace kinetograph::accel {

graph::Fingerprint batch_key(const graph::BatchRecord& record) {
    graph::Fingerprint key = record.plan->fingerprint;
    mix(key, record.batch->ordinal);
    for (const graph::PassRecord& pass : record.passes)
        for (const graph::PassContext::Entry& entry : pass.entries) {
            mix(key, entry.resource);
            mix(key, entry.physical.object);
            mix(key, entry.physical.offset);
            mix(key, entry.physical.mapped);
        }
    return key;
}

BatchGraphs::Entry& BatchGraphs::find(const graph::Fingerprint& key, std::uint64_t reached) {
    ++uses_;
    const auto found = std::ranges::find(entries_, key, [](const auto& entry) { return entry->key; });
    if (found != entries_.end()) {
        (*found)->last_use = uses_;
        return **found;
    }
    if (entries_.size() >= kBatches) {
        const auto oldest = std::ranges::min_element(entries_, {}, [](const auto& entry) { return entry->last_use; });
        const auto done = [&](const auto& graph) { return graph->signal <= reached && graph->unread_replays == 0; };
        if (std::ranges::all_of((*oldest)->graphs, done)) entries_.erase(oldest);
    }
    entries_.push_back(std::make_unique<Entry>(Entry{.key = key, .graphs = {}, .declined = {}, .last_use = uses_}));
    return *entries_.back();
}

}  // namespace kinetograph::accel
