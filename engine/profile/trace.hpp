// Traces: what a recorder holds as Chrome trace events, which ui.perfetto.dev and chrome://tracing open, and back.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

#include <filesystem>
#include <map>
#include <string>

namespace kinetograph::profile {

/// Facts about a run: "device", "commit", "command" and the like.
using TraceFacts = std::map<std::string, std::string>;

/// JSON text, times in microseconds from the earliest event: one thread a track, named; one complete event a span; an
/// arrow where one lane waited for another, also between graphs; counters, among them what is in use of every arena; of
/// every frame an instant when it was shown and slices for the parts of its latency; `facts`, clocks, plans and the
/// number of spans that were overwritten before beside the events.
std::string to_chrome_trace(const Recorder& recorder, const TraceFacts& facts = {});

/// Writes that text beside `path` and renames it into place. Errors: Io naming the path.
Result<void> write_chrome_trace(const std::filesystem::path& path, const Recorder& recorder,
                                const TraceFacts& facts = {});

struct TraceFile {
    std::unique_ptr<Recorder> recorder;  ///< holds the spans, frames, waits and plans of the trace
    TraceFacts facts;
    std::uint64_t missed_spans = 0;  ///< overwritten in the recorder before the trace was written
};

/// Reads what write_chrome_trace() has written; of other programs' traces the complete events and counters. Errors:
/// NotFound, Corrupt (not a trace), naming the path.
Result<TraceFile> read_chrome_trace(const std::filesystem::path& path);

}  // namespace kinetograph::profile
