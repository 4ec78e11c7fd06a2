// Which plan the panels show: the selection's, or one picked from the list.
#pragma once

#include <kinetograph/engine/ui/panel.hpp>

namespace kinetograph::ui {

/// Draws the list, and returns the plan that is chosen there; null while there is none. Without a choice it is the plan
/// with the most passes.
std::shared_ptr<const profile::PlanFacts> choose_plan(const PanelContext& context);

/// The complete steps of the plan that is selected, or else of the one with the most passes; null while there are none.
const profile::PlanSteps* choose_steps(const PanelContext& context);

}  // namespace kinetograph::ui
