// PreparedPlan: a plan with its memory and with everything of its records that does not change between executions.
// Internal to the executor.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

namespace kinetograph::graph {

struct PreparedPlan {
    static Result<std::unique_ptr<PreparedPlan>> create(Plan plan, const FrameGraph& frame,
                                                        const std::array<MemoryBackend*, kDomainCount>& memory);

    /// Puts this execution's imports, rings and pass nodes into the records.
    /// Errors: InvalidArgument (an import without storage or with too little of it).
    Result<void> bind(const FrameGraph& frame);
    /// The histories that the plan pushes to, moved on by what it pushed.
    template <class Function>
    void for_each_push(const FrameGraph& frame, Function&& move_on) const {
        for (std::uint32_t r : pushed) move_on(*frame.resources()[r].storage, frame.resources()[r].history.push);
    }

    Plan plan;
    std::vector<std::unique_ptr<PlanMemory>> memory;
    std::vector<Physical> resources;                   ///< [resource]
    std::vector<PassContext::Entry> entries;           ///< of all passes, in plan order
    std::vector<PassRecord> passes;                    ///< [plan position]
    std::vector<std::uint32_t> bound_entries;          ///< entries of imports and histories
    std::vector<std::uint32_t> imports, pushed;        ///< resources
    std::array<std::uint64_t, kLaneCount> last_use{};  ///< timeline value of its last batch
    std::uint64_t last_execution = 0;
};

}  // namespace kinetograph::graph
