#include <kinetograph/kernels/conv/sub_pixel.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/spirv/vulkan13/pack.hpp>

namespace kinetograph::vulkan13 {
namespace {

using conv::ConvProblem;

void put(std::byte* to, Element element, float value) {
    if (element == Element::F32) {
        std::memcpy(to, &value, sizeof(value));
        return;
    }
    const auto bits =
        static_cast<std::uint16_t>(element == Element::BF16 ? isa::bfloat16_bits(value) : isa::float16_bits(value));
    std::memcpy(to, &bits, sizeof(bits));
}

/// The problem's filter in the order in which shaders sum: of the stored image, by parity.
class Taps {
  public:
    Taps(const ConvProblem& problem, std::span<const float> filter)
        : problem_(problem), filter_(filter), folds_(conv::is_sub_pixel(problem)) {}
    std::int64_t parities() const { return folds_ ? 4 : 1; }
    std::int64_t columns() const { return folds_ ? 2 : problem_.filter.s; }
    std::int64_t in_frame() const { return folds_ ? 4 : problem_.filter.r * problem_.filter.s; }
    std::int64_t count() const { return problem_.filter.q * in_frame(); }
    float at(std::int64_t parity, std::int64_t k, std::int64_t tap, std::int64_t c) const {
        const std::int64_t q = tap / in_frame(), row = tap % in_frame() / columns(), column = tap % columns();
        if (folds_) return conv::sub_pixel_weight(problem_, filter_, {parity, k, c, q, row, column});
        const std::int64_t image = (k * (problem_.c_in / problem_.groups) + c) * problem_.filter.q + q;
        return filter_[static_cast<std::size_t>(image * in_frame() + tap % in_frame())];
    }

  private:
    const ConvProblem& problem_;
    std::span<const float> filter_;
    bool folds_;
};

std::vector<std::byte> pack_tiles(const ConvProblem& p, std::span<const float> filter) {
    const Taps taps(p, filter);
    const std::int64_t channels = p.c_in / p.groups;
    const std::uint32_t bytes = element_bytes(p.weight.element);
    std::vector<std::byte> packed(static_cast<std::size_t>(taps.parities() * p.filter.k * taps.count() * channels) *
                                  bytes);
    std::byte* to = packed.data();
    for (std::int64_t parity = 0; parity < taps.parities(); ++parity)
        for (std::int64_t k = 0; k < p.filter.k; ++k)
            for (std::int64_t tap = 0; tap < taps.count(); ++tap)
                for (std::int64_t c = 0; c < channels; ++c, to += bytes)
                    put(to, p.weight.element, taps.at(parity, k, tap, c));
    return packed;
}

std::vector<std::byte> pack_slab(const ConvProblem& p, std::int64_t filters, std::span<const float> filter) {
    const Taps taps(p, filter);
    const std::uint32_t bytes = element_bytes(p.weight.element);
    std::vector<std::byte> packed(static_cast<std::size_t>(taps.parities() * taps.count() * p.c_in * filters) * bytes);
    std::byte* row = packed.data();
    for (std::int64_t parity = 0; parity < taps.parities(); ++parity)
        for (std::int64_t tap = 0; tap < taps.count(); ++tap)
            for (std::int64_t c = 0; c < p.c_in; ++c, row += filters * bytes)
                for (std::int64_t k = 0; k < p.filter.k; ++k)
                    put(row + k * bytes, p.weight.element, taps.at(parity, k, tap, c));
    return packed;
}

}  // namespace

conv::ParameterPacking tiles_packing(const ConvProblem& problem) {
    return {
        std::string(conv::is_sub_pixel(problem) ? "sub-pixel tiles " : "tiles ") + element_name(problem.weight.element),
        [problem](const conv::ConvParameters& parameters) {
            return conv::packed_with(pack_tiles(problem, parameters.filter), parameters);
        }};
}

conv::ParameterPacking slab_packing(const ConvProblem& problem, std::int64_t filters) {
    return {std::string(conv::is_sub_pixel(problem) ? "sub-pixel slab " : "slab ") + std::to_string(filters) + ' ' +
                element_name(problem.weight.element),
            [problem, filters](const conv::ConvParameters& parameters) {
                return conv::packed_with(pack_slab(problem, filters, parameters.filter), parameters);
            }};
}

}  // namespace kinetograph::vulkan13
