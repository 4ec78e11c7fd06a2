#include <kinetograph/kernels/cuda/sm100/pack.hpp>
#include <kinetograph/kernels/isa/amd/small_floats.hpp>

namespace kinetograph::sm100 {
namespace {

uint32_t bits_of(Element element, float value) {
    if (element == Element::F8E4M3) return isa::amd::to_f8e4m3(value);
    if (element == Element::F8E5M2) return isa::amd::to_f8e5m2(value);
    return element == Element::BF16 ? isa::amd::to_bf16(value) : isa::amd::to_f16(value);
}

}  // namespace

std::vector<std::byte> pack_filter(const conv::ConvProblem& p, std::span<const float> filter) {
    const int64_t taps = p.taps(), channels = p.c_in / p.groups, bytes = element_bytes(p.weight.element);
    std::vector<std::byte> packed(filter.size() * static_cast<size_t>(bytes));
    for (int64_t k = 0; k < p.filter.k; ++k)
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t tap = 0; tap < taps; ++tap) {
                const uint32_t bits =
                    bits_of(p.weight.element, filter[static_cast<size_t>((k * channels + c) * taps + tap)]);
                std::memcpy(packed.data() + ((k * taps + tap) * channels + c) * bytes, &bits,
                            static_cast<size_t>(bytes));  // little-endian: the low bytes first
            }
    return packed;
}

conv::ParameterPacking filter_packing(const conv::ConvProblem& problem) {
    return {std::string("unpadded KQRSC ") + element_name(problem.weight.element),
            [problem](const conv::ConvParameters& parameters) {
                return conv::packed_with(pack_filter(problem, parameters.filter), parameters);
            }};
}

}  // namespace kinetograph::sm100
