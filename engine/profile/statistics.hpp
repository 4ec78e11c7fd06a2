// Statistics over spans: the cost of each pass, and its share of the busy time.
#pragma once

#include <kinetograph/engine/profile/recorder.hpp>

#include <span>

namespace kinetograph::profile {

/// One pass (name and track) over a window of time.
struct PassStatistics {
    std::string name;
    std::string track;
    std::uint64_t count = 0;  ///< spans that ended in the window
    Nanoseconds last{};
    Nanoseconds average{};
    Nanoseconds max{};
    /// The pass's fraction of the time in which anything ran: while k spans run, each gets 1/k. So overlapping passes
    /// are never counted twice, and the shares of all passes add up to 1.
    double share = 0.0;
};

/// One track's load over a window of time.
struct TrackStatistics {
    std::string track;
    double busy = 0.0;  ///< fraction of the window in which at least one span of this track ran
};

/// A stretch of time on the host axis.
struct Window {
    Nanoseconds begin{}, end{};
    Nanoseconds length() const { return end - begin; }
};

/// Statistics of every pass that ended inside `window`, largest share first. For shares, spans are cut to the window.
std::vector<PassStatistics> summarize_passes(std::span<const Span> spans, const Window& window);

/// [stretch] -> its share of the time: while k stretches run, each gets 1/k.
std::vector<double> owned_nanoseconds(std::span<const Window> stretches);

/// Load of every track that has a span touching `window`, in the order of first appearance.
std::vector<TrackStatistics> summarize_tracks(std::span<const Span> spans, const Window& window);

}  // namespace kinetograph::profile
