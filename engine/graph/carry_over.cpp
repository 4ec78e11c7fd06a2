// Waits on the previous execution of the same plan, so that an execution can start while the previous one still runs on
// other lanes. State that graphics reads and the accelerator then writes:
//
//     execution k       graphics      read ----+        +---> read ----+
//                       accelerator            +-> write               +-> write
//                                                       execution k + 1
//
// The wait from read to write lies inside an execution (cut_batches). The wait from the write of execution k to the
// read of k + 1 is added here, with executions_ago 1. The write of k + 1 needs no wait for the read of k: it comes
// after the read of k + 1, which runs on the same lane as the read of k (see reduce()).
#include <kinetograph/engine/graph/compilation.hpp>

#include <algorithm>
#include <utility>

namespace kinetograph::graph {

namespace {

class Carrier {
  public:
    explicit Carrier(Compilation& compilation) : c_(compilation), needed_(c_.batches.size()) {}

    void need_for_imports();
    void need_for_arenas();
    void place_waits();

  private:
    struct Place {
        Lane lane;
        std::uint32_t count;  ///< batch ordinal plus 1
        std::uint32_t batch;  ///< index into batches
    };
    Place place_of(const Use& use) const {
        const std::uint32_t batch = c_.batch_of[use.pass];
        return {c_.batches[batch].lane, c_.batches[batch].ordinal + 1, batch};
    }
    void need(const Place& now, const Place& before) {
        if (now.lane == before.lane) return;
        auto& count = needed_[now.batch][index_of(before.lane)];
        count = std::max(count, before.count);
    }
    void need_for_import(std::uint32_t resource);
    std::vector<LaneClock> reduce(LaneClock& unreachable);
    void append_relay(LaneClock unreachable);
    void begin(std::uint32_t batch);
    void drop_implied(LaneClock& needed) const { graph::drop_implied(c_, needed); }

