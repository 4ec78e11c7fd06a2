#include "plan_checker.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>

namespace kinetograph::graph {

namespace {

constexpr std::uint32_t kExecutions = 3;

/// A row of bits per row: what has happened before what.
class BitMatrix {
  public:
    explicit BitMatrix(std::size_t size) : words_((size + 63) / 64), bits_(size * words_) {}
    bool at(std::size_t row, std::size_t column) const {
        return (bits_[row * words_ + column / 64] >> column % 64 & 1U) != 0;
    }
    void set(std::size_t row, std::size_t column) {
        bits_[row * words_ + column / 64] |= std::uint64_t{1} << column % 64;
    }
    void add_row(std::size_t row, std::size_t other) {
        for (std::size_t w = 0; w < words_; ++w) bits_[row * words_ + w] |= bits_[other * words_ + w];
    }

  private:
    std::size_t words_;
    std::vector<std::uint64_t> bits_;
};

std::uint16_t mask_of(Access access) { return static_cast<std::uint16_t>(1U << static_cast<unsigned>(access)); }

/// One access by one pass in one execution; or the layout change that barriers in front of a pass make.
struct Touch {
    std::uint32_t execution = 0;
    std::uint32_t position = 0;
    std::uint32_t resource = 0;
    bool layout_change = false;
    bool write = false;
    std::uint16_t kinds = 0;  ///< one bit; of a layout change: the accesses that it comes before
    std::uint16_t after = 0;  ///< of a layout change: the accesses that it comes after
};

class Checker {
  public:
    Checker(const FrameGraph& frame, const Plan& plan, bool first_only)
        : frame_(frame), plan_(plan), first_only_(first_only) {}

    std::vector<std::string> run() {
        if (!check_structure()) return problems_;
        check_contents();
        order_batches();
        for (std::uint32_t r = 0; r < frame_.resources().size() && !done(); ++r) {
            if (frame_.resources()[r].kind == ResourceKind::Imported) check_group(touches_of(r, kExecutions));
            if (frame_.resources()[r].type == ResourceType::Image) check_layouts(r);
        }
        for (MemoryDomain domain : kDomains) check_arena(domain);
        return problems_;
    }

  private:
    template <class... Args>
    void report(fmt::format_string<Args...> format, Args&&... args) {
        if (!done()) problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
    }
    bool done() const { return first_only_ && !problems_.empty(); }

    const PassNode& node(std::uint32_t position) const { return frame_.passes()[plan_.passes[position].pass]; }

    bool check_structure() {
        batch_of_.assign(plan_.passes.size(), kNoIndex);
        position_of_.assign(frame_.passes().size(), kNoIndex);
        std::array<std::uint32_t, kMaxLanes> on_lane{};
        std::uint32_t expected = 0;
        for (std::uint32_t b = 0; b < plan_.batches.size(); ++b) {
            const Batch& batch = plan_.batches[b];
            const auto lane = batch.lane.index();
            if (batch.ordinal != on_lane[lane]++) report("batch {} is out of order on its lane", b);
            for (const Wait& wait : batch.waits)
                if (wait.executions_ago == 0 && wait.batch >= on_lane[wait.lane.index()])
                    report("batch {} waits for a batch that is submitted after it", b);
            for (std::uint32_t position : batch.passes) {
                if (position != expected++) report("batch {} does not take the passes in order", b);
                if (position >= plan_.passes.size()) return false;
                if (node(position).lane != batch.lane) report("\"{}\" is on another lane's batch", node(position).name);
                batch_of_[position] = b;
                if (position_of_[plan_.passes[position].pass] != kNoIndex) report("pass {} runs twice", position);
                position_of_[plan_.passes[position].pass] = position;
            }
        }
        if (on_lane != plan_.batches_on_lane) report("batches_on_lane does not count the batches");
        if (expected != plan_.passes.size()) report("{} passes are in no batch", plan_.passes.size() - expected);
        return problems_.empty();
    }

