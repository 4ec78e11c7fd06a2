// The graph's accelerator lane and accelerator memory, on any accel::Device.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace kinetograph::accel {

/// What a pass on Lane::Accelerator sees: device addresses of its declared resources and the stream to enqueue on.
class PassContext final : public graph::PassContext {
  public:
    static constexpr bool serves(graph::Lane lane) { return lane == graph::Lane::Accelerator; }
    PassContext(const graph::PassRecord& pass, std::uint64_t execution, Stream& stream)
        : graph::PassContext(pass.planned->name, execution, pass.entries), stream_(stream) {}

    Stream& stream() const { return stream_; }
    std::byte* address(graph::Buffer buffer) const { return at(physical(buffer), physical(buffer).offset); }
    /// Address of value `index` of the ring, in [-keep, push); see graph::RingView.
    std::byte* address(graph::History history, std::int32_t index) const {
        return at(ring(history).storage, ring(history).offset_of(index));
    }

  private:
    static std::byte* at(const graph::Physical& physical, std::uint64_t offset) {
        return reinterpret_cast<std::byte*>(physical.object) + offset;
    }
    Stream& stream_;
};

/// Runs batches of accelerator passes on one stream; every pass becomes a profile span when `recorder` is given.
class AcceleratorLane final : public graph::LaneBackend {
  public:
    static Result<std::unique_ptr<AcceleratorLane>> create(Device& device, profile::Recorder* recorder = nullptr);
    ~AcceleratorLane() override;
    graph::Lane lane() const override { return graph::Lane::Accelerator; }
    Result<void> submit(const graph::BatchRecord& record) override;
    Result<void> wait(std::uint64_t value) override;
    Stream& stream() { return *stream_; }
    const std::shared_ptr<Timeline>& timeline() const { return timeline_; }

  private:
    /// A pass whose events the stream may not have passed yet.
    struct Timed {
        std::string name;
        std::uint64_t execution = 0;
        std::shared_ptr<Event> begin, end;
    };
    AcceleratorLane(Device& device, std::unique_ptr<Stream> stream, std::shared_ptr<Timeline> timeline,
                    profile::Recorder* recorder);
    Result<std::shared_ptr<Event>> take_event();
    void collect_spans();

    Device& device_;
    std::shared_ptr<Timeline> timeline_;
    profile::Recorder* recorder_;
    std::mutex mutex_;  ///< submit() and wait() may come from different threads
    std::deque<Timed> timed_;
    std::vector<std::shared_ptr<Event>> free_events_;
    std::unique_ptr<Stream> stream_;  ///< last: its worker ends before what its tasks refer to
};

/// Arenas and rings out of Device::allocate. Plans of one executor never run unordered, so they share one arena, which
/// is as large as the largest plan realised so far; reserve() that size first and no step ever allocates.
class AcceleratorMemory final : public graph::MemoryBackend {
  public:
    explicit AcceleratorMemory(Device& device);
    ~AcceleratorMemory() override;
    Result<void> reserve(std::uint64_t arena_bytes);
    Result<std::unique_ptr<graph::PlanMemory>> realize(const graph::Plan& plan, graph::MemoryDomain domain) override;
    Result<graph::Physical> create_ring(std::string_view name, std::uint64_t bytes) override;
    void destroy_ring(const graph::Physical& ring) override;
    Result<void> zero(const graph::Physical& ring) override;

  private:
    Device& device_;
    std::shared_ptr<Memory> arena_;  ///< plans realised on a smaller one keep that alive
    std::map<std::uintptr_t, std::unique_ptr<Memory>> rings_;
    std::unique_ptr<Stream> stream_;  ///< fills rings; made when first needed
};

}  // namespace kinetograph::accel
