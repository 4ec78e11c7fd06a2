// Dependencies inside a lane: passes of one lane start in order but may overlap until a barrier keeps them apart.
//
//     a: write x   b: read x   c: read x   d: write x
//                ^ write > read          ^ read > write
//
// The barrier before b serves c too, if both read in the same way. d needs no barrier against a: b and c lie between.
// Accesses on two lanes are ordered by waits. If waits lead from a to another lane and from there back to d, a is known
// to have ended before d starts, and d needs no barrier against a.
#include <kinetograph/engine/graph/compilation.hpp>

#include <algorithm>

namespace kinetograph::graph {

namespace {

/// Where an access happened: which batch of which lane, in this execution or in the previous one.
struct Moment {
    Lane lane = Lane::Host;
    std::uint32_t batch = 0;  ///< ordinal
    bool previous = false;
};

/// Walks the uses of one resource in plan order and remembers what a later access may conflict with.
class Walk {
  public:
    Walk(Compilation& c, std::uint32_t resource) : c_(c), resource_(resource) {}

    /// Walks all uses once without placing barriers: they become those of the previous execution.
    void remember_previous() {
        placing_ = false;
        for (std::uint32_t u : c_.uses_of.row(resource_)) visit(c_.uses[u]);
        placing_ = true;
        write_.previous = true;
        for (Read& read : reads_) read.at.previous = true;
    }

    void place() {
        for (std::uint32_t u : c_.uses_of.row(resource_)) visit(c_.uses[u]);
    }

  private:
    struct Read {
        Moment at;
        AccessSet kinds;
    };

    void visit(const Use& use) {
        pass_ = use.pass;
        now_ = {.lane = batch().lane, .batch = batch().ordinal};
        if (use.changes_layout)
            change_layout(use);
        else
            depend(use);
        latest_kind_ = use.writes() ? use.write : only(use.reads);
        latest_lane_ = now_.lane;
        if (!use.acts_as_write()) {
            reads_.push_back({now_, use.reads});
            return;
        }
        written_ = true;
        write_ = now_;
        write_kind_ = latest_kind_;
        fenced_ = use.writes() ? AccessSet{0} : use.reads;
        reads_.clear();
    }

    void depend(const Use& use) {
        for_each(use.reads, [&](Access kind) {
            if (!written_ || write_.lane != now_.lane || known(write_) || (fenced_ & bit(kind)) != 0) return;
            emit(write_kind_, kind, now_.lane);
            fenced_ |= bit(kind);
        });
        if (!use.writes()) return;
        bool read_on_lane = false;
        for_each(readers_on_lane(read_on_lane), [&](Access kind) { emit(kind, use.write, now_.lane); });
        if (read_on_lane || !written_ || write_.lane != now_.lane || known(write_)) return;
        if ((fenced_ & bit(use.write)) == 0) emit(write_kind_, use.write, now_.lane);
    }

    /// One change however many earlier accesses there are: they all had the old layout, so they are of one kind.
    void change_layout(const Use& use) {
        if (c_.resource(resource_).kind == ResourceKind::Transient && !written_) return;  // Takeover places it
        bool read_on_lane = false;
        const AccessSet readers = readers_on_lane(read_on_lane);
        for_each(use.kinds(), [&](Access after) {
            if (readers != 0)
                for_each(readers, [&](Access before) { emit(before, after, now_.lane); });
            else
                emit(latest_kind_, after, latest_lane_);
        });
    }

    /// Kinds of the reads since the last write, on this lane, that no wait has covered.
    AccessSet readers_on_lane(bool& any) const {
        AccessSet kinds = 0;
        for (const Read& read : reads_) {
            if (read.at.lane != now_.lane) continue;
            any = true;
            if (!known(read.at)) kinds |= read.kinds;
        }
        return kinds;
    }

    const DraftBatch& batch() const { return c_.batches[c_.batch_of[pass_]]; }
    bool known(const Moment& point) const {
        return (point.previous ? batch().prior : batch().known)[index_of(point.lane)] > point.batch;
    }

    void emit(Access before, Access after, Lane from) {
        if (!placing_) return;
        c_.barriers.push_back(
            {c_.position_of[pass_], {.resource = resource_, .before = before, .after = after, .from = from}});
    }

    static Access only(AccessSet kinds) {
        Access last = Access::KernelRead;
        for_each(kinds, [&](Access kind) { last = kind; });
        return last;
    }

    Compilation& c_;
    std::uint32_t resource_;
    bool placing_ = true;
    std::uint32_t pass_ = kNoIndex;
    Moment now_;
    bool written_ = false;
    Moment write_;
    Access write_kind_ = Access::KernelWrite;
    AccessSet fenced_ = 0;  ///< kinds of access on the writer's lane that a barrier orders after the last write
    std::vector<Read> reads_;
    Access latest_kind_ = Access::KernelRead;
    Lane latest_lane_ = Lane::Host;
};

/// Barriers before the first use of a transient: its bytes belonged to other transients, or to itself in the previous
/// execution, and an image has no layout yet.
class Takeover {
  public:
    explicit Takeover(Compilation& c) : c_(c), looked_at_(c.frame.resources().size(), {kNoIndex, kNoIndex}) {
        first_.resize(c.frame.resources().size() + 1, static_cast<std::uint32_t>(c.successions.size()));
        for (auto s = static_cast<std::uint32_t>(c.successions.size()); s-- > 0;) first_[c.successions[s].after] = s;
        for (std::size_t r = first_.size() - 1; r-- > 0;) first_[r] = std::min(first_[r], first_[r + 1]);
    }

