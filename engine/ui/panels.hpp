// The panels of ours, one function each; every one works alone in an application's own PanelHost.
#pragma once

#include <kinetograph/engine/ui/panel.hpp>

namespace kinetograph::ui {

/// "Passes": a table of every pass with percentiles, rates and what runs it; headers sort, the box filters, a click
/// selects. Of the selected pass: its history, its histogram, and why dispatch chose its kernel.
std::unique_ptr<Panel> make_passes_panel();
/// "Timeline": every track on one axis. The wheel zooms from ten seconds to a microsecond, dragging pans, F follows the
/// newest spans again. Arrows are waits; of the selected pass, lines to what it needs and what needs it; the critical
/// path of a step is underlined; idle gaps say what they wait for.
std::unique_ptr<Panel> make_timeline_panel();
/// "Pacing": frame times with percentiles and lows, where a frame's time goes, and the frames that came late.
std::unique_ptr<Panel> make_pacing_panel();
/// "Memory": the arenas of a plan over its passes with aliasing, what is persistent, and the application's figures.
std::unique_ptr<Panel> make_memory_panel();
/// "Graph": passes, what they need of each other, and waits, lane by lane; what was culled.
std::unique_ptr<Panel> make_graph_panel();
/// "Spikes": steps that took too long, pass by pass against the median; and two captures, pass by pass.
std::unique_ptr<Panel> make_spikes_panel();

}  // namespace kinetograph::ui
