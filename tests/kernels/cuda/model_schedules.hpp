// How often a convolution runs on the host model, each time with other moments at which asynchronous work lands.
#pragma once

#include <cstdint>

namespace kinetograph::host_model {

// Late, early and mixed landing. What the address sanitizer looks for does not depend on the schedule.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr uint64_t kSchedules = 1;
#else
inline constexpr uint64_t kSchedules = 3;
#endif

}  // namespace kinetograph::host_model
