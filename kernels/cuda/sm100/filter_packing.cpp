#include <cassert>
#include <cstring>
#include <kinetograph/kernels/cuda/sm100/filter_packing.hpp>

namespace kinetograph::sm100 {

PackedFilter::PackedFilter(FilterLayout layout, const Conv2dProblemShape& shape, std::span<const std::byte> filter)
    : view_(filter) {
    const size_t bytes = element_bytes(shape.element);
    const auto filters = static_cast<size_t>(shape.c_out), depth = static_cast<size_t>(shape.taps() * shape.c_in);
    assert(filter.size() == filters * depth * bytes);
    assert(layout != FilterLayout::RSCF || shape.q == 1);
    if (layout == FilterLayout::KRSC) return;
    packed_.resize(filter.size());
    for (size_t k = 0; k < depth; ++k) {
        for (size_t f = 0; f < filters; ++f) {
            std::memcpy(packed_.data() + (f * depth + k) * bytes, filter.data() + (k * filters + f) * bytes, bytes);
        }
    }
}

}  // namespace kinetograph::sm100
