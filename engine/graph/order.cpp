// List scheduling on a simulated clock. A pass is estimated to take kPassEstimate; one that needs another lane's work
// becomes ready one hand-over later. Meanwhile its lane runs other passes, which thus become neighbours and share a
// batch (see cut_batches()). Of the passes that a lane could run, one that works for its earliest hand-over to another
// lane goes first; passes that work for the same one keep the declaration order, in which neighbours share memory best.
// A pass that works for no hand-over, but reads results of passes that do, would come last and keep those results in
// memory until then: it takes its turn with the pass that is declared after it.
//
//     declared   a1  a2  s   b1  b2     a2 reads a1, b2 reads b1; a2 and b2 hand over to another lane; s reads a2
//     turn       0   0   1   1   1      without a turn, s would run after b2
#include <kinetograph/engine/graph/compilation.hpp>

#include <algorithm>

namespace kinetograph::graph {

namespace {

constexpr Nanoseconds kPassEstimate{20'000};
constexpr Nanoseconds kNever = Nanoseconds::max();

struct Schedule {
    explicit Schedule(const Compilation& compilation)
        : c(compilation),
          turn(c.frame.passes().size(), kNoIndex),
          ready_at(c.frame.passes().size(), Nanoseconds{0}),
          open(c.frame.passes().size(), 0) {}

    void rank_hand_overs();
    void give_readers_their_turns();
    void count_dependencies();
    void make_ready(std::uint32_t pass);
    /// When `lane` could start its next pass; kNever when nothing is ready.
    /// A lane with nothing to do moves on to the time at which its next pass is ready.
    Nanoseconds next_start(std::size_t lane);
    Lane choose_lane(Lane current);
    std::uint32_t take(Lane lane);
    void finish(std::uint32_t pass);

    bool later(std::uint32_t a, std::uint32_t b) const {
        return ready_at[a] != ready_at[b] ? ready_at[a] > ready_at[b] : a > b;
    }
    bool after_in_line(std::uint32_t a, std::uint32_t b) const {
        return turn[a] != turn[b] ? turn[a] > turn[b] : a > b;
    }

    const Compilation& c;
    /// [pass] -> the place, among its lane's hand-overs, of the first that it works for; kNoIndex: of none.
    std::vector<std::uint32_t> turn;
    std::vector<Nanoseconds> ready_at;
    std::vector<std::uint32_t> open;                              ///< [pass] -> dependencies that have not run
    std::array<std::vector<std::uint32_t>, kMaxLanes> waiting;    ///< heap: ready later, soonest on top
    std::array<std::vector<std::uint32_t>, kMaxLanes> available;  ///< heap: ready now, first in line on top
    std::array<Nanoseconds, kMaxLanes> clock{};
};

void Schedule::rank_hand_overs() {
    std::vector<std::uint32_t> before(turn.size());  ///< the longest chain of the same lane that ends before it
    std::vector<std::uint32_t> hand_overs;
    for (const std::uint32_t p : c.topological) {
        if (c.alive[p] == 0) continue;
        bool hands_over = false;
        for (const std::uint32_t d : c.dependencies_of.row(p)) {
            const std::uint32_t next = c.dependencies[d].after;
            if (c.alive[next] == 0) continue;
            if (c.lane_of(next) == c.lane_of(p))
                before[next] = std::max(before[next], before[p] + 1);
            else
                hands_over = true;
        }
        if (hands_over) hand_overs.push_back(p);
    }
    std::sort(hand_overs.begin(), hand_overs.end(),
              [&](std::uint32_t a, std::uint32_t b) { return before[a] != before[b] ? before[a] < before[b] : a < b; });
    for (std::uint32_t i = 0; i < hand_overs.size(); ++i) turn[hand_overs[i]] = i;
    for (auto p = c.topological.rbegin(); p != c.topological.rend(); ++p) {
        if (c.alive[*p] == 0) continue;
        for (const std::uint32_t d : c.dependencies_of.row(*p)) {
            const std::uint32_t next = c.dependencies[d].after;
            if (c.alive[next] != 0 && c.lane_of(next) == c.lane_of(*p)) turn[*p] = std::min(turn[*p], turn[next]);
        }
    }
}

void Schedule::give_readers_their_turns() {
    std::array<std::uint32_t, kMaxLanes> following{};
    following.fill(kNoIndex);
    std::vector<std::uint32_t> after(turn.size());  ///< the turn of the next pass on the same lane that has one
    for (auto p = static_cast<std::uint32_t>(turn.size()); p-- > 0;) {
        std::uint32_t& next = following[index_of(c.lane_of(p))];
        after[p] = next;
        if (c.alive[p] != 0 && turn[p] != kNoIndex) next = turn[p];
    }
    for (const std::uint32_t p : c.topological) {
        if (c.alive[p] == 0 || turn[p] == kNoIndex) continue;
        for (const std::uint32_t d : c.dependencies_of.row(p)) {
            const std::uint32_t next = c.dependencies[d].after;
            if (c.alive[next] != 0 && turn[next] == kNoIndex && c.lane_of(next) == c.lane_of(p))
                turn[next] = after[next];
        }
    }
}

void Schedule::count_dependencies() {
    for (const Dependency& d : c.dependencies)
        if (c.alive[d.before] != 0 && c.alive[d.after] != 0) ++open[d.after];
    for (std::uint32_t p = 0; p < open.size(); ++p)
        if (c.alive[p] != 0 && open[p] == 0) make_ready(p);
}

void Schedule::make_ready(std::uint32_t pass) {
    auto& heap = waiting[index_of(c.lane_of(pass))];
    heap.push_back(pass);
    std::push_heap(heap.begin(), heap.end(), [this](auto a, auto b) { return later(a, b); });
}

Nanoseconds Schedule::next_start(std::size_t lane) {
    auto& soon = waiting[lane];
    auto& now = available[lane];
    while (!soon.empty() && (ready_at[soon.front()] <= clock[lane] || now.empty())) {
        if (now.empty()) clock[lane] = std::max(clock[lane], ready_at[soon.front()]);
        std::pop_heap(soon.begin(), soon.end(), [this](auto a, auto b) { return later(a, b); });
        now.push_back(soon.back());
        soon.pop_back();
        std::push_heap(now.begin(), now.end(), [this](auto a, auto b) { return after_in_line(a, b); });
    }
    return now.empty() ? kNever : clock[lane];
}

Lane Schedule::choose_lane(Lane current) {
    Lane best = current;
    Nanoseconds start = next_start(index_of(current));
    for (Lane lane : c.lanes()) {
        const Nanoseconds other = next_start(index_of(lane));
        if (other >= start) continue;
        best = lane;
        start = other;
    }
    return best;
}

std::uint32_t Schedule::take(Lane lane) {
    auto& now = available[index_of(lane)];
    std::pop_heap(now.begin(), now.end(), [this](auto a, auto b) { return after_in_line(a, b); });
    const std::uint32_t pass = now.back();
    now.pop_back();
    return pass;
}

void Schedule::finish(std::uint32_t pass) {
    const Lane lane = c.lane_of(pass);
    clock[index_of(lane)] += kPassEstimate;
    for (std::uint32_t d : c.dependencies_of.row(pass)) {
        const std::uint32_t next = c.dependencies[d].after;
        if (c.alive[next] == 0) continue;
        const Lane to = c.lane_of(next);
        const Nanoseconds arrival = clock[index_of(lane)] + (to == lane ? Nanoseconds{0} : c.hand_over(to, lane));
        ready_at[next] = std::max(ready_at[next], arrival);
        if (--open[next] == 0) make_ready(next);
    }
}

}  // namespace

void order(Compilation& c) {
    Schedule schedule(c);
    schedule.rank_hand_overs();
    schedule.give_readers_their_turns();
    schedule.count_dependencies();
    const auto alive = static_cast<std::size_t>(std::count(c.alive.begin(), c.alive.end(), 1));
    c.order.reserve(alive);
    Lane lane = Lane::Accelerator;
    while (c.order.size() < alive) {
        lane = schedule.choose_lane(lane);
        c.order.push_back(schedule.take(lane));
        schedule.finish(c.order.back());
    }
}

}  // namespace kinetograph::graph
