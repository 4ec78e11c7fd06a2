// Operators: the passes of a decoder besides its convolutions, on whichever device was given.
#pragma once

#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/kernels/conv/operator.hpp>

namespace kinetograph::nn {

/// A problem bound to a device by the plan of one of its methods, which can be enqueued any number of times.
class Operator {
  public:
    const conv::OpProblem& problem() const { return problem_; }
    std::uint64_t workspace_bytes() const { return plan_.workspace_bytes; }
    double seconds() const { return plan_.seconds; }  ///< predicted, for one frame; 0: no model
    /// The method, and why others of the chip do not take the problem: "mma-sm80: wgmma-sm90 wants a head of 72 to 384
    /// channels, a multiple of 8, met 64".
    std::string_view explanation() const { return explanation_; }
    /// Enqueues it as one piece of work named `pass_name`; returns before it is done. The spans are copied. Errors:
    /// InvalidArgument (numbers of frames, no workspace, no gamma), naming the pass; those of encoding a tensor map.
    Result<void> enqueue(accel::Stream& stream, std::string_view pass_name, const conv::OpTensors& tensors) const;

  private:
    friend class Operators;
    conv::OpProblem problem_;
    std::string explanation_;
    conv::OpPlan plan_;
    const accel::Device* device_ = nullptr;               ///< which outlives this
    std::vector<std::shared_ptr<accel::Kernel>> loaded_;  ///< one for each of the plan's kernels
    std::shared_ptr<const Operator> norm_;                ///< that adds; of a problem that adds whose method does not
};

/// Thread-safe.
class Operators {
  public:
    /// Errors: Unsupported (a device that this build has no kernels for, named).
    static Result<std::unique_ptr<Operators>> create(accel::Device& device);

    /// The operator of the problem: planned and its kernels loaded at the first call, the same object at each later
    /// one. Errors: InvalidArgument (conv::valid), Unsupported (no method of the chip takes the problem or has its
    /// kernels in this build, with each one's reasons), those of Device::load.
    Result<std::shared_ptr<const Operator>> get(const conv::OpProblem& problem) const;

  private:
    explicit Operators(accel::Device& device);
    template <class Problem>
    Result<std::shared_ptr<const Operator>> make(const Problem& problem) const;

    conv::Kernels kernels_;
    conv::Chip chip_;
    mutable Mutex mutex_;
    mutable std::vector<std::shared_ptr<const Operator>> made_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::nn
