// Arenas and rings out of operator new, for tests that execute plans on the host.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace kinetograph::graph {

class HostMemory final : public MemoryBackend {
  public:
    std::uint64_t bytes_now = 0;              ///< of arenas that are alive
    std::uint64_t limit = ~std::uint64_t{0};  ///< beyond this many bytes realize() is refused
    std::size_t rings_now = 0;

    Result<std::unique_ptr<PlanMemory>> realize(const Plan& plan, MemoryDomain domain) override {
        const std::uint64_t bytes = plan.arena_bytes[domain.index()];
        if (bytes_now + bytes > limit)
            return fail(ErrorCode::OutOfMemory, "arena of {} bytes refused, {} of {} in use", bytes, bytes_now, limit);
        return std::unique_ptr<PlanMemory>(new Arena(*this, plan, bytes));
    }
    Result<Physical> create_ring(std::string_view, std::uint64_t bytes) override {
        auto* ring = new std::byte[bytes];
        std::fill_n(ring, bytes, std::byte{0xcd});
        ++rings_now;
        return Physical{.object = reinterpret_cast<std::uintptr_t>(ring), .bytes = bytes};
    }
    void destroy_ring(const Physical& ring) override {
        delete[] reinterpret_cast<std::byte*>(ring.object);
        --rings_now;
    }
    Result<void> zero(const Physical& ring) override {
        std::fill_n(reinterpret_cast<std::byte*>(ring.object), ring.bytes, std::byte{0});
        return {};
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
