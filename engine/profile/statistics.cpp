#include <kinetograph/engine/profile/statistics.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace kinetograph::profile {
namespace {

using PassKey = std::pair<std::string_view, std::string_view>;  // name, track

struct Edge {
    Nanoseconds time;
    std::size_t pass;
    int step;  // +1: a span of the pass begins; -1: it ends
};

/// Sweeps over the edges of all spans: between two neighbouring edges, each running span gets an equal part of the
/// time.
std::vector<double> owned_nanoseconds(std::vector<Edge> edges, std::size_t passes) {
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.time < b.time; });
    std::vector<double> owned(passes, 0.0);
    std::map<std::size_t, int> running;  // pass -> its open spans
    int open = 0;
    Nanoseconds previous{};
    for (const Edge& edge : edges) {
        if (open > 0)
            for (const auto& [pass, count] : running)
                owned[pass] += static_cast<double>((edge.time - previous).count()) * count / open;
        previous = edge.time;
        open += edge.step;
        if ((running[edge.pass] += edge.step) == 0) running.erase(edge.pass);
    }
    return owned;
}

}  // namespace

std::vector<PassStatistics> summarize_passes(std::span<const Span> spans, const Window& window) {
    std::map<PassKey, std::size_t> index;
    std::vector<PassStatistics> passes;
    std::vector<Nanoseconds> last_end;
    std::vector<Edge> edges;
    for (const Span& span : spans) {
        if (span.end < window.begin || span.end > window.end) continue;
        const auto [entry, is_new] = index.try_emplace(PassKey{span.name, span.track}, passes.size());
        if (is_new) {
            passes.push_back({.name = span.name, .track = span.track});
            last_end.push_back(Nanoseconds::min());
        }
        PassStatistics& pass = passes[entry->second];
        const Nanoseconds duration = span.end - span.begin;
        ++pass.count;
        pass.average += duration;
        pass.max = std::max(pass.max, duration);
        if (span.end >= last_end[entry->second]) {
            last_end[entry->second] = span.end;
            pass.last = duration;
        }
        const Nanoseconds begin = std::max(span.begin, window.begin);
        if (begin < span.end) {
            edges.push_back({begin, entry->second, +1});
            edges.push_back({span.end, entry->second, -1});
        }
    }
    const std::vector<double> owned = owned_nanoseconds(std::move(edges), passes.size());
    double busy = 0.0;
    for (const double nanoseconds : owned) busy += nanoseconds;
    for (std::size_t i = 0; i < passes.size(); ++i) {
        passes[i].average /= static_cast<std::int64_t>(passes[i].count);
        passes[i].share = busy > 0.0 ? owned[i] / busy : 0.0;
    }
    std::stable_sort(passes.begin(), passes.end(),
                     [](const PassStatistics& a, const PassStatistics& b) { return a.share > b.share; });
    return passes;
}

std::vector<TrackStatistics> summarize_tracks(std::span<const Span> spans, const Window& window) {
    std::map<std::string_view, std::size_t> index;
    std::vector<TrackStatistics> tracks;
    std::vector<std::vector<Window>> pieces;
    for (const Span& span : spans) {
        const Window piece{std::max(span.begin, window.begin), std::min(span.end, window.end)};
        if (piece.begin > piece.end) continue;
        const auto [entry, is_new] = index.try_emplace(span.track, tracks.size());
        if (is_new) {
            tracks.push_back({span.track, 0.0});
            pieces.emplace_back();
        }
        pieces[entry->second].push_back(piece);
    }
    for (std::size_t i = 0; i < tracks.size(); ++i) {
        std::sort(pieces[i].begin(), pieces[i].end(),
                  [](const Window& a, const Window& b) { return a.begin < b.begin; });
        Nanoseconds busy{}, reached = window.begin;
        for (const Window& piece : pieces[i]) {
            if (piece.end > reached) busy += piece.end - std::max(piece.begin, reached);
            reached = std::max(reached, piece.end);
        }
        if (window.length() > Nanoseconds{})
            tracks[i].busy = static_cast<double>(busy.count()) / static_cast<double>(window.length().count());
    }
    return tracks;
}

}  // namespace kinetograph::profile
