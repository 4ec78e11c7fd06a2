// A frame graph declared in one line per pass, and a plan's batches, waits and barriers as text, for tests.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

namespace kinetograph::graph {

/// The context of every lane in tests; it only hands out what the pass declared.
class TestContext final : public PassContext {
  public:
    static constexpr bool serves(Lane) { return true; }
    using PassContext::PassContext;
};

inline constexpr std::uint64_t kKiB = 1024;

struct NoData {};

/// Passes in plan order, batches separated by " | ".
inline std::string batches_of(const Plan& plan) {
    std::string text;
    for (const Batch& batch : plan.batches) {
        if (!text.empty()) text += " | ";
        if (batch.passes.empty()) text += "(relay)";
        for (std::size_t i = 0; i < batch.passes.size(); ++i)
            text += (i == 0 ? "" : " ") + plan.passes[batch.passes[i]].name;
    }
    return text;
}

/// Every wait of one execution: "host 0 after accelerator 1", with "of the last execution" for those one execution ago.
inline std::string waits_of(const Plan& plan) {
    std::string text;
    for (const Batch& batch : plan.batches)
        for (const Wait& wait : batch.waits) {
            if (!text.empty()) text += ", ";
            text += fmt::format("{} {} after {} {}{}", to_string(batch.lane), batch.ordinal, to_string(wait.lane),
                                wait.batch, wait.executions_ago == 0 ? "" : " of the last execution");
        }
    return text;
}

/// Every barrier: "b: x kernel_write > kernel_read".
inline std::string barriers_of(const Plan& plan) {
    std::string text;
    for (const PlannedPass& pass : plan.passes)
        for (const Barrier& barrier : pass.barriers) {
            if (!text.empty()) text += ", ";
            const bool aliased = barrier.aliased != kNoIndex;
            const std::string& name = plan.resources[aliased ? barrier.aliased : barrier.resource].name;
            text += fmt::format("{}: {}{} {} > {}{}", pass.name, name, aliased ? " takes over" : "",
                                to_string(barrier.before), to_string(barrier.after), barrier.discard ? " discard" : "");
        }
    return text;
}

/// Declares passes with as few words as a test needs. Accesses are the lane's own: kernel, compute or host.
class Scene {
  public:
    static Access read_access(Lane lane) {
        return lane.is_of_accelerator() ? Access::KernelRead
               : lane == Lane::Host     ? Access::HostRead
               : lane == Lane::Transfer ? Access::TransferRead
                                        : Access::ComputeRead;
    }
    static Access write_access(Lane lane) {
        return lane.is_of_accelerator() ? Access::KernelWrite
               : lane == Lane::Host     ? Access::HostWrite
               : lane == Lane::Transfer ? Access::TransferWrite
                                        : Access::ComputeWrite;
    }

    FrameGraph frame;

    /// A pass that reads `reads`, writes to the existing `writes` (and advances their handles to the next version) and
    /// creates a buffer for each name in `creates`.
    struct Pass {
        std::vector<Buffer> reads = {};
        std::vector<Buffer*> writes = {};
        std::vector<std::string> creates = {};
        bool side_effect = false;
        std::uint64_t bytes = kKiB;
        MemoryDomain domain = MemoryDomain::Shared;
    };
    std::vector<Buffer> pass(std::string_view name, Lane lane, const Pass& pass) {
        std::vector<Buffer> created;
        frame.add_pass<NoData>(
            name, lane,
            [&](PassBuilder& builder, NoData&) {
                for (Buffer buffer : pass.reads) builder.read(buffer, read_access(lane));
                for (Buffer* buffer : pass.writes) *buffer = builder.write(*buffer, write_access(lane));
                for (const std::string& buffer : pass.creates)
                    created.push_back(
                        builder.create(buffer, {.bytes = pass.bytes, .domain = pass.domain}, write_access(lane)));
                if (pass.side_effect) builder.has_side_effect();
            },
            [](const NoData&, TestContext&) {});
        return created;
    }
    /// The common case: one buffer made from others.
    Buffer make(std::string_view name, Lane lane, std::vector<Buffer> reads = {}, std::uint64_t bytes = kKiB) {
        return pass(name, lane, {.reads = std::move(reads), .creates = {std::string(name) + ".out"}, .bytes = bytes})
            .front();
    }
    void consume(std::string_view name, Lane lane, std::vector<Buffer> reads) {
        pass(name, lane, {.reads = std::move(reads), .side_effect = true});
    }
    Buffer import(std::string_view name, MemoryDomain domain = MemoryDomain::Shared) {
        return frame.import_buffer(name, {.bytes = kKiB, .domain = domain}, {.object = 4096, .bytes = kKiB});
    }
};

}  // namespace kinetograph::graph
