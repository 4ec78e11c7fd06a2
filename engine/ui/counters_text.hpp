// Counters in one line: those without a device first, then device by device.
#pragma once

#include <kinetograph/engine/ui/panel.hpp>

#include <string>
#include <vector>

namespace kinetograph::ui {

/// "frames waiting 3   NVIDIA H200: clock 1980 MHz   memory in use 3.00 GiB"
std::string counters_text(const PanelContext& context, std::vector<profile::CounterSample> counters);

}  // namespace kinetograph::ui