    Compilation& c_;
    std::uint32_t relay_ = kNoIndex;  ///< ordinal on the host lane
    std::vector<LaneClock> needed_;   ///< [batch][lane] -> batches of the previous execution that must be complete
};

void Carrier::need_for_import(std::uint32_t resource) {
    const auto uses = c_.uses_of.row(resource);
    const auto acts_as_write = [&](std::uint32_t u) { return c_.uses[u].acts_as_write(); };
    const auto first_write = std::find_if(uses.begin(), uses.end(), acts_as_write);
    if (first_write == uses.end()) return;
    const auto last_write = std::find_if(uses.rbegin(), uses.rend(), acts_as_write).base() - 1;
    for (auto now = uses.begin(); now <= first_write; ++now) {
        need(place_of(c_.uses[*now]), place_of(c_.uses[*last_write]));
        if (now != first_write) continue;
        for (auto before = last_write + 1; before < uses.end(); ++before)
            need(place_of(c_.uses[*now]), place_of(c_.uses[*before]));
    }
}

void Carrier::need_for_imports() {
    for (std::uint32_t r = 0; r < c_.frame.resources().size(); ++r)
        if (c_.resource(r).kind == ResourceKind::Imported && !c_.uses_of.row(r).empty()) need_for_import(r);
}

void Carrier::need_for_arenas() {
    for (const Succession& succession : c_.successions) {
        if (!succession.across) continue;
        const std::uint32_t pass = c_.planned[c_.lifetimes[succession.after].first];
        const Place now{c_.lane_of(pass), 0, c_.batch_of[pass]};
        for (Lane lane : c_.lanes())
            need(now, {lane, c_.lifetimes[succession.before].batches[index_of(lane)], kNoIndex});
    }
}

/// What batch `b` knows of the previous execution before its own waits on that are added: from its lane, and from its
/// waits inside this execution.
void Carrier::begin(std::uint32_t b) {
    DraftBatch& batch = c_.batches[b];
    const auto& on_lane = c_.lane_batches[index_of(batch.lane)];
    batch.prior = batch.ordinal == 0 ? c_.batches[on_lane.back()].known : c_.batches[on_lane[batch.ordinal - 1]].prior;
    for (const Wait& wait : batch.waits) raise(batch.prior, c_.batch(wait.lane, wait.batch).prior);
    // A batch of this execution that is complete comes after everything of its lane's previous execution.
    for (std::size_t lane = 0; lane < kMaxLanes; ++lane)
        if (batch.known[lane] > 0) batch.prior[lane] = static_cast<std::uint32_t>(c_.lane_batches[lane].size());
}

/// Transitive reduction of what is needed; returns the waits that remain. Batches that some lane needs but cannot wait
/// for go through `relay_`, or into `unreachable` while there is no relay.
std::vector<LaneClock> Carrier::reduce(LaneClock& unreachable) {
    std::vector<LaneClock> waits = needed_;
    for (std::uint32_t b = 0; b < c_.batches.size(); ++b) {
        begin(b);
        DraftBatch& batch = c_.batches[b];
        LaneClock& needed = waits[b];
        drop_known(needed, batch.prior);
        drop_implied(needed);
        for (Lane lane : c_.lanes()) {
            if (needed[index_of(lane)] == 0 || c_.pair(batch.lane, lane).can_wait) continue;
            const std::uint32_t count = std::exchange(needed[index_of(lane)], 0);
            if (relay_ == kNoIndex)
                unreachable[index_of(lane)] = std::max(unreachable[index_of(lane)], count);
            else
                needed[index_of(Lane::Host)] = relay_ + 1;
        }
        drop_implied(needed);
        for (Lane lane : c_.lanes()) {
            const std::uint32_t count = needed[index_of(lane)];
            if (count == 0) continue;
            raise(batch.prior, c_.batch(lane, count - 1).known);
            batch.prior[index_of(lane)] = std::max(batch.prior[index_of(lane)], count);
        }
    }
    return waits;
}

/// Ends the host lane with a batch that waits for `unreachable`, for the next execution to wait for.
void Carrier::append_relay(LaneClock unreachable) {
    auto& on_host = c_.lane_batches[index_of(Lane::Host)];
    DraftBatch relay{.lane = Lane::Host, .ordinal = static_cast<std::uint32_t>(on_host.size())};
    relay.first_position = static_cast<std::uint32_t>(c_.planned.size());
    if (!on_host.empty()) relay.known = c_.batches[on_host.back()].known;
    drop_known(unreachable, relay.known);
    drop_implied(unreachable);
    for (Lane lane : c_.lanes()) {
        const std::uint32_t count = unreachable[index_of(lane)];
        if (count == 0) continue;
        relay.waits.push_back({.lane = lane, .batch = count - 1});
        raise(relay.known, c_.batch(lane, count - 1).known);
        relay.known[index_of(lane)] = std::max(relay.known[index_of(lane)], count);
    }
    relay_ = relay.ordinal;
    on_host.push_back(static_cast<std::uint32_t>(c_.batches.size()));
    c_.batches.push_back(std::move(relay));
    needed_.emplace_back();
}

void Carrier::place_waits() {
    LaneClock unreachable{};
    std::vector<LaneClock> waits = reduce(unreachable);
    if (unreachable != LaneClock{}) {
        append_relay(unreachable);
        waits = reduce(unreachable);
    }
    for (std::size_t b = 0; b < c_.batches.size(); ++b)
        for (Lane lane : c_.lanes())
            if (waits[b][index_of(lane)] > 0)
                c_.batches[b].waits.push_back(
                    {.lane = lane, .batch = waits[b][index_of(lane)] - 1, .executions_ago = 1});
}

}  // namespace

void carry_over(Compilation& c) {
    Carrier carrier(c);
    carrier.need_for_imports();
    carrier.need_for_arenas();
    carrier.place_waits();
}

}  // namespace kinetograph::graph
