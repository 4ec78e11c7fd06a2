#include <kinetograph/compute/conv/cuda/sm100_problem.hpp>
#include <kinetograph/compute/conv/element.hpp>

namespace kinetograph::conv::cuda {

using tensor::DType;

std::optional<Element> sm100_element_of(DType dtype) {
    if (dtype == DType::BF16) return Element::BF16;
    if (dtype == DType::F16) return Element::F16;
    if (dtype == DType::F8E4M3) return Element::F8E4M3;
    return std::nullopt;
}

sm100::Conv2dProblemShape sm100_shape(const ConvProblem& p) {
    return {.n = p.n,
            .d = p.d,
            .h = p.h,
            .w = p.w,
            .c_in = p.c_in,
            .c_out = p.filter.k,
            .q = p.filter.q,
            .r = p.filter.r,
            .s = p.filter.s,
            .stride = {p.stride.d, p.stride.h, p.stride.w},
            .dilation = {p.dilation.d, p.dilation.h, p.dilation.w},
            .pad_front = {p.pad.front, p.pad.top, p.pad.left},
            .pad_back = {p.pad.back, p.pad.bottom, p.pad.right},
            .groups = p.groups,
            .element = *sm100_element_of(p.dtype)};
}

std::string declined_by_sm100(std::span<const sm100::Conv2dGate> gates, const ConvProblem& problem) {
    return sm100_element_of(problem.dtype) ? sm100::declined(gates, sm100_shape(problem)) : "";
}

std::vector<std::byte> sm100_filter(const ConvProblem& p, std::span<const float> filter) {
    const std::int64_t taps = p.filter.q * p.filter.r * p.filter.s, channels = p.c_in / p.groups;
    std::vector<std::byte> packed(filter.size() * tensor::bytes_per_element(p.dtype));
    for (std::int64_t k = 0; k < p.filter.k; ++k)
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t tap = 0; tap < taps; ++tap)
                store_element(packed.data(), (k * taps + tap) * channels + c, p.dtype,
                              static_cast<double>(filter[(k * channels + c) * taps + tap]));
    return packed;
}

}  // namespace kinetograph::conv::cuda
