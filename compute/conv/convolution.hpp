// Convolution: a ConvProblem bound to a device and its parameters, which can be enqueued any number of times.
#pragma once

#include <kinetograph/compute/conv/weights.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/kernels/conv/problem.hpp>
#include <kinetograph/kernels/conv/tensors.hpp>

#include <memory>
#include <span>
#include <string>

namespace kinetograph::conv {

/// Which summation methods dispatch may choose.
enum class Sums : std::uint8_t {
    Exact,  ///< products of the operands as given, summed in float32 and rounded once; the bits of a frame do not
            ///< depend on how many frames a call computes
    Fast,   ///< also Winograd's, whose error is about a quarter larger (Rounding::Operands)
    Int8,   ///< exact; a model's byte layers (nn::ByteLayer) multiply 8-bit integers
};

/// When parameters are packed and uploaded.
enum class Packing : std::uint8_t {
    Now,
    Later,  ///< by Convolution::pack(); until then no parameters are on the device
};

struct ConvOptions {
    std::string_view backend = {};    ///< "candidate" or "candidate:kernel" (dispatch.hpp); empty: the best open one
    Sums sums = Sums::Exact;          ///< used if `backend` is empty
    std::string_view preferred = {};  ///< a candidate to take if it is open, even if another ranks higher
    /// Set if the problem is some rows of this larger convolution: its method is taken, so that the rows get the same
    /// bits.
    const ConvProblem* part_of = nullptr;
    Packing packing = Packing::Now;
};

class Convolution {
  public:
    /// Picks a method, packs the parameters (or takes those that `weights` holds in its layout) and makes everything
    /// that enqueue() needs later. The choice is a function of device and problem. Errors: those of validate();
    /// InvalidArgument (parameter sizes, an unknown back end's name); Unsupported (no method that `sums` allows is
    /// open, or the requested one or that of `part_of` is not; the message lists each with its reason). With
    /// Packing::Later `weights` must outlive pack(); back ends that pack into objects of their own still do so at once,
    /// in host memory.
    static Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem,
                                                       Weights& weights, const ConvOptions& options = {});
    /// The same with its own parameters, which are read only during the call.
    static Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem,
                                                       const ConvParameters& parameters,
                                                       const ConvOptions& options = {});
    virtual ~Convolution() = default;
    Convolution(const Convolution&) = delete;
    Convolution& operator=(const Convolution&) = delete;

    const ConvProblem& problem() const { return problem_; }
    virtual std::string_view backend() const = 0;
    /// Why dispatch took it: the predicted time and the runner-up, where there are any.
    const std::string& reason() const { return reason_; }
    virtual std::uint64_t workspace_bytes() const = 0;
    /// Packs and uploads the parameters. With Packing::Later it must be called before the first enqueue(). Errors:
    /// those of accel::upload.
    virtual Result<void> pack() { return {}; }

    /// Enqueues the convolution as one piece of work named `pass_name`; returns before it is done. The spans of frame
    /// addresses are copied before it returns. The object must live until the stream has completed the call. Errors:
    /// InvalidArgument (a wrong number of frames, a missing workspace), naming the pass.
    Result<void> enqueue(accel::Stream& stream, std::string_view pass_name, const ConvTensors& tensors) const;

  protected:
    explicit Convolution(const ConvProblem& problem) : problem_(problem) {}

  private:
    /// Called with tensors that fit the problem.
    virtual Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                         const ConvTensors& tensors) const = 0;
    ConvProblem problem_;
    std::string reason_;
};

}  // namespace kinetograph::conv
