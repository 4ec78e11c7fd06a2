#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <kinetograph/kernels/conv/problem.hpp>
#include <kinetograph/tests/kernels/stored_values.hpp>
#include <string>
#include <vector>

/// One convolution with its data and its fp64 result, the same for the host model and for a chip.
namespace kinetograph::sm100 {

using conv::ConvProblem;
using test::store_value;

inline float load_value(Element value, const uint8_t* bytes, size_t index) {
    return static_cast<float>(test::load_value(value, bytes, index));
}

enum class Numbers : uint8_t {
    Random,    ///< normal, rounded to the element; judged by tolerance
    Integers,  ///< small integers: every sum is exact in fp32, so the result is its one rounding, bit for bit
    Coded,     ///< activations encode their position, each filter picks one tap and channel: detects swapped axes
};

struct ConvCase {
    ConvProblem shape;  ///< its sizes, steps, padding and element type: the rest of the case is below
    Numbers numbers = Numbers::Random;
    bool doubled = false;  ///< activation is an image of half the rows and columns, each pixel as a 2x2 block
    bool bias = true;
    bool scales = false;  ///< a factor for each channel
    float alpha = 1, beta = 0;
    uint32_t panel = 1;  ///< Conv2dTensors::panel
    Element output = Element::BF16;
    Element source_value = Element::BF16;
    bool source = false;                  ///< there is a tensor C
    bool source_is_sum = false;           ///< added before bias and function, with weight 1
    bool rounds_before_function = false;  ///< EpilogueForm::AfterSharedMemory
    bool rounds_slices = false;           ///< each temporal tap's sum is rounded to the output type
    std::function<double(double)> function = [](double value) { return value; };
};

/// Bytes with guards before and after them, all poisoned.
class Guarded {
  public:
    explicit Guarded(size_t bytes) : bytes_(bytes), all_(bytes + 2 * kGuard, 0xff) {}
    uint8_t* data() { return all_.data() + offset(); }
    const uint8_t* data() const { return all_.data() + offset(); }
    size_t size() const { return bytes_; }
    void poison() { std::fill(all_.begin(), all_.end(), uint8_t{0xff}); }
    bool intact() const;

  private:
    static constexpr size_t kGuard = 512;
    size_t offset() const;  ///< makes data() 256-byte aligned
    size_t bytes_;
    std::vector<uint8_t> all_;
};

/// Inputs in their storage types and the expected outputs.
class ConvNumbers {
  public:
    explicit ConvNumbers(const ConvCase& conv);

    const ConvCase& conv() const { return conv_; }
    /// The first error in `output` [pixels][c_out] as stored, or "".
    std::string judge(const Guarded& output) const;
    /// Copies C to the address where D is read and written in place.
    void start_from_source(Guarded& output) const { std::memcpy(output.data(), source.data(), source.size()); }
    size_t output_bytes() const;
    double expected(size_t index) const { return expected_[index]; }

    std::vector<uint8_t> activation, filter, source;  ///< [n,d,h,w,c_in], [c_out,q,r,s,c_in], [pixels,c_out]
    std::vector<float> bias, scales;

  private:
    void fill_inputs();
    void fill_expected();
    ConvCase conv_;
    std::vector<float> activation_values_, filter_values_, source_values_;
    std::vector<double> expected_, allowed_;
};

}  // namespace kinetograph::sm100
