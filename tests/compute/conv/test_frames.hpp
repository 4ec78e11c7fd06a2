// Frames of a test tensor in the memory layout of a ConvShape, with poison where nothing may be written.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/tests/compute/conv/conv_shapes.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace kinetograph::conv {

class TestFrames {
  public:
    /// `samples` tensors of `frames` frames of `elements`, all bytes 0xFF: NaN in every format.
    TestFrames(std::int64_t samples, std::int64_t frames, std::int64_t elements, tensor::DType dtype,
               FrameLayout layout, std::int64_t seam = 0);

    /// Stores value(frame, element) everywhere, rounded to the dtype; `frame` counts through all samples.
    void fill(const std::function<float(std::int64_t frame, std::int64_t element)>& value);

    std::vector<const std::byte*> readable() const { return {frames_.begin(), frames_.end()}; }
    const std::vector<std::byte*>& writable() const { return frames_; }
    /// All bytes, including those between the frames.
    std::span<std::byte> storage() { return storage_; }
    std::span<const std::byte> storage() const { return storage_; }
    /// All frames, one after another, as float32.
    std::vector<float> values() const;
    /// Whether every byte outside the frames is still poison.
    bool gaps_untouched() const;

  private:
    std::int64_t elements_;
    tensor::DType dtype_;
    std::uint64_t frame_bytes_;
    std::vector<std::byte> storage_;
    std::vector<std::byte*> frames_;
};

/// Frames in device memory, with the same distances as the TestFrames they are copied from.
class DeviceFrames {
  public:
    /// Blocks until the bytes, including the poison, are copied. Errors: those of the device.
    static Result<DeviceFrames> upload(accel::Device& device, accel::Stream& stream, const TestFrames& frames);
    std::vector<const std::byte*> readable() const { return {frames_.begin(), frames_.end()}; }
    const std::vector<std::byte*>& writable() const { return frames_; }
    /// Blocks until `frames`, the source of these, holds their current contents.
    Result<void> read_back(accel::Stream& stream, TestFrames& frames) const;

  private:
    std::unique_ptr<accel::Memory> memory_;
    std::vector<std::byte*> frames_;
};

/// All inputs of a convolution, in the layouts of a shape, and its outputs.
struct TestConvolution {
    ConvShape shape;
    std::vector<float> filter, bias, gamma;
    TestFrames input, residual;

    /// Allocates. gamma is all ones; the caller fills the rest.
    explicit TestConvolution(const ConvShape& shape);

    struct Output {
        std::vector<float> values;  ///< [n, d_out, h_out, w_out, k]; empty with Norm::Instead
        std::vector<float> normed;  ///< likewise; empty without norm
        bool gaps_untouched = false;
        std::string backend;
    };
    /// Runs on `backend` of any device, with the output in the shape's layout, poisoned before.
    Result<Output> run(accel::Device& device, accel::Stream& stream, std::string_view backend) const;
    /// The same with a convolution made for the shape's problem and these parameters.
    Result<Output> run(accel::Device& device, accel::Stream& stream, const Convolution& convolution) const;
    /// The reference back end's float32 output from the same numbers, without norm. `device` is a CPU.
    std::vector<float> reference(accel::Device& device, accel::Stream& stream) const;
};

struct Difference {
    double relative_l2 = 0;
    double max_abs = 0;
    double worst_excess = 0;  ///< largest |error| / (half_step |wanted| + half_step / 4 rms(wanted))
};
/// The norm that `problem` requests, of stored outputs `values`, in fp64.
std::vector<float> normed_reference(const ConvProblem& problem, const std::vector<float>& values,
                                    const std::vector<float>& gamma);

/// half_step: half a unit in the last place of the type that `got` was stored in, relative: 2^-8 for bf16.
Difference difference(const std::vector<float>& got, const std::vector<float>& wanted, double half_step = 0x1p-8);

}  // namespace kinetograph::conv