    void place() {
        for (std::uint32_t r = 0; r + 1 < first_.size(); ++r) {
            AccessSet placed = 0;
            for (const Succession& succession : into(r)) placed = place(succession, placed);
            if (placed == 0 && !into(r).empty() && c_.resource(r).type == ResourceType::Image) begin_layout(r);
        }
    }

  private:
    std::span<const Succession> into(std::uint32_t resource) const {
        return std::span(c_.successions).subspan(first_[resource], first_[resource + 1] - first_[resource]);
    }

    AccessSet place(const Succession& succession, AccessSet placed) {
        const std::uint32_t position = c_.lifetimes[succession.after].first;
        const DraftBatch& now = c_.batches[c_.batch_of[c_.planned[position]]];
        const Use& first = c_.uses[c_.uses_of.row(succession.after).front()];
        const LaneClock& known = succession.across ? now.prior : now.known;
        AccessSet kinds = last_on_lane(succession.before, now.lane, known[index_of(now.lane)]);
        kinds &= static_cast<AccessSet>(~placed);
        const bool image = first.changes_layout;
        if (kinds == 0 || implied(succession)) return placed;
        for_each(kinds, [&](Access kind) {
            c_.barriers.push_back({position,
                                   {.resource = image ? succession.after : kNoIndex,
                                    .before = kind,
                                    .after = first.write,
                                    .discard = true,
                                    .from = now.lane,
                                    .aliased = succession.after}});
        });
        return placed | kinds;
    }

    /// No earlier use on its lane conflicts, but the image has no layout yet.
    void begin_layout(std::uint32_t resource) {
        const std::uint32_t position = c_.lifetimes[resource].first;
        const Access first = c_.uses[c_.uses_of.row(resource).front()].write;
        c_.barriers.push_back({position,
                               {.resource = resource,
                                .before = first,
                                .after = first,
                                .discard = true,
                                .from = c_.lane_of(c_.planned[position])}});
    }

    /// Transitive reduction: true when another of the owners before `succession.after` came after `succession.before`.
    bool implied(const Succession& succession) {
        const auto owners = into(succession.after);
        if (owners.size() < 2) return false;
        ++search_;
        return std::any_of(owners.begin(), owners.end(), [&](const Succession& other) {
            return &other != &succession &&
                   leads(succession.before, succession.across ? 1U : 0U, other.before, other.across ? 1U : 0U);
        });
    }

    /// True when bytes went from `from`, `from_age` executions ago, to `to`, `to_age` executions ago, by any number of
    /// takeovers.
    bool leads(std::uint32_t from, std::uint32_t from_age, std::uint32_t to, std::uint32_t to_age) {
        const bool too_early =
            to_age > from_age || (to_age == from_age && c_.lifetimes[to].first <= c_.lifetimes[from].first);
        if (too_early || std::exchange(looked_at_[to][to_age], search_) == search_) return false;
        for (const Succession& s : into(to)) {
            const std::uint32_t age = to_age + (s.across ? 1U : 0U);
            if ((s.before == from && age == from_age) || leads(from, from_age, s.before, age)) return true;
        }
        return false;
    }

    /// Kinds of the last accesses on `lane`, which come after all its earlier ones, unless `known` covers them.
    AccessSet last_on_lane(std::uint32_t resource, Lane lane, std::uint32_t known) const {
        AccessSet kinds = 0;
        const auto uses = c_.uses_of.row(resource);
        for (auto u = uses.rbegin(); u != uses.rend(); ++u) {
            const Use& use = c_.uses[*u];
            if (c_.lane_of(use.pass) != lane) continue;
            const bool covered = c_.batches[c_.batch_of[use.pass]].ordinal < known;
            if (!use.acts_as_write()) {
                if (!covered) kinds |= use.reads;
                continue;
            }
            if (!covered && kinds == 0) kinds = use.writes() ? bit(use.write) : use.reads;
            break;
        }
        return kinds;
    }

    Compilation& c_;
    std::vector<std::uint32_t> first_;                     ///< [resource] -> its first succession
    std::vector<std::array<std::uint32_t, 2>> looked_at_;  ///< [resource][age] -> the last search that visited it
    std::uint32_t search_ = 0;
};

}  // namespace

void place_barriers(Compilation& c) {
    c.barriers.reserve(c.uses.size());
    Takeover(c).place();
    for (std::uint32_t r = 0; r < c.frame.resources().size(); ++r) {
        if (c.uses_of.row(r).empty()) continue;
        Walk walk(c, r);
        if (c.resource(r).kind == ResourceKind::Imported) walk.remember_previous();
        walk.place();
    }
}

}  // namespace kinetograph::graph
