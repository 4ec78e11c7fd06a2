#pragma once

#include "conv_case.hpp"

/// Inputs for attention kernels of any chip, and the check of their results against fp64.
namespace kinetograph::sm80 {

struct AttentionCase {
    uint32_t tokens = 1, frames = 1;
    double spread = 1;      ///< of the queries: large ones make sharp weights and moving maxima
    uint32_t channels = 0;  ///< 0 until the numbers are made; then the kernel's width
    bool adds = false;      ///< to what the output holds, with a norm and SiLU beside
};

class AttentionNumbers {
  public:
    AttentionNumbers(const AttentionCase& attention, Element value);

    const Frames& qkv() const { return qkv_; }  ///< [tokens, 3 * channels]
    Frames& output() { return output_; }        ///< [tokens, channels]
    Frames& normed() { return normed_; }        ///< as the output
    const std::vector<float>& gamma() const { return gamma_; }

    /// What is wrong with the results of each frame's first `queries` tokens, or "". Allowed error: half
    /// a unit in the last place of the result and of each weight. A norm is that of the results that were stored.
    std::string judge(uint32_t queries) const;

  private:
    AttentionCase case_;
    std::string judge_norm(size_t frame, uint32_t token) const;

    Element value_;
    Frames qkv_, output_, before_, normed_;
    std::vector<float> gamma_;
};

}  // namespace kinetograph::sm80
