#include "shuffled_lanes.hpp"

#include <fmt/format.h>
#include <cstring>
#include <optional>

namespace kinetograph::graph {

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    std::uint64_t mixed = (a ^ (b + 0x9e3779b97f4a7c15U + (a << 6U) + (a >> 2U))) * 0xff51afd7ed558ccdU;
    return mixed ^ mixed >> 33U;
}

std::uint64_t fold(std::string_view text) {
    std::uint64_t result = text.size();
    for (char c : text) result = fold(result, static_cast<std::uint64_t>(c));
    return result;
}

namespace {

/// What a pass writes into `resource`, having seen `seen`.
std::uint64_t written(std::uint64_t seen, std::string_view resource) { return fold(seen, fold(resource)); }

std::uint64_t seen_at_first(std::string_view pass, std::uint64_t execution) { return fold(fold(pass), execution); }

struct Bytes {
    std::uintptr_t address;
    std::uint64_t bytes;

    void fill(std::uint64_t value) const {
        for (std::uint64_t at = 0; at + 8 <= bytes; at += 8)
            std::memcpy(reinterpret_cast<std::byte*>(address + at), &value, 8);
    }
    std::uint64_t word(std::uint64_t at) const {
        std::uint64_t value = 0;
        std::memcpy(&value, reinterpret_cast<const std::byte*>(address + at), 8);
        return value;
    }
    bool torn() const {
        for (std::uint64_t at = 0; at + 8 <= bytes; at += 8)
            if (word(at) != word(0)) return true;
        return false;
    }
};

}  // namespace

struct ShuffledLanes::Job {
    struct Pass {
        PassNode node;
        std::vector<PassContext::Entry> entries;
        std::vector<std::uint64_t> bytes;  ///< [entry]
        std::vector<std::string> names;    ///< [entry]
        std::vector<char> continues;       ///< [entry]: its write goes on from earlier contents
    };
    std::uint64_t execution = 0, signal = 0;
    std::vector<ResolvedWait> waits{};
    std::vector<Pass> passes{};
};

class ShuffledLanes::QueuedLane final : public LaneBackend {
  public:
    QueuedLane(ShuffledLanes& all, Lane lane) : all_(all), lane_(lane) {}
    Lane lane() const override { return lane_; }

    Result<void> submit(const BatchRecord& record) override {
        Job job{.execution = record.execution, .signal = record.signal};
        job.waits.assign(record.waits.begin(), record.waits.end());
        for (const PassRecord& pass : record.passes) {
            Job::Pass& copy = job.passes.emplace_back();
            copy.node = *pass.node;
            for (const PassContext::Entry& entry : pass.entries) {
                const PlannedResource& resource = record.plan->resources[entry.resource];
                copy.entries.push_back(entry);
                // What is a buffer in one graph may be an image in another: they share the first bytes.
                copy.bytes.push_back(resource.kind == ResourceKind::Imported ? 1024 : resource.bytes);
                copy.names.push_back(resource.name);
                copy.continues.push_back(resource.kind != ResourceKind::Transient || entry.written_version > 1);
            }
        }
        queue.push_back(std::move(job));
        return {};
    }
    using LaneBackend::wait;
    Result<bool> wait(std::uint64_t until, Nanoseconds) override {
        while (value < until)
            if (!all_.run_one()) return fail(ErrorCode::Cancelled, "lane {} waits for ever", to_string(lane_));
        return true;
    }
    std::shared_ptr<Timeline> timeline() const override { return timeline_; }
    bool ready() const {
        return !queue.empty() && std::all_of(queue.front().waits.begin(), queue.front().waits.end(), [](auto& wait) {
            return static_cast<QueuedLane*>(wait.lane)->value >= wait.value;
        });
    }

    std::deque<Job> queue;
    std::uint64_t value = 0;

  private:
    ShuffledLanes& all_;
    Lane lane_;
    std::shared_ptr<HostTimeline> timeline_ = std::make_shared<HostTimeline>();
};

ShuffledLanes::ShuffledLanes(std::uint64_t seed) : random_(seed) {
    for (Lane lane : kLanes) lanes_.push_back(std::make_unique<QueuedLane>(*this, lane));
}

ShuffledLanes::~ShuffledLanes() = default;

std::vector<LaneBackend*> ShuffledLanes::lanes() const {
    std::vector<LaneBackend*> lanes;
    for (const auto& lane : lanes_) lanes.push_back(lane.get());
    return lanes;
}

