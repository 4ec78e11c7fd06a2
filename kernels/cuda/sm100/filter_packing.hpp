#pragma once

#include <cstddef>
#include <kinetograph/kernels/cuda/sm100/conv2d_problem.hpp>
#include <span>
#include <vector>

/// Filters in the order that the kernel reads: rows of K, channels fastest. Packed once, when a layer is loaded;
/// launches take only this form.
namespace kinetograph::sm100 {

/// Axes from the slowest to the fastest. F is C_out, C is C_in.
enum class FilterLayout : uint8_t {
    KRSC,   ///< [c_out][q][r][s][c_in], the kernel's own: used in place
    RSCF,   ///< [r][s][c_in][c_out], one temporal tap
    QRSCF,  ///< [q][r][s][c_in][c_out]
};

class PackedFilter {
  public:
    /// `filter` holds c_out * q * r * s * c_in elements of shape.element. KRSC keeps a view of it, the others a copy.
    PackedFilter(FilterLayout layout, const Conv2dProblemShape& shape, std::span<const std::byte> filter);

    /// [c_out][q][r][s][c_in].
    std::span<const std::byte> bytes() const { return packed_.empty() ? view_ : packed_; }

  private:
    std::span<const std::byte> view_;
    std::vector<std::byte> packed_;
};

}  // namespace kinetograph::sm100