    /// Outputs are made, and every version that is read or written on is made before.
    void check_contents() {
        for (std::uint32_t p = 0; p < frame_.passes().size(); ++p) {
            const PassNode& pass = frame_.passes()[p];
            bool output = pass.side_effect;
            for (const AccessNode& access : pass.accesses) {
                const ResourceNode& resource = frame_.resources()[access.resource];
                output |= is_write(access.access) && resource.exported && access.version <= resource.exported_version;
            }
            if (output && position_of_[p] == kNoIndex) report("\"{}\" makes an output but is culled", pass.name);
            if (position_of_[p] == kNoIndex) continue;
            for (const AccessNode& access : pass.accesses) check_version(p, access);
        }
    }

    void check_version(std::uint32_t p, const AccessNode& access) {
        const ResourceNode& resource = frame_.resources()[access.resource];
        const auto must_follow = [&](std::uint32_t version) {
            const std::uint32_t writer = resource.writer_of[version];
            if (writer == kNoIndex || writer == p) return;
            if (position_of_[writer] == kNoIndex || position_of_[writer] > position_of_[p])
                report("\"{}\" needs \"{}\" version {} before it is made", frame_.passes()[p].name, resource.name,
                       version);
        };
        if (is_write(access.access)) {
            must_follow(access.version - 1);
            return;
        }
        must_follow(access.version);
        if (access.version == resource.newest_version) return;
        const std::uint32_t next = resource.writer_of[access.version + 1];
        if (next != p && position_of_[next] < position_of_[p])
            report("\"{}\" reads \"{}\" version {} after it is overwritten", frame_.passes()[p].name, resource.name,
                   access.version);
    }

    /// complete_: row (execution, batch) holds the batches that are complete when it starts.
    void order_batches() {
        const std::size_t count = plan_.batches.size();
        std::array<std::vector<std::uint32_t>, kMaxLanes> on_lane;
        for (std::uint32_t b = 0; b < count; ++b) on_lane[plan_.batches[b].lane.index()].push_back(b);
        complete_.emplace(count * kExecutions);
        for (std::uint32_t k = 0; k < kExecutions; ++k)
            for (std::uint32_t b = 0; b < count; ++b) {
                const Batch& batch = plan_.batches[b];
                const auto& lane = on_lane[batch.lane.index()];
                const std::size_t row = k * count + b;
                if (batch.ordinal > 0)
                    complete_->add_row(row, k * count + lane[batch.ordinal - 1]);
                else if (k > 0)
                    complete_->add_row(row, (k - 1) * count + lane.back());
                for (const Wait& wait : batch.waits) {
                    if (wait.executions_ago > k) continue;
                    const auto& source = on_lane[wait.lane.index()];
                    const std::uint32_t then = k - wait.executions_ago;
                    complete_->add_row(row, then * count + source[wait.batch]);
                    for (std::uint32_t earlier = 0; earlier <= then; ++earlier)
                        for (std::uint32_t other : source)
                            if (earlier < then || plan_.batches[other].ordinal <= wait.batch)
                                complete_->set(row, earlier * count + other);
                }
            }
    }

    std::vector<Touch> touches_of(std::uint32_t r, std::uint32_t executions) const {
        const ResourceNode& resource = frame_.resources()[r];
        std::vector<Touch> touches;
        for (std::uint32_t k = 0; k < executions; ++k) {
            bool first_barrier = true;
            for (std::uint32_t position = 0; position < plan_.passes.size(); ++position) {
                if (resource.type == ResourceType::Image) {
                    Touch change{.execution = k, .position = position, .resource = r, .layout_change = true};
                    if (layout_change(r, position, first_barrier, change)) touches.push_back(change);
                }
                for (const bool write : {false, true})
                    for (const AccessNode& access : node(position).accesses)
                        if (access.resource == r && is_write(access.access) == write)
                            touches.push_back({.execution = k,
                                               .position = position,
                                               .resource = r,
                                               .write = write,
                                               .kinds = mask_of(access.access)});
            }
        }
        return touches;
    }

