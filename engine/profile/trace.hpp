// Trace export: spans as Chrome trace events, which chrome://tracing and ui.perfetto.dev open.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

#include <filesystem>
#include <span>

namespace kinetograph::profile {

/// JSON text: one thread a track, named; one complete event a span, in microseconds from the earliest span.
std::string to_chrome_trace(std::span<const Span> spans);

/// Writes that text beside `path` and renames it into place. Errors: Io naming the path.
Result<void> write_chrome_trace(const std::filesystem::path& path, std::span<const Span> spans);

}  // namespace kinetograph::profile
