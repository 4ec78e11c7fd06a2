#include <kinetograph/compute/conv/hip/kernels.hpp>

namespace kinetograph::conv::hip {

Result<BoundKernel> BoundKernel::create(const Kernels& kernels, const gfx950::LaunchShape& shape) {
    KG_TRY(auto kernel, kernels.get(shape.object, shape.kernel));
    BoundKernel bound;
    bound.kernel_ = std::move(kernel);
    bound.grid_ = {shape.grid_x, shape.grid_y, shape.grid_z};
    bound.threads_ = shape.threads;
    return bound;
}

}  // namespace kinetograph::conv::hip
