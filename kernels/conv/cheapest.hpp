#pragma once

#include <iterator>

namespace kinetograph::conv {

/// The choice of least `cost` among those that `fits` accepts, the first of equals; null if it accepts none. A chip's
/// configurations are one array; its cost model gives seconds or clocks.
template <class Choices, class Fits, class Cost>
constexpr auto cheapest(const Choices& choices, const Fits& fits, const Cost& cost) -> decltype(std::data(choices)) {
    decltype(std::data(choices)) best = nullptr;
    decltype(cost(*best)) least{};
    for (const auto& choice : choices) {
        if (!fits(choice)) continue;
        const auto its_cost = cost(choice);
        if (best != nullptr && its_cost >= least) continue;
        best = &choice;
        least = its_cost;
    }
    return best;
}

}  // namespace kinetograph::conv
