// Convolution: a ConvProblem bound to a device and its parameters, ready to be enqueued again and again.
#pragma once

#include <kinetograph/compute/conv/problem.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>

#include <memory>
#include <span>

namespace kinetograph::conv {

/// All in host memory, read during create() only.
struct ConvParameters {
    std::span<const float> filter;      ///< [k][c_in / groups][q][r][s], PyTorch's order
    std::span<const float> bias;        ///< [k]; empty if the problem has none
    std::span<const float> gamma = {};  ///< [k] of the norm; empty if the problem has none
};

/// What one call works on. Frames are addressed one by one, so that a causal history ring is read in place and
/// interleaved frames are written where they belong: frame (i, t) is pointer i * d + t (i * d_out + t), a dense
/// [H, W, C] block, 64-byte aligned for best speed. Output frames overlap neither each other nor any input; a residual
/// frame may be the output frame itself.
struct ConvTensors {
    std::span<const std::byte* const> input;     ///< n * d frames [h, w, c_in]
    std::span<std::byte* const> output;          ///< n * d_out frames [h_out, w_out, k]; empty with Norm::Instead
    std::span<const std::byte* const> residual;  ///< n * d_out frames [h_out, w_out, k]; empty without residual
    std::byte* workspace = nullptr;  ///< workspace_bytes(), 64-byte aligned; free again once the stream has passed
    std::span<std::byte* const> normed = {};  ///< n * d_out frames [h_out, w_out, k]; empty without norm
};

struct ConvOptions {
    std::string_view backend = {};  ///< a candidate's name (dispatch.hpp); empty: the first open one
};

class Convolution {
  public:
    /// Picks a candidate, packs the parameters and makes everything that enqueue() needs later.
    /// Errors: those of ConvProblem::validate; InvalidArgument (parameter sizes, an unknown back end's name);
    /// Unsupported (no candidate open, or not the one asked for; the message lists each with its reason).
    static Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem,
                                                       const ConvParameters& parameters,
                                                       const ConvOptions& options = {});
    virtual ~Convolution() = default;
    Convolution(const Convolution&) = delete;
    Convolution& operator=(const Convolution&) = delete;

    const ConvProblem& problem() const { return problem_; }
    virtual std::string_view backend() const = 0;
    virtual std::uint64_t workspace_bytes() const = 0;

    /// Enqueues the convolution as one piece of work named `pass_name`; returns before it is done. The spans of frame
    /// addresses are copied before it returns. The object must live until the stream has passed the call.
    /// Errors: InvalidArgument (a wrong number of frames, a missing workspace), naming the pass.
    Result<void> enqueue(accel::Stream& stream, std::string_view pass_name, const ConvTensors& tensors) const;

    /// The same convolution over `frames` input frames a sample, on the same packed parameters; null where the back end
    /// packs for one number of frames: then create() it anew. Independent of this object's life.
    virtual std::unique_ptr<Convolution> with_frames(std::int64_t frames) const;

  protected:
    explicit Convolution(const ConvProblem& problem) : problem_(problem) {}

  private:
    /// Called with tensors that fit the problem.
    virtual Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                         const ConvTensors& tensors) const = 0;
    ConvProblem problem_;
};

}  // namespace kinetograph::conv