    /// All barriers of one image in front of one pass are one change of layout, or none.
    bool layout_change(std::uint32_t r, std::uint32_t position, bool& first, Touch& change) const {
        bool any = false, changes = false;
        for (const Barrier& barrier : plan_.passes[position].barriers) {
            if (barrier.resource != r) continue;
            any = true;
            changes |= barrier.discard || layout_of(barrier.before) != layout_of(barrier.after);
            if (plan_.batches[batch_of_[position]].lane == barrier.from) change.after |= mask_of(barrier.before);
            change.kinds |= mask_of(barrier.after);
        }
        change.write = true;
        const bool unknown = first && frame_.resources()[r].kind == ResourceKind::Imported;
        if (any) first = false;
        return changes || (any && unknown);
    }

    bool same_bytes(const Touch& a, const Touch& b) const {
        const ResourceNode& resource = frame_.resources()[a.resource];
        if (resource.kind == ResourceKind::Transient && a.resource != b.resource)
            return share_bytes(a.resource, b.resource);
        return true;
    }

    bool share_bytes(std::uint32_t a, std::uint32_t b) const {
        const PlannedResource &first = plan_.resources[a], &second = plan_.resources[b];
        return first.offset < second.offset + second.bytes && second.offset < first.offset + first.bytes;
    }

    Lane lane_of(const Touch& touch) const { return plan_.batches[batch_of_[touch.position]].lane; }

    bool waited_for(const Touch& a, const Touch& b) const {
        const std::size_t count = plan_.batches.size();
        return complete_->at(b.execution * count + batch_of_[b.position], a.execution * count + batch_of_[a.position]);
    }

    /// A barrier at `position` of some execution comes after `a` and before `b`, or right at `b`.
    static bool between(const Touch& a, const Touch& b, std::uint32_t position) {
        if (a.execution == b.execution) return a.position < position && position <= b.position;
        if (a.execution + 1 < b.execution) return true;
        return a.position < position || position <= b.position;
    }

    bool fenced(const Touch& a, const Touch& b) const {
        if (lane_of(a) != lane_of(b)) return false;
        if (a.layout_change && a.resource == b.resource && (a.kinds & b.kinds) != 0 && !b.layout_change) return true;
        if (a.execution == b.execution && a.position == b.position) return false;
        if (b.layout_change && a.resource == b.resource && (b.after & a.kinds) != 0) return true;
        for (std::uint32_t position = 0; position < plan_.passes.size(); ++position) {
            if (!between(a, b, position) || node(position).lane != lane_of(a)) continue;
            for (const Barrier& barrier : plan_.passes[position].barriers) {
                if ((mask_of(barrier.before) & a.kinds) == 0 || (mask_of(barrier.after) & b.kinds) == 0) continue;
                const bool takes_over = barrier.aliased == b.resource && share_bytes(a.resource, b.resource);
                const bool same = barrier.resource == a.resource && a.resource == b.resource;
                if (takes_over || (same && barrier.from == lane_of(a))) return true;
            }
        }
        return false;
    }

    std::string tell(const Touch& touch) const {
        return fmt::format("\"{}\" of execution {} ({} \"{}\")", plan_.passes[touch.position].name, touch.execution,
                           touch.layout_change ? "changes the layout of"
                           : touch.write       ? "writes"
                                               : "reads",
                           frame_.resources()[touch.resource].name);
    }

    /// `touches` in submission order; nothing can happen before what was submitted earlier.
    void check_group(const std::vector<Touch>& touches) {
        BitMatrix visible(touches.size()), started_after(touches.size());
        for (std::size_t b = 0; b < touches.size() && !done(); ++b) {
            for (std::size_t a = 0; a < b; ++a) {
                const Touch &first = touches[a], &second = touches[b];
                if (waited_for(first, second) || fenced(first, second)) {
                    visible.set(b, a);
                    visible.add_row(b, a);
                    started_after.set(b, a);
                    started_after.add_row(b, a);
                }
                const bool one_pass = first.execution == second.execution && first.position == second.position &&
                                      first.resource == second.resource;
                if (one_pass && !first.write && second.write) {
                    started_after.set(b, a);
                    started_after.add_row(b, a);
                }
            }
            for (std::size_t a = 0; a < b; ++a) {
                const Touch &first = touches[a], &second = touches[b];
                if ((!first.write && !second.write) || !same_bytes(first, second)) continue;
                const bool apart = first.write ? visible.at(b, a) : started_after.at(b, a);
                if (!apart) report("nothing keeps {} apart from {}", tell(first), tell(second));
            }
        }
    }

