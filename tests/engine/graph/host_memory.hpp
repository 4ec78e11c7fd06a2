// Arenas in host memory, for tests that execute plans on the host.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

#include <vector>

namespace kinetograph::graph {

class HostMemory final : public MemoryBackend {
  public:
    std::uint64_t bytes_now = 0;              ///< of arenas that are alive
    std::uint64_t limit = ~std::uint64_t{0};  ///< beyond this many bytes realize() is refused

    Result<std::unique_ptr<PlanMemory>> realize(const Plan& plan, MemoryDomain domain) override {
        const std::uint64_t bytes = plan.arena_bytes[domain.index()];
        if (bytes_now + bytes > limit)
            return fail(ErrorCode::OutOfMemory, "arena of {} bytes refused, {} of {} in use", bytes, bytes_now, limit);
        return std::unique_ptr<PlanMemory>(new Arena(*this, plan, bytes));
    }

  private:
    class Arena final : public PlanMemory {
      public:
        Arena(HostMemory& owner, const Plan& plan, std::uint64_t bytes) : owner_(owner), plan_(plan), bytes_(bytes) {
            owner_.bytes_now += bytes;
        }
        ~Arena() override { owner_.bytes_now -= bytes_.size(); }
        Physical physical(std::uint32_t resource) const override {
            const PlannedResource& planned = plan_.resources[resource];
            return {.object = reinterpret_cast<std::uintptr_t>(bytes_.data()),
                    .offset = planned.offset,
                    .bytes = planned.bytes};
        }

      private:
        HostMemory& owner_;
        const Plan& plan_;
        std::vector<std::byte> bytes_;
    };
};

}  // namespace kinetograph::graph