bool ShuffledLanes::run_one() {
    std::vector<QueuedLane*> ready;
    for (const auto& lane : lanes_)
        if (lane->ready()) ready.push_back(lane.get());
    if (ready.empty()) return false;
    QueuedLane& lane = *ready[random_() % ready.size()];
    const Job job = std::move(lane.queue.front());
    lane.queue.pop_front();
    run(job);
    lane.value = job.signal;
    ++ran;
    return true;
}

void ShuffledLanes::run_some(std::size_t batches) {
    while (batches-- > 0 && run_one()) {
    }
}

bool ShuffledLanes::run_all() {
    while (run_one()) {
    }
    return std::all_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->queue.empty(); });
}

void ShuffledLanes::run(const Job& job) {
    for (const Job::Pass& pass : job.passes) {
        const auto read = [&](std::size_t e, std::uintptr_t address) {
            const Bytes bytes{address, pass.bytes[e]};
            if (bytes.torn()) torn.push_back(fmt::format("{} of execution {}", pass.names[e], job.execution));
            return bytes.word(0);
        };
        std::uint64_t seen = seen_at_first(pass.node.name, job.execution);
        for (std::size_t e = 0; e < pass.entries.size(); ++e) {
            const PassContext::Entry& entry = pass.entries[e];
            if (entry.read_version != kNoIndex)
                seen = fold(seen, read(e, entry.physical.object + entry.physical.offset));
        }
        sightings[{job.execution, pass.node.name}] = seen;
        for (std::size_t e = 0; e < pass.entries.size(); ++e) {
            const PassContext::Entry& entry = pass.entries[e];
            if (entry.written_version == kNoIndex) continue;
            const Bytes bytes{entry.physical.object + entry.physical.offset, pass.bytes[e]};
            std::uint64_t value = written(seen, pass.names[e]);
            if (pass.continues[e] != 0) value = fold(value, read(e, bytes.address));
            bytes.fill(value);
        }
    }
}

namespace {

/// One execution followed through its versions.
class Following {
  public:
    Following(const FrameGraph& frame, std::uint64_t execution, const std::map<std::uintptr_t, std::uint64_t>& imports)
        : frame_(frame), execution_(execution), imports_(imports), seen_(frame.passes().size()) {}

    std::uint64_t seen_by(std::uint32_t pass) {
        if (seen_[pass]) return *seen_[pass];
        const PassNode& node = frame_.passes()[pass];
        std::uint64_t seen = seen_at_first(node.name, execution_);
        std::vector<std::uint32_t> order;  // a resource is read where the pass first names it, however often
        for (const AccessNode& access : node.accesses)
            if (std::find(order.begin(), order.end(), access.resource) == order.end()) order.push_back(access.resource);
        for (std::uint32_t resource : order) {
            const auto read = std::find_if(node.accesses.begin(), node.accesses.end(), [&](const AccessNode& access) {
                return access.resource == resource && !is_write(access.access);
            });
            if (read == node.accesses.end()) continue;
            seen = fold(seen, contents(resource, read->version));
        }
        return *(seen_[pass] = seen);
    }

    std::uint64_t contents(std::uint32_t r, std::uint32_t version) {
        const ResourceNode& resource = frame_.resources()[r];
        if (version == 0) return imports_.at(resource.imported.object);
        const std::uint64_t value = written(seen_by(resource.writer_of[version]), resource.name);
        const bool continues = resource.kind != ResourceKind::Transient || version > 1;
        return continues ? fold(value, contents(r, version - 1)) : value;
    }

  private:
    const FrameGraph& frame_;
    std::uint64_t execution_;
    const std::map<std::uintptr_t, std::uint64_t>& imports_;
    std::vector<std::optional<std::uint64_t>> seen_;
};

}  // namespace

void Reference::execute(const FrameGraph& frame, const Plan& plan, std::uint64_t execution, Sightings& sightings) {
    for (const ResourceNode& resource : frame.resources())
        if (resource.kind == ResourceKind::Imported) imports_.try_emplace(resource.imported.object, 0);
    Following following(frame, execution, imports_);
    std::vector<char> runs(frame.passes().size(), 0);
    for (const PlannedPass& pass : plan.passes) {
        runs[pass.pass] = 1;
        sightings[{execution, pass.name}] = following.seen_by(pass.pass);
    }
    auto imports = imports_;
    for (std::uint32_t r = 0; r < frame.resources().size(); ++r) {
        const ResourceNode& resource = frame.resources()[r];
        std::uint32_t version = resource.newest_version;
        while (version > 0 && runs[resource.writer_of[version]] == 0) --version;
        if (resource.kind == ResourceKind::Imported) imports[resource.imported.object] = following.contents(r, version);
    }
    imports_ = std::move(imports);
}

}  // namespace kinetograph::graph
