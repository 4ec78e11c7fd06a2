// Shares: how many rows of every step each of several devices makes.
#pragma once

#include <kinetograph/compute/vae/bands.hpp>
#include <kinetograph/compute/vae/step_list.hpp>

#include <span>
#include <vector>

namespace kinetograph::vae {

/// A device among which rows are shared.
struct ShareDevice {
    const accel::DeviceInfo* info = nullptr;
    double speed = 1;             ///< multiply-adds a second, of any unit: where its methods predict no times
    double before_attention = 0;  ///< seconds that its attention before the cut takes; 0: not known
};

/// Divides the value at `cut` into rows for the devices, so that the last of them is done as early as can be: the first
/// device also runs the passes before the cut. Times are what the methods of the convolutions predict for the rows that
/// a band computes, or where one predicts none, multiply-adds over speeds. Where there are too few rows for all
/// devices, the last ones have none. Every kind of a clip's steps takes the same rows: what each keeps, the next reads.
std::vector<Rows> share_rows(const StepList& list, std::size_t cut, std::int64_t block, const NetworkDesc& network,
                             std::span<const ShareDevice> devices);

}  // namespace kinetograph::vae
