// How many clusters of blocks run at once on a CUDA device.
#pragma once

#include <kinetograph/engine/accel/cuda/context.hpp>

namespace kinetograph::accel::cuda {

/// DeviceInfo::resident_clusters, by the driver's occupancy query for an empty kernel whose blocks take all the shared
/// memory of an SM, as those of our clustered kernels nearly do. Loads that kernel as PTX for the call. Zeros where the
/// device has no clusters, or the driver cannot compile PTX or answer.
std::array<std::uint32_t, 3> query_resident_clusters(const Context& context);

}  // namespace kinetograph::accel::cuda
