// Goes through the passes in order and adds every pass to its lane's open batch, unless it has to wait for work of
// another lane that the lane does not yet know to be complete. Then a new batch begins, and the batches that it waits
// for are closed. Passes that are neighbours in the order thus share one signal and one wait. On the accelerator lane a
// batch also ends between passes that run anew every time and passes that can be replayed.
#include <kinetograph/engine/graph/compilation.hpp>

#include <algorithm>

namespace kinetograph::graph {

namespace {

/// What has happened to one resource so far in this execution.
struct Track {
    Lane write_lane = Lane::Host;
    std::uint32_t write_batch = 0;  ///< ordinal plus 1; 0: not written yet
    LaneClock reads{};              ///< [lane] -> last batch that read since, ordinal plus 1
    ImageLayout layout = ImageLayout::General;
    bool layout_known = false;
};

class Cutter {
  public:
    explicit Cutter(Compilation& compilation) : c_(compilation), tracks_(c_.frame.resources().size()) {
        open_.fill(kNoIndex);
    }

    void add(std::uint32_t pass) {
        const Lane lane = c_.lane_of(pass);
        LaneClock needed = needed_by(pass);
        needed[index_of(lane)] = 0;  // its own lane runs in order
        drop_known(needed, known_[index_of(lane)]);
        if (needed != LaneClock{}) {
            drop_implied(c_, needed);
            relay(lane, needed);
            drop_implied(c_, needed);
            begin_batch(lane, needed);
        } else if (open_[index_of(lane)] == kNoIndex || !may_join(pass, lane)) {
            begin_batch(lane, needed);
        }
        const std::uint32_t batch = open_[index_of(lane)];
        c_.batches[batch].passes.push_back(pass);
        c_.batch_of[pass] = batch;
        track(pass, lane, c_.batches[batch].ordinal + 1);
    }

  private:
    /// Whether the pass and those of its lane's open batch are all replayed, or all run anew.
    bool may_join(std::uint32_t pass, Lane lane) const {
        const std::uint32_t before = c_.batches[open_[index_of(lane)]].passes.front();
        return !lane.is_of_accelerator() || c_.pass(pass).anew == c_.pass(before).anew;
    }

    static ImageLayout layout_of_use(const Use& use) {
        if (use.writes()) return layout_of(use.write);
        ImageLayout layout = ImageLayout::General;
        for_each(use.reads, [&](Access access) { layout = layout_of(access); });
        return layout;
    }

    /// Batches that must be complete before `pass`; also decides which of its uses change an image's layout.
    LaneClock needed_by(std::uint32_t pass) {
        LaneClock needed{};
        for (Use& use : c_.uses_by(pass)) {
            const ResourceType type = c_.resource(use.resource).type;
            const Track& track = tracks_[use.resource];
            if (type == ResourceType::Image)
                use.changes_layout = !track.layout_known || track.layout != layout_of_use(use);
            auto& writer = needed[index_of(track.write_lane)];
            writer = std::max(writer, track.write_batch);
            if (use.acts_as_write()) raise(needed, track.reads);
        }
        return needed;
    }

    void track(std::uint32_t pass, Lane lane, std::uint32_t batch) {
        for (const Use& use : c_.uses_by(pass)) {
            Track& track = tracks_[use.resource];
            if (use.acts_as_write()) track = {.write_lane = lane, .write_batch = batch, .reads = {}};
            auto& read = track.reads[index_of(lane)];
            if (!use.acts_as_write()) read = std::max(read, batch);
            track.layout = layout_of_use(use);
            track.layout_known = true;
        }
    }

    /// Replaces lanes that `lane` cannot wait for by a batch of the host lane that has waited for them.
    void relay(Lane lane, LaneClock& needed) {
        LaneClock unreachable{};
        for (Lane other : c_.lanes())
            if (needed[index_of(other)] != 0 && !c_.pair(lane, other).can_wait)
                std::swap(unreachable[index_of(other)], needed[index_of(other)]);
        if (unreachable == LaneClock{}) return;
        auto& host = needed[index_of(Lane::Host)];
        host = std::max(host, host_batch_after(unreachable) + 1);
    }

    /// Ordinal of the first host batch that starts when `needed` is complete; made if there is none.
    std::uint32_t host_batch_after(LaneClock needed) {
        const auto& on_host = c_.lane_batches[index_of(Lane::Host)];
        for (std::uint32_t ordinal = 0; ordinal < on_host.size(); ++ordinal) {
            LaneClock missing = needed;
            drop_known(missing, c_.batch(Lane::Host, ordinal).known);
            if (missing == LaneClock{}) return ordinal;
        }
        drop_known(needed, known_[index_of(Lane::Host)]);
        begin_batch(Lane::Host, needed);
        open_[index_of(Lane::Host)] = kNoIndex;
        return static_cast<std::uint32_t>(on_host.size() - 1);
    }

    void begin_batch(Lane lane, const LaneClock& waited) {
        auto& ordinals = c_.lane_batches[index_of(lane)];
        DraftBatch batch{
            .lane = lane, .ordinal = static_cast<std::uint32_t>(ordinals.size()), .known = known_[index_of(lane)]};
        for (Lane other : c_.lanes()) {
            const std::uint32_t count = waited[index_of(other)];
            if (count == 0) continue;
            const DraftBatch& source = c_.batch(other, count - 1);
            batch.waits.push_back({.lane = other, .batch = count - 1});
            raise(batch.known, source.known);
            batch.known[index_of(other)] = std::max(batch.known[index_of(other)], count);
            if (open_[index_of(other)] != kNoIndex && c_.batches[open_[index_of(other)]].ordinal == source.ordinal)
                open_[index_of(other)] = kNoIndex;
        }
        known_[index_of(lane)] = batch.known;
        open_[index_of(lane)] = static_cast<std::uint32_t>(c_.batches.size());
        ordinals.push_back(open_[index_of(lane)]);
        c_.batches.push_back(std::move(batch));
    }

    Compilation& c_;
    std::vector<Track> tracks_;
    std::array<LaneClock, kMaxLanes> known_{};     ///< [lane] -> known when its newest batch starts
    std::array<std::uint32_t, kMaxLanes> open_{};  ///< [lane] -> batch that takes more passes
};

}  // namespace

void cut_batches(Compilation& c) {
    c.batch_of.assign(c.frame.passes().size(), kNoIndex);
    Cutter cutter(c);
    for (std::uint32_t pass : c.order) cutter.add(pass);

    c.position_of.assign(c.frame.passes().size(), kNoIndex);
    c.planned.reserve(c.order.size());
    for (DraftBatch& batch : c.batches) {
        batch.first_position = static_cast<std::uint32_t>(c.planned.size());
        for (std::uint32_t pass : batch.passes) {
            c.position_of[pass] = static_cast<std::uint32_t>(c.planned.size());
            c.planned.push_back(pass);
        }
    }
}

}  // namespace kinetograph::graph
