#include <kinetograph/engine/interop/shared_memory.hpp>

namespace kinetograph::interop {
namespace {

/// Transients of one plan, placed in an arena that other plans may share.
class SharedSlice final : public graph::PlanMemory {
  public:
    SharedSlice(std::shared_ptr<SharedBuffer> arena, std::vector<graph::Physical> placed)
        : arena_(std::move(arena)), placed_(std::move(placed)) {}
    graph::Physical physical(std::uint32_t resource) const override { return placed_.at(resource); }

  private:
    std::shared_ptr<SharedBuffer> arena_;
    std::vector<graph::Physical> placed_;
};

}  // namespace

SharedMemory::~SharedMemory() = default;

Result<void> SharedMemory::reserve(std::uint64_t arena_bytes) {
    if (arena_ && arena_->bytes() >= arena_bytes) return {};
    KG_TRY(arena_, create_buffer("shared arena", arena_bytes));
    return {};
}

Result<std::unique_ptr<graph::PlanMemory>> SharedMemory::realize(const graph::Plan& plan, graph::MemoryDomain domain) {
    std::vector<graph::Physical> placed(plan.resources.size());
    KG_CHECK(reserve(plan.arena_bytes[domain.index()]));
    for (const graph::PlannedResource& resource : plan.resources) {
        if (resource.kind != graph::ResourceKind::Transient || resource.domain != domain || resource.culled) continue;
        if (resource.type == graph::ResourceType::Image)
            return fail(ErrorCode::Unsupported,
                        "image \"{}\" cannot lie in memory that an accelerator shares: declare a buffer, and copy it "
                        "to an image on a Vulkan lane",
                        resource.name);
        placed[resource.resource] = arena_->physical(resource.offset, resource.bytes);
    }
    return std::make_unique<SharedSlice>(arena_, std::move(placed));
}

}  // namespace kinetograph::interop
