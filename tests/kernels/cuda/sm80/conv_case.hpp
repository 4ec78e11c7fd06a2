#pragma once

#include <cstdint>
#include <functional>
#include <kinetograph/kernels/cuda/sm80/plan.hpp>
#include <kinetograph/tests/kernels/stored_values.hpp>
#include <string>
#include <vector>

/// One convolution with its data and its fp64 result, the same for the host model and for a chip.
namespace kinetograph::sm80 {

enum class Numbers : uint8_t {
    Random,    ///< normal, rounded to the element; judged by tolerance
    Integers,  ///< small integers: every sum is exact in fp32, so the result is its one rounding, bit for bit
    Coded,     ///< activations encode their position, each filter picks one tap and channel: detects swapped axes
};

using conv::ConvProblem;
using conv::Norm;
using test::load_value;
using test::store_value;

/// Along which axes F(2,3) transforms inputs and filters, which are rounded then.
enum class Winograd : uint8_t {
    None,
    Time,    ///< in the problem's element
    Volume,  ///< time, rows and columns, in fp16; the products are rounded too
};

/// The epilogue of a case's problem.
struct Epilogue {
    bool silu = false;
    float beta = 1;
    Norm norm = Norm::None;
    bool norm_silu = true;
    bool float32 = false;      ///< the output; otherwise of the problem's element
    bool relu = false;         ///< without silu
    float negative_slope = 0;  ///< of the ReLU
};

struct ConvCase {
    ConvProblem shape;
    Epilogue epilogue{};
    Numbers numbers = Numbers::Random;
    bool bias = true, residual = false, addend = false;
    Winograd winograd = Winograd::None;  ///< judged as that
    uint32_t seed = 1;

    ConvProblem problem() const;  ///< shape and epilogue
};

/// Frames in shuffled order, separated by guard bytes, all poisoned with NaN.
class Frames {
  public:
    Frames() = default;
    Frames(int64_t count, int64_t bytes, uint32_t seed);
    uint8_t* frame(size_t index) { return bytes() + offset(index); }
    const uint8_t* frame(size_t index) const { return bytes() + offset(index); }
    size_t size() const { return places_.size(); }
    void poison();
    bool intact() const;  ///< every byte outside the frames is still poison
    std::vector<std::byte*> addresses();
    std::vector<const std::byte*> const_addresses() const;

  private:
    static constexpr size_t kGap = 256;  ///< also the alignment of a frame
    struct alignas(kGap) Block {
        uint8_t bytes[kGap];
    };
    size_t offset(size_t index) const { return kGap + places_[index] * slot_; }
    uint8_t* bytes() { return reinterpret_cast<uint8_t*>(storage_.data()); }
    const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(storage_.data()); }
    size_t bytes_ = 0, slot_ = 0;
    std::vector<size_t> places_;
    std::vector<Block> storage_;
};

/// Addresses of a case's frames.
struct TensorAddresses {
    std::vector<const std::byte*> input, residual, addend;
    std::vector<std::byte*> output, normed;

    conv::ConvTensors tensors() const {
        return {.input = input, .output = output, .residual = residual, .workspace = nullptr, .normed = normed};
    }
};

/// Inputs in their storage types, room for the outputs, and the expected results.
class ConvNumbers {
  public:
    explicit ConvNumbers(const ConvCase& conv);

    const ConvCase& conv() const { return conv_; }
    std::vector<conv::ConvLaunch> launches(const ConvConfig& config);
    TensorAddresses addresses();
    /// As a caller gives them, the filter in PyTorch's order.
    conv::ConvParameters parameters() const {
        return {.filter = filter_, .bias = bias_, .gamma = gamma_, .scales = {}};
    }
    void poison_outputs();
    /// The first error in the stored outputs, or "".
    std::string judge() const;
    /// Runs and judges under `schedules` seeds; returns the first error with the kernel's name and the seed, or "".
    /// `run` runs once with a seed into the outputs and returns what stopped it, or "".
    std::string judge_runs(std::string_view kernel, uint64_t schedules,
                           const std::function<std::string(uint64_t seed)>& run);

    /// The sums alone [frame][pixel][c_out] in fp64: for forms that build a convolution from parts.
    const std::vector<double>& sums() const { return sums_; }

    Frames input, output, residual, addend, normed;

  private:
    void draw();
    void sum();
    void sum_transformed_magnitudes();
    void sum_volume_magnitudes();
    void finish();
    void norm_pixel(size_t first);
    std::string judge_frames(const Frames& frames, const std::vector<double>& expected,
                             const std::vector<double>& allowed, const char* name, bool exact) const;

    ConvCase conv_;
    ConvProblem problem_;
    Element value_;
    std::vector<float> filter_, bias_, gamma_;
    std::vector<std::byte> packed_;
    std::vector<double> sums_, magnitudes_, expected_, allowed_, expected_norm_, allowed_norm_;
    size_t out_elements_ = 0;  ///< of one frame
    bool exact_ = false;
};

}  // namespace kinetograph::sm80
