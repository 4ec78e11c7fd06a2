// Operators: the passes of a decoder besides its convolutions, on whichever device was given.
#pragma once

#include <kinetograph/compute/nn/attention.hpp>
#include <kinetograph/compute/nn/depth_to_space.hpp>
#include <kinetograph/compute/nn/frame_conversion.hpp>
#include <kinetograph/compute/nn/keep_frames.hpp>
#include <kinetograph/compute/nn/rms_norm.hpp>
#include <kinetograph/compute/nn/upsample.hpp>

namespace kinetograph::nn {

/// All addresses in the work are addresses of the device. Spans are copied before a call returns; the object must live
/// until the stream has done the work. Errors of every call: InvalidArgument, naming the pass and what is wrong with
/// it.
class Operators {
  public:
    /// Loads what the device needs. Errors: Unsupported (a device that this build has no kernels for, named).
    static Result<std::unique_ptr<Operators>> create(accel::Device& device);
    virtual ~Operators() = default;

    virtual Result<void> unpack_latent(accel::Stream& stream, std::string_view pass_name,
                                       const UnpackLatent& work) const = 0;
    virtual Result<void> rms_norm(accel::Stream& stream, std::string_view pass_name, const RmsNorm& work) const = 0;
    virtual Result<void> upsample_nearest2x(accel::Stream& stream, std::string_view pass_name,
                                            const UpsampleNearest2x& work) const = 0;
    virtual Result<void> depth_to_space(accel::Stream& stream, std::string_view pass_name,
                                        const PixelShuffle& work) const = 0;
    virtual Result<void> keep_frames(accel::Stream& stream, std::string_view pass_name,
                                     const KeepFrames& work) const = 0;
    virtual Result<void> store_float(accel::Stream& stream, std::string_view pass_name,
                                     const StoreFloat& work) const = 0;
    virtual Result<void> store_picture(accel::Stream& stream, std::string_view pass_name,
                                       const StorePicture& work) const = 0;
    /// Errors: InvalidArgument (sizes, dtype), Unsupported (a width that the device's kernel declines).
    virtual Result<std::unique_ptr<Attention>> attention(const AttentionProblem& problem) const = 0;
};

/// Enqueues `attention`, which `operators` made for `problem`. What its method leaves of a problem that adds follows
/// as a norm, whose input is stored where its output will be. Errors: those of both.
Result<void> enqueue_attention(const Operators& operators, const Attention& attention, const AttentionProblem& problem,
                               accel::Stream& stream, std::string_view pass_name, const AttentionTensors& tensors);

}  // namespace kinetograph::nn
