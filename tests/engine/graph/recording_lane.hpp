// A lane that runs nothing and writes down what it is given: "a b after host 2" is the whole expectation.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

#include <fmt/format.h>
#include <string>
#include <vector>

namespace kinetograph::graph {

class RecordingLane final : public LaneBackend {
  public:
    explicit RecordingLane(Lane lane) : lane_(lane) {}

    std::vector<std::string> submitted;
    std::vector<std::uint64_t> waited;      ///< values that the host waited for
    std::size_t fail_in = ~std::size_t{0};  ///< how many more batches are taken before one is refused

    Lane lane() const override { return lane_; }
    Result<void> submit(const BatchRecord& record) override {
        if (fail_in-- == 0) return fail(ErrorCode::DeviceLost, "the device is gone");
        std::string text;
        for (const PassRecord& pass : record.passes) text += (text.empty() ? "" : " ") + pass.planned->name;
        for (const ResolvedWait& wait : record.waits)
            text += fmt::format(" after {} {}", to_string(wait.lane->lane()), wait.value);
        for (const Point& point : record.points) text += fmt::format(" after point {}", point.value);
        submitted.push_back(fmt::format("{}: {}", record.signal, text));
        return {};
    }
    using LaneBackend::wait;
    Result<bool> wait(std::uint64_t value, Nanoseconds) override {
        waited.push_back(value);
        return true;
    }
    std::shared_ptr<Timeline> timeline() const override { return timeline_; }

  private:
    Lane lane_;
    std::shared_ptr<HostTimeline> timeline_ = std::make_shared<HostTimeline>();
};

}  // namespace kinetograph::graph
