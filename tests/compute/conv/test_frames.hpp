// Frames of a test tensor, laid out in memory as a ConvShape says, with poison wherever nothing may be written.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/tests/compute/conv/conv_shapes.hpp>

#include <functional>
#include <memory>
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
    /// All frames, one after another, as float32.
    std::vector<float> values() const;
    /// Whether every byte that belongs to no frame is still poison.
    bool gaps_untouched() const;

  private:
    std::int64_t elements_;
    tensor::DType dtype_;
    std::uint64_t frame_bytes_;
    std::vector<std::byte> storage_;
    std::vector<std::byte*> frames_;
};

/// Everything a convolution takes, in the layouts of a shape, and what it gives.
struct TestConvolution {
    ConvShape shape;
    std::vector<float> filter, bias, gamma;
    TestFrames input, residual;

    /// Allocates, gamma is 1; fill the others afterwards.
    explicit TestConvolution(const ConvShape& shape);

    struct Output {
        std::vector<float> values;  ///< [n, d_out, h_out, w_out, k]; empty with Norm::Instead
        std::vector<float> normed;  ///< likewise; empty without norm
        bool gaps_untouched = false;
        std::string backend;
    };
    /// Runs on `backend`, with the output in the shape's layout, poisoned first.
    Result<Output> run(accel::Device& device, accel::Stream& stream, std::string_view backend) const;
    /// The reference back end's float32 output from the same numbers, without norm.
    std::vector<float> reference(accel::Device& device, accel::Stream& stream) const;
};

struct Difference {
    double relative_l2 = 0;
    double max_abs = 0;
    double worst_bf16_excess = 0;  ///< largest |error| / (2^-8 |wanted| + 1e-3 rms(wanted))
};
/// The norm that `problem` asks for, of stored outputs `values`, in fp64.
std::vector<float> normed_reference(const ConvProblem& problem, const std::vector<float>& values,
                                    const std::vector<float>& gamma);

Difference difference(const std::vector<float>& got, const std::vector<float>& wanted);

}  // namespace kinetograph::conv
