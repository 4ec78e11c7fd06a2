// The figures of a runner and its clips as text for Prometheus.
#pragma once

#include <kinetograph/compute/vae/runner_load.hpp>

#include <string>
#include <string_view>

namespace kinetograph::session {

/// In the text format 0.0.4, each series with the labels `family` and, of a clip, `clip`: its number at the runner.
/// Names are those of python's service where they mean the same.
std::string metrics_text(const vae::RunnerFigures& figures, std::string_view family);

}  // namespace kinetograph::session
