// Student's t: how likely a difference of two means is by chance alone.
#pragma once

namespace kinetograph::profile {

/// The chance of |t| at least as large as this one by Student's distribution with `degrees` > 0 of freedom, which need
/// not be whole: two-sided, within 1e-7.
/// Source: NIST Digital Library of Mathematical Functions 8.17, the incomplete beta function and its continued
/// fraction.
double chance_of_t(double t, double degrees);

}  // namespace kinetograph::profile
