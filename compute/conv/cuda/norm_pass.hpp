// The RMS norm of a convolution's output as a pass of its own behind it, for kernels whose tiles do not hold all
// channels.
#pragma once

#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

#include <span>

namespace kinetograph::conv::cuda {

class NormPass {
  public:
    /// Of the output of `problem`, whose norm is not None. Errors: those of Kernels::get.
    static Result<NormPass> create(Kernels& kernels, const ConvProblem& problem);

    /// gamma [k] fp32 on the device. Frames [h_out, w_out, k]; an input frame may be its own output.
    void enqueue(accel::Stream& stream, std::string_view pass_name, const ConvProblem& problem, const float* gamma,
                 std::span<std::byte* const> stored, std::span<std::byte* const> normed) const;

  private:
    explicit NormPass(std::shared_ptr<accel::Kernel> kernel) : kernel_(std::move(kernel)) {}
    std::shared_ptr<accel::Kernel> kernel_;
};

}  // namespace kinetograph::conv::cuda
