// What a pass sees while it executes: the physical side of exactly those resources that its setup declared.
#pragma once

#include <kinetograph/engine/graph/handles.hpp>

#include <cassert>
#include <cstdint>
#include <span>

namespace kinetograph::graph {

/// One execution's view of a history: `slots` values of `value_bytes` each, used as a ring.
/// Values are numbered from the execution's point of view: 0 ... push-1 are pushed now, -1 is the newest kept value,
/// -keep the oldest. Values that were never pushed since the last reset read as zeros.
struct RingView {
    Physical storage;
    std::uint64_t value_bytes = 0;
    std::uint32_t slots = 0;
    std::uint32_t first = 0;           ///< slot of value 0
    std::uint32_t keep = 0, push = 0;  ///< as imported

    /// Address of value `index`, for kernels and for the host; `index` in [-keep, push).
    std::byte* address_of(std::int32_t index) const { return storage.address() - storage.offset + offset_of(index); }
    /// Byte offset of value `index` from storage.object; `index` in [-keep, push).
    std::uint64_t offset_of(std::int32_t index) const {
        assert(index >= -static_cast<std::int64_t>(keep) && index < static_cast<std::int64_t>(push));
        const auto slot = static_cast<std::uint32_t>(static_cast<std::int64_t>(first) + index + slots) % slots;
        return storage.offset + slot * value_bytes;
    }
};

/// Base of the contexts that lanes hand to passes: accel::PassContext, vulkan::PassContext, graph::HostContext.
/// Asking for a resource or a version that the pass did not declare is our own mistake and asserts.
class PassContext {
  public:
    struct Entry {
        std::uint32_t resource = kNoIndex;
        std::uint32_t read_version = kNoIndex;     ///< kNoIndex: the pass does not read it
        std::uint32_t written_version = kNoIndex;  ///< kNoIndex: the pass does not write it
        Physical physical;
        RingView ring{};  ///< histories only
    };
    PassContext(std::string_view pass_name, std::uint64_t execution, std::span<const Entry> entries)
        : pass_name_(pass_name), execution_(execution), entries_(entries) {}
    PassContext(const PassContext&) = delete;
    PassContext& operator=(const PassContext&) = delete;

    std::string_view pass_name() const { return pass_name_; }
    std::uint64_t execution() const { return execution_; }  ///< counts from 0 over the executor's life
    const Physical& physical(Buffer buffer) const { return entry(buffer.resource(), buffer.version()).physical; }
    const Physical& physical(Image image) const { return entry(image.resource(), image.version()).physical; }
    const RingView& ring(History history) const { return entry(history.resource(), history.version()).ring; }

  protected:
    ~PassContext() = default;

  private:
    const Entry& entry(std::uint32_t resource, std::uint32_t version) const;
    std::string_view pass_name_;
    std::uint64_t execution_;
    std::span<const Entry> entries_;
};

/// Context of passes on Lane::Host: addresses of the host.
class HostContext final : public PassContext {
  public:
    static constexpr bool serves(Lane lane) { return lane == Lane::Host; }
    using PassContext::PassContext;
    std::byte* address(Buffer buffer) const { return physical(buffer).host_address(); }
};

}  // namespace kinetograph::graph
