// Launches of the SM100 convolution kernels: an entry point that this build carries, and its parameters.
#pragma once

#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_choice.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_launch.hpp>

namespace kinetograph::conv::cuda {

/// Behind the sum of one launch.
struct Sm100Epilogue {
    const float* bias = nullptr;  ///< [c_out] or null
    float beta = 0;               ///< of a residual source
};

/// An entry of kConv2dEntries, loaded. Its function has no members, so ChannelSums is none.
class Sm100Kernel {
  public:
    /// Errors: Unsupported (no code for SM100 in this build, a null entry, which none is built for), those of
    /// Kernels::get.
    static Result<Sm100Kernel> create(const std::shared_ptr<Kernels>& kernels, const sm100::Conv2dEntry* entry);

    const sm100::Conv2dConfig& config() const { return entry_->config; }
    std::string_view name() const { return entry_->name; }

    /// Encodes the tensor maps and enqueues; nothing for an empty launch. Errors: those of encoding a tensor map (an
    /// address that is not a multiple of 16), naming the pass.
    Result<void> enqueue(accel::Stream& stream, std::string_view pass_name, const sm100::Conv2dLaunch& launch,
                         const Sm100Epilogue& epilogue) const;

  private:
    const sm100::Conv2dEntry* entry_ = nullptr;
    std::shared_ptr<accel::Kernel> kernel_;
    std::shared_ptr<Kernels> kernels_;
};

/// The entry of that name; null where none is built.
const sm100::Conv2dEntry* find_entry(std::string_view name);

/// The fat binary that holds an entry: each of kernels/cuda/sm100/conv2d_*.cu makes one.
std::string_view binary_of(const sm100::Conv2dEntry& entry);

/// What estimates need to know of the device.
sm100::ChipRates sm100_rates(const accel::DeviceInfo& device);

}  // namespace kinetograph::conv::cuda
