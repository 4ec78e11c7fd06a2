// Attention over the pixels of one frame: one head as wide as the channels, no mask.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>

#include <memory>
#include <span>
#include <string_view>

namespace kinetograph::nn {

struct AttentionProblem {
    std::int64_t tokens = 0;                    ///< pixels of one frame, 1 to 1,048,576
    std::int64_t channels = 0;                  ///< width of the one head
    tensor::DType dtype = tensor::DType::BF16;  ///< storage, F32 or BF16; softmax and sums in float32
};

struct AttentionTensors {
    std::span<const std::byte* const>
        qkv;                             ///< frames [tokens, 3 * channels]: query, key, value of a token in this order
    std::span<std::byte* const> output;  ///< as many frames [tokens, channels]
    std::byte* workspace = nullptr;      ///< workspace_bytes(), 64-byte aligned
};

/// softmax(q k^T / sqrt(channels)) v for each frame; the tokens-by-tokens matrix never exists as a whole. Made by
/// Operators::attention.
class Attention {
  public:
    virtual ~Attention() = default;

    virtual const AttentionProblem& problem() const = 0;
    virtual std::uint64_t workspace_bytes() const = 0;  ///< grows with `tokens`, not with its square
    /// How it is computed, and why not by what would be faster: "mma-sm80: wgmma-sm90 wants an sm_90 device, met
    /// sm_80".
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
