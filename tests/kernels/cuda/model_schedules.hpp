// The number of runs of a convolution on the host model, each with different times at which asynchronous work lands.
#pragma once

#include <cstdint>

namespace kinetograph::host_model {

// Late, early and mixed landing. The address sanitizer's findings do not depend on the schedule.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr uint64_t kSchedules = 1;
#else
inline constexpr uint64_t kSchedules = 3;
#endif

}  // namespace kinetograph::host_model
