// The library's panels, one function each; each also works alone in an application's own PanelHost.
#pragma once

#include <kinetograph/engine/ui/panel.hpp>

namespace kinetograph::ui {

/// "Passes": a table of every pass with percentiles, rates and what runs it. Of the selected pass: its history, its
/// histogram, and why dispatch chose its kernel. In the tables of all panels a click on a header sorts, the common
/// filter applies, a click selects, and a pass that was selected elsewhere is scrolled into view.
std::unique_ptr<Panel> make_passes_panel();
/// "Timeline": every track on one axis. The wheel zooms from ten seconds to a microsecond, dragging pans. With the
/// focus, typing F follows the newest spans again and S shows the newest step. Arrows are waits; lines connect the
/// selected pass with what it needs and what needs it; the critical path of a step is underlined; idle gaps say what
/// they wait for.
std::unique_ptr<Panel> make_timeline_panel();
/// "Pacing": frame times with percentiles and lows, where a frame's time goes, and the frames that came late.
std::unique_ptr<Panel> make_pacing_panel();
/// "Memory": a plan's arenas over its passes, with aliasing, its resources, and the application's figures.
std::unique_ptr<Panel> make_memory_panel();
/// "Graph": passes, what they need of each other, and waits, lane by lane; what was culled; and a list of the passes.
std::unique_ptr<Panel> make_graph_panel();
/// "Spikes": steps that took too long, pass by pass against the median; and two captures, pass by pass.
std::unique_ptr<Panel> make_spikes_panel();
/// "Clips": those that share a runner, by the spans of their tracks: steps, late ones, and waits for others' steps.
std::unique_ptr<Panel> make_clips_panel();

}  // namespace kinetograph::ui
