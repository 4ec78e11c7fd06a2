// Launches of the gfx950 kernels from their shapes.
#pragma once

#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/launch_shape.hpp>

namespace kinetograph::conv::hip {

/// A loaded kernel with its grid.
class BoundKernel {
  public:
    /// Errors: those of Kernels::get.
    static Result<BoundKernel> create(const Kernels& kernels, const gfx950::LaunchShape& shape);
    template <class Params>
    void launch(accel::Stream& stream, std::string_view pass_name, const Params& params) const {
        stream.launch({pass_name, *kernel_, grid_, {threads_, 1, 1}, {}, 0, accel::bytes_of(params)});
    }

  private:
    std::shared_ptr<accel::Kernel> kernel_;
    accel::Extent3 grid_;
    std::uint32_t threads_ = 0;
};

}  // namespace kinetograph::conv::hip
