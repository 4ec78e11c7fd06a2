#include <kinetograph/engine/profile/statistics.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace kinetograph::profile {
namespace {

using PassKey = std::pair<std::string_view, std::string_view>;  // name, track

}  // namespace

/// One sweep over all begins and ends. `given` is what a stretch would have got that had run since the first edge: a
/// stretch gets the difference between its end and its begin.
std::vector<double> owned_nanoseconds(std::span<const Window> stretches) {
    struct Edge {
        Nanoseconds time;
        std::size_t stretch;
        bool begins;
    };
    std::vector<Edge> edges;
    edges.reserve(2 * stretches.size());
    for (std::size_t i = 0; i < stretches.size(); ++i) {
        edges.push_back({stretches[i].begin, i, true});
        edges.push_back({stretches[i].end, i, false});
    }
    std::ranges::sort(edges, {}, [](const Edge& edge) { return std::pair(edge.time, !edge.begins); });
    std::vector<double> owned(stretches.size(), 0.0);
    double given = 0.0;
    std::size_t open = 0;
    Nanoseconds previous{};
    for (const Edge& edge : edges) {
        if (open > 0) given += static_cast<double>((edge.time - previous).count()) / static_cast<double>(open);
        previous = edge.time;
        owned[edge.stretch] += edge.begins ? -given : given;
        edge.begins ? ++open : --open;
    }
    return owned;
}

std::vector<PassStatistics> summarize_passes(std::span<const Span> spans, const Window& window) {
    std::map<PassKey, std::size_t> index;
    std::vector<PassStatistics> passes;
    std::vector<Nanoseconds> last_end;
    std::vector<Window> pieces;
    std::vector<std::size_t> pass_of;  // [piece]
    for (const Span& span : spans) {
        if (span.end < window.begin || span.end > window.end) continue;
        const auto [entry, is_new] = index.try_emplace(PassKey{span.name, span.track}, passes.size());
        if (is_new) {
            passes.push_back({.name = std::string(span.name), .track = std::string(span.track)});
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
            pieces.push_back({begin, span.end});
            pass_of.push_back(entry->second);
        }
    }
    const std::vector<double> owned = owned_nanoseconds(pieces);
    double busy = 0.0;
    for (std::size_t i = 0; i < owned.size(); ++i) {
        passes[pass_of[i]].share += owned[i];
        busy += owned[i];
    }
    for (PassStatistics& pass : passes) {
        pass.average /= static_cast<std::int64_t>(pass.count);
        if (busy > 0.0) pass.share /= busy;
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
            tracks.push_back({std::string(span.track), 0.0});
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
