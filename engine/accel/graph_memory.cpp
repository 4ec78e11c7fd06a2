#include <kinetograph/engine/accel/graph_memory.hpp>

#include <algorithm>

namespace kinetograph::accel {

namespace {

graph::Physical place_in(const Memory& memory, std::uint64_t offset, std::uint64_t bytes) {
    return {.object = reinterpret_cast<std::uintptr_t>(memory.data()),
            .offset = offset,
            .bytes = bytes,
            .host = reinterpret_cast<std::uintptr_t>(memory.host_data())};
}

/// Transients of one plan, placed in an arena that other plans may share.
class ArenaSlice final : public graph::PlanMemory {
  public:
    ArenaSlice(std::shared_ptr<Memory> arena, const graph::Plan& plan, graph::MemoryDomain domain)
        : arena_(std::move(arena)) {
        for (const graph::PlannedResource& resource : plan.resources) {
            const bool here =
                resource.kind == graph::ResourceKind::Transient && resource.domain == domain && !resource.culled;
            placed_.push_back(here ? place_in(*arena_, resource.offset, resource.bytes) : graph::Physical{});
        }
    }
    graph::Physical physical(std::uint32_t resource) const override { return placed_.at(resource); }

  private:
    std::shared_ptr<Memory> arena_;
    std::vector<graph::Physical> placed_;
};

/// Pinned memory of one driver that devices of other drivers have mapped too.
class MappedMemory final : public Memory {
  public:
    MappedMemory(std::unique_ptr<Memory> owner, std::vector<std::unique_ptr<Memory>> mappings)
        : owner_(std::move(owner)), mappings_(std::move(mappings)) {}
    std::byte* data() const override { return owner_->data(); }
    std::byte* host_data() const override { return owner_->host_data(); }
    std::uint64_t bytes() const override { return owner_->bytes(); }

  private:
    std::unique_ptr<Memory> owner_;
    std::vector<std::unique_ptr<Memory>> mappings_;  ///< destroyed first
};

}  // namespace

Result<void> ArenaMemory::reserve(std::uint64_t arena_bytes) {
    if ((arena_ ? arena_->bytes() : 0) >= arena_bytes) return {};
    KG_TRY(arena_, allocate("transient arena", arena_bytes));
    return {};
}

Result<std::unique_ptr<graph::PlanMemory>> ArenaMemory::realize(const graph::Plan& plan, graph::MemoryDomain domain) {
    KG_CHECK(reserve(plan.arena_bytes[domain.index()]));
    return std::make_unique<ArenaSlice>(arena_, plan, domain);
}

/// All devices of a driver address the memory that it has pinned.
Result<std::unique_ptr<Memory>> PinnedMemory::allocate(std::string_view name, std::uint64_t bytes) {
    const Device& first = *devices_.front();
    KG_TRY(auto owner, devices_.front()->allocate_pinned(name, bytes));
    std::vector<std::unique_ptr<Memory>> mappings;
    std::vector<std::string_view> kinds{first.info().kind};
    for (Device* device : devices_) {
        if (std::ranges::find(kinds, device->info().kind) != kinds.end()) continue;
        kinds.push_back(device->info().kind);
        KG_TRY(auto mapping, device->import_host(name, {owner->host_data(), owner->bytes()}));
        if (mapping->data() != owner->data())
            return fail(ErrorCode::Unsupported, "\"{}\": {} and {} do not see pinned memory at one address", name,
                        first.info().name, device->info().name);
        mappings.push_back(std::move(mapping));
    }
    return std::make_unique<MappedMemory>(std::move(owner), std::move(mappings));
}

}  // namespace kinetograph::accel
