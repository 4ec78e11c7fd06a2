// The operators' methods on the CPU, <method>-cpu: a file an operator.
#pragma once

#include <kinetograph/kernels/conv/operator.hpp>

#include <array>

namespace kinetograph::nn {

conv::OpMethod unpack_latent_on_cpu();
conv::OpMethod norm_on_cpu();
conv::OpMethod group_norm_on_cpu();
/// In blocks of queries: at most a few hundred rows of scores exist at a time.
conv::OpMethod attention_on_cpu();
conv::OpMethod upsample_on_cpu();
conv::OpMethod depth_to_space_on_cpu();
conv::OpMethod keep_frames_on_cpu();
conv::OpMethod store_float_on_cpu();
conv::OpMethod store_picture_on_cpu();

inline std::array<conv::OpMethod, std::variant_size_v<conv::OpMethod>> cpu_operators() {
    return {unpack_latent_on_cpu(), norm_on_cpu(),        group_norm_on_cpu(),
            attention_on_cpu(),     upsample_on_cpu(),    depth_to_space_on_cpu(),
            keep_frames_on_cpu(),   store_float_on_cpu(), store_picture_on_cpu()};
}

inline bool is_cpu(const conv::Chip& chip) { return chip.kind == "cpu"; }

/// "F32 or BF16" of a value: the CPU computes with no halves.
template <class Problem, conv::Storage Problem::*kValue>
inline constexpr conv::Gate<conv::SubjectOf<Problem>> kF32OrBf16[] = {
    {"F32 or BF16",
     [](const conv::SubjectOf<Problem>& s) {
         const Element element = (s.problem.*kValue).element;
         return element == Element::F32 || element == Element::BF16;
     },
     [](const conv::SubjectOf<Problem>& s) {
         return std::string(conv::element_spelling((s.problem.*kValue).element));
     }}};

/// A call's addresses, held until its work runs.
class HeldTensors {
  public:
    explicit HeldTensors(const conv::OpTensors& tensors)
        : tensors_(tensors),
          input_(tensors.input.begin(), tensors.input.end()),
          output_(tensors.output.begin(), tensors.output.end()),
          sum_(tensors.sum.begin(), tensors.sum.end()) {}
    conv::OpTensors view() const {
        conv::OpTensors tensors = tensors_;
        tensors.input = input_;
        tensors.output = output_;
        tensors.sum = sum_;
        return tensors;
    }

  private:
    conv::OpTensors tensors_;
    std::vector<const std::byte*> input_;
    std::vector<std::byte*> output_, sum_;
};

/// The plan of `run(tensors)`, which the stream calls.
template <class Run>
conv::OpPlan plan_on_cpu(const Run& run) {
    return {.steps = [run](const conv::OpTensors& tensors, const conv::EncodeMap&) {
        std::vector<conv::ConvStep> steps;
        steps.emplace_back(conv::HostWork([held = HeldTensors(tensors), run] {
            run(held.view());
            return std::string();
        }));
        return steps;
    }};
}

}  // namespace kinetograph::nn
