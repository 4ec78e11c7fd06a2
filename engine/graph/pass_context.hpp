// What a pass sees while it executes: the physical side of exactly those resources that its setup declared.
#pragma once

#include <kinetograph/engine/graph/handles.hpp>

#include <cassert>
#include <cstdint>
#include <span>

namespace kinetograph::graph {

/// Base of the contexts that lanes hand to passes: accel::PassContext, vulkan::PassContext, graph::HostContext.
/// For a resource or a version that the pass did not declare they throw, which ends the pass with an Error of its lane.
class PassContext {
  public:
    struct Entry {
        std::uint32_t resource = kNoIndex;
        std::uint32_t read_version = kNoIndex;     ///< kNoIndex: the pass does not read it
        std::uint32_t written_version = kNoIndex;  ///< kNoIndex: the pass does not write it
        Physical physical;
    };
    PassContext(std::string_view pass_name, std::uint64_t execution, std::span<const Entry> entries)
        : pass_name_(pass_name), execution_(execution), entries_(entries) {}
    PassContext(const PassContext&) = delete;
    PassContext& operator=(const PassContext&) = delete;

    std::string_view pass_name() const { return pass_name_; }
    std::uint64_t execution() const { return execution_; }  ///< counts from 0 over the executor's life
    const Physical& physical(Buffer buffer) const { return entry(buffer.resource(), buffer.version()).physical; }
    const Physical& physical(Image image) const { return entry(image.resource(), image.version()).physical; }

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
