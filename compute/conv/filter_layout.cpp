#include <kinetograph/compute/conv/filter_layout.hpp>

namespace kinetograph::conv {
namespace {

/// Elements from one filter, channel and tap to the next.
struct Strides {
    std::int64_t k, c, tap;
};

Strides strides_of(FilterLayout layout, std::int64_t filters, std::int64_t channels, std::int64_t taps) {
    switch (layout) {
        case FilterLayout::KCQRS:
            return {channels * taps, taps, 1};
        case FilterLayout::KQRSC:
            return {taps * channels, 1, channels};
        default:
            return {1, filters, channels * filters};
    }
}

}  // namespace

tensor::Shape filter_shape(const ConvProblem& problem, FilterLayout layout) {
    const Filter& f = problem.filter;
    const std::int64_t channels = problem.c_in / problem.groups;
    switch (layout) {
        case FilterLayout::KCQRS:
            return {f.k, channels, f.q, f.r, f.s};
        case FilterLayout::KQRSC:
            return {f.k, f.q, f.r, f.s, channels};
        case FilterLayout::RSCF:
            return {f.r, f.s, channels, f.k};
        default:
            return {f.q, f.r, f.s, channels, f.k};
    }
}

Result<std::vector<float>> in_parameter_order(const ConvProblem& problem, FilterLayout layout,
                                              std::span<const float> filter) {
    if (filter.size() != static_cast<std::size_t>(problem.filter_elements())) {
        return fail(ErrorCode::InvalidArgument, "convolution {}: the filter to reorder has {} elements, wanted {}",
                    problem.to_string(), filter.size(), problem.filter_elements());
    }
    if (layout == FilterLayout::RSCF && problem.filter.q != 1) {
        return fail(ErrorCode::InvalidArgument, "convolution {}: a filter in RSCF has one temporal tap, not {}",
                    problem.to_string(), problem.filter.q);
    }
    const std::int64_t channels = problem.c_in / problem.groups, taps = problem.taps();
    const Strides from = strides_of(layout, problem.filter.k, channels, taps);
    std::vector<float> ordered;
    ordered.reserve(filter.size());
    for (std::int64_t k = 0; k < problem.filter.k; ++k)
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t tap = 0; tap < taps; ++tap)
                ordered.push_back(filter[static_cast<std::size_t>(k * from.k + c * from.c + tap * from.tap)]);
    return ordered;
}

}  // namespace kinetograph::conv
