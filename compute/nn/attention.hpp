// Attention over the pixels of one frame: one head as wide as the channels, no mask.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/kernels/conv/attention.hpp>

#include <memory>
#include <span>
#include <string_view>

namespace kinetograph::nn {

using conv::AttentionProblem;
using conv::AttentionTensors;

/// Made by Operators::attention.
class Attention {
  public:
    virtual ~Attention() = default;

    /// What enqueue() does: of a problem that adds, some methods leave the sum and the norm to Operators::rms_norm.
    virtual const AttentionProblem& problem() const = 0;
    virtual std::uint64_t workspace_bytes() const = 0;  ///< at most some 256 MiB and what grows with `tokens`
    /// The method, and why others of the chip do not take the problem: "mma-sm80: wgmma-sm90 wants a head of 72 to 384
    /// channels, a multiple of 8, met 64".
    virtual std::string_view explanation() const = 0;
    /// The spans are copied, and the object may be destroyed, before the stream has passed the call: a frame graph may
    /// be cleared while its work runs. Errors: InvalidArgument, naming the pass.
    virtual Result<void> enqueue(accel::Stream& stream, std::string_view pass_name,
                                 const AttentionTensors& tensors) const = 0;
};

/// In blocks of queries: at most a few hundred rows of scores exist at a time. `device` is a CPU.
/// Errors: InvalidArgument (sizes, dtype); Unsupported (oneDNN's own refusal).
Result<std::unique_ptr<Attention>> create_cpu_attention(const accel::DeviceInfo& device,
                                                        const AttentionProblem& problem);

}  // namespace kinetograph::nn