    void check_arena(MemoryDomain domain) {
        std::vector<Touch> touches;
        std::vector<std::uint32_t> members;
        for (std::uint32_t r = 0; r < frame_.resources().size(); ++r) {
            const PlannedResource& planned = plan_.resources[r];
            if (planned.kind != ResourceKind::Transient || planned.domain != domain || planned.culled) continue;
            const ResourceNode& resource = frame_.resources()[r];
            if (planned.offset % resource.alignment != 0) report("\"{}\" is not aligned", planned.name);
            if (planned.offset + planned.bytes > plan_.arena_bytes[domain.index()])
                report("\"{}\" reaches beyond its arena", planned.name);
            members.push_back(r);
            const auto own = touches_of(r, kExecutions);
            touches.insert(touches.end(), own.begin(), own.end());
        }
        for (std::uint32_t a : members)
            for (std::uint32_t b : members)
                if (a < b && share_bytes(a, b)) check_taking_turns(a, b);
        std::stable_sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) {
            return std::tie(a.execution, a.position) < std::tie(b.execution, b.position);
        });
        check_group(touches);
    }

    /// Contents survive from the first access to the last; those of an export until the end.
    void check_taking_turns(std::uint32_t a, std::uint32_t b) {
        const auto extent = [&](std::uint32_t r) {
            std::pair<std::uint32_t, std::uint32_t> positions{kNoIndex, 0};
            for (const Touch& touch : touches_of(r, 1)) {
                positions.first = std::min(positions.first, touch.position);
                positions.second = std::max(positions.second, touch.position);
            }
            if (frame_.resources()[r].exported) positions.second = kNoIndex;
            return positions;
        };
        const auto [first_a, last_a] = extent(a);
        const auto [first_b, last_b] = extent(b);
        if (first_a <= last_b && first_b <= last_a)
            report("\"{}\" and \"{}\" hold contents in the same bytes at the same time", frame_.resources()[a].name,
                   frame_.resources()[b].name);
    }

    void check_layouts(std::uint32_t r) {
        const bool imported = frame_.resources()[r].kind == ResourceKind::Imported;
        std::optional<ImageLayout> layout;
        for (std::uint32_t position = 0; position < plan_.passes.size(); ++position) {
            std::optional<ImageLayout> next;
            for (const Barrier& barrier : plan_.passes[position].barriers) {
                if (barrier.resource != r) continue;
                if (barrier.discard == layout.has_value() && !imported)
                    report("\"{}\" changes \"{}\" from a layout that it does not have", node(position).name,
                           frame_.resources()[r].name);
                if (layout && layout_of(barrier.before) != *layout)
                    report("\"{}\" is not in the layout of {}", frame_.resources()[r].name, to_string(barrier.before));
                next = layout_of(barrier.after);
            }
            if (next) layout = next;
            for (const AccessNode& access : node(position).accesses)
                if (access.resource == r && layout != layout_of(access.access))
                    report("\"{}\" does not find \"{}\" in the layout for {}", node(position).name,
                           frame_.resources()[r].name, to_string(access.access));
        }
    }

    const FrameGraph& frame_;
    const Plan& plan_;
    bool first_only_;
    std::vector<std::string> problems_;
    std::vector<std::uint32_t> batch_of_;     ///< [position] -> index into Plan::batches
    std::vector<std::uint32_t> position_of_;  ///< [pass]
    std::optional<BitMatrix> complete_;
};

}  // namespace

std::vector<std::string> check_plan(const FrameGraph& frame, const Plan& plan, bool first_only) {
    return Checker(frame, plan, first_only).run();
}

}  // namespace kinetograph::graph
