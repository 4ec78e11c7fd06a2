#include <kinetograph/engine/ui/counters_text.hpp>

#include <kinetograph/engine/ui/human_units.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace kinetograph::ui {

std::string counters_text(const PanelContext& context, std::vector<profile::CounterSample> counters) {
    std::string text;
    std::ranges::stable_sort(counters, {}, &profile::CounterSample::device);
    profile::NameId device = 0;
    for (const profile::CounterSample& counter : counters) {
        if (!text.empty()) text += "   ";
        if (std::exchange(device, counter.device) != counter.device) text += fmt::format("{}: ", context.text(device));
        text +=
            fmt::format("{} {}", context.text(counter.name), human_value(counter.value, context.text(counter.unit)));
    }
    return text;
}

}  // namespace kinetograph::ui
