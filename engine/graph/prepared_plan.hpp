// PreparedPlan: a plan with its memory and with everything of its records that does not change between executions.
// Internal to the executor.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

namespace kinetograph::graph {

struct PreparedPlan {
    static Result<std::unique_ptr<PreparedPlan>> create(Plan plan, const FrameGraph& frame,
                                                        const std::array<MemoryBackend*, kMaxDomains>& memory);

    /// Puts this execution's imports and pass nodes into the records.
    /// Errors: InvalidArgument (an import without storage or with too little of it).
    Result<void> bind(const FrameGraph& frame);

    /// The plan's waits on its previous execution are found by the names of imports. True when storage that is bound
    /// now was bound under another name since remember_imports(): then those waits do not guard it. For example, two
    /// buffers that swap the names "previous" and "next" after every execution.
    bool imports_changed_names();
    /// Forgets earlier bindings and notes the current ones. Called when every lane waits for all lanes first, so that
    /// nothing uses the earlier ones any more.
    void remember_imports();

    Plan plan;
    std::vector<std::unique_ptr<PlanMemory>> memory;
    std::vector<Physical> resources;            ///< [resource]
    std::vector<PassContext::Entry> entries;    ///< of all passes, in plan order
    std::vector<PassRecord> passes;             ///< [plan position]
    std::vector<std::uint32_t> import_entries;  ///< entries whose storage may differ in every execution
    std::vector<std::uint32_t> imports;         ///< resources
    /// A batch that is the first of its lane to use an import.
    struct FirstUse {
        const Batch* batch = nullptr;
        std::uint32_t import = kNoIndex;
    };
    std::vector<FirstUse> first_uses;                 ///< in the plan's order of batches
    std::vector<const Batch*> last_batches;           ///< [resource], null if no pass uses it
    std::array<std::uint64_t, kMaxLanes> last_use{};  ///< timeline value of its last batch
    std::uint64_t last_execution = 0;

  private:
    void note_uses(const FrameGraph& frame);
    struct Binding {
        std::uint32_t resource = kNoIndex;
        Physical physical{};
    };
    bool share_bytes(const Binding& a, const Binding& b) const;
    const PassNode* nodes_ = nullptr;  ///< the frame's passes that the records point into
    std::vector<Binding> bindings_;    ///< first what is bound now, [i] for imports[i]; then what was bound before
};

}  // namespace kinetograph::graph
