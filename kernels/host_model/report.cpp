#include <kinetograph/kernels/host_model/machine.hpp>
#include <string_view>

namespace kinetograph::host_model {
namespace {

std::string number(uint64_t value) { return std::to_string(value); }

/// "lanes 0-3, 7": the lanes of a warp that wait for the same thing.
std::string describe_lanes(const std::vector<uint32_t>& lanes) {
    std::string text;
    for (size_t i = 0; i < lanes.size();) {
        size_t last = i;
        while (last + 1 < lanes.size() && lanes[last + 1] == lanes[last] + 1) ++last;
        if (!text.empty()) text += ", ";
        text += number(lanes[i]);
        if (last > i) text.append("-").append(number(lanes[last]));
        i = last + 1;
    }
    return (lanes.size() == 1 ? "lane " : "lanes ") + text;
}

void describe_waiting(const Cta& cta, std::string& text) {
    for (uint32_t warp = 0; warp < cta.warps.size(); ++warp) {
        std::map<std::string, std::vector<uint32_t>> waits;
        for (uint32_t lane = 0; lane < 32; ++lane) {
            const Lane& thread = *cta.lanes[warp * 32 + lane];
            if (!thread.fiber || !thread.waits_for) continue;
            waits[describe(thread.blocked_at) + ": " + thread.waits_for()].push_back(lane);
        }
        for (const auto& [wait, lanes] : waits) {
            text += "\n  " + describe(cta.block) + " warp " + number(warp) + " " + describe_lanes(lanes) + ", " + wait;
        }
    }
}

}  // namespace

std::string describe(const Dim3& block) {
    return "CTA (" + number(block.x) + "," + number(block.y) + "," + number(block.z) + ")";
}

std::string describe(const Who& who) {
    return describe(who.block) + " warp " + number(who.thread / 32) + " lane " + number(who.thread % 32);
}

std::string describe(const Instruction& at) {
    std::string_view file = at.site.file;
    file.remove_prefix(file.find_last_of('/') + 1);
    return std::string(at.name) + " at " + std::string(file) + ":" + number(at.site.line);
}

std::string describe_place(const Cta& cta, uint32_t offset) {
    return describe(cta.block) + " shared+" + number(offset);
}

std::string describe_wait(const MBarrier& barrier, int64_t phase) {
    std::string text = "phase " + std::to_string(phase) + " (parity " + std::to_string(phase & 1) +
                       ") of the barrier at " + describe_place(*barrier.cta, barrier.offset) + " (" +
                       describe(barrier.init_at) + ")";
    if (phase != barrier.phase) return text;
    text += " misses " + number(barrier.pending) + " of " + number(barrier.count) + " arrivals";
    if (barrier.bytes > 0) {
        text += " and " + std::to_string(barrier.bytes) + " of " + number(barrier.expected_bytes) + " expected bytes";
    } else if (barrier.bytes < 0) {
        text += " and has received " + std::to_string(-barrier.bytes) + " bytes that were not announced";
    }
    return text;
}

std::string describe_deadlock(const std::vector<std::unique_ptr<Cluster>>& clusters) {
    std::string text = "deadlock: every thread waits and nothing asynchronous is under way";
    for (const auto& cluster : clusters) {
        for (const auto& cta : cluster->ctas) describe_waiting(*cta, text);
    }
    return text;
}

}  // namespace kinetograph::host_model
