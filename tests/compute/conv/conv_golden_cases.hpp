// The stored convolutions (tests/golden/README.md) through a back end of any device.
#pragma once

#include <kinetograph/tests/compute/conv/conv_properties.hpp>

namespace kinetograph::conv {

/// Runs every stored case that the back end does not decline, checks it against that page's limits, and returns how
/// many of the 29 ran.
int expect_golden_cases(accel::Device& device, const Combination& combination);

}  // namespace kinetograph::conv
