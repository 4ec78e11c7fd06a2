// The stored convolutions (golden README, section 3) through a back end of any device.
#pragma once

#include <kinetograph/tests/compute/conv/conv_properties.hpp>

namespace kinetograph::conv {

/// Whether the files are there.
bool has_golden_cases();

/// Runs every stored case that the back end does not decline and holds it to the limits of the golden README, section
/// 8; returns how many of the 29.
int expect_golden_cases(accel::Device& device, const Combination& combination);

}  // namespace kinetograph::conv
