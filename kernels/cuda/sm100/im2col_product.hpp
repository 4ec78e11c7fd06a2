#pragma once

#include <cstddef>
#include <kinetograph/kernels/cuda/sm100/conv2d_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/im2col_passes.hpp>

/// im2col and a matrix product: what runs when every gate has declined. Any groups, channels, filters, strides and
/// dilations. The product is the same kernel on a 1x1 filter over rows that a pass has written out, chunk by chunk,
/// into fp32 sums that another pass finishes.
namespace kinetograph::sm100 {

/// Sizes of one problem's rows. K is padded to whole swizzle rows, filters of a group to what a tensor map can stride.
struct Im2colSizes {
    uint32_t k = 0, k_padded = 0;               ///< elements of a row of A
    uint32_t filters = 0, padded_filters = 0;   ///< of one group
    uint64_t rows_per_chunk = 0;                ///< output pixels worked on at a time
    uint64_t matrix_bytes = 0, sums_bytes = 0;  ///< workspace
};
/// `workspace_limit` bounds both buffers together; at least one tile of 128 rows is taken.
Im2colSizes im2col_sizes(const Conv2dProblemShape& shape, uint64_t workspace_limit);

/// The filter as the product reads it, [groups][padded_filters][k_padded], zeros in the padding. Made once, at loading,
/// from [c_out][q][r][s][c_in / groups].
std::vector<std::byte> pack_im2col_filter(const Conv2dProblemShape& shape, std::span<const std::byte> filter);

/// Device addresses. matrix and sums as im2col_sizes says.
struct Im2colTensors {
    void* activation = nullptr;
    void* filter = nullptr;  ///< pack_im2col_filter
    void* output = nullptr;
    void* source = nullptr;  ///< or null
    void* matrix = nullptr;
    void* sums = nullptr;
};

/// One chunk of one group: gather, product, bring home, in this order in one stream.
struct Im2colStep {
    GatherParams gather;
    Conv2dLaunch product;
    BringHomeParams<NoEpilogue> home;  ///< bias, alpha, beta and function are the caller's to add
};

/// The config of the product: fp32 sums out of a Frames2d config without source.
KG_HOST_DEVICE Conv2dConfig im2col_config(Conv2dConfig base) {
    base.output = Element::F32;
    base.swizzle_c = isa::Swizzle::Span128;
    return with_most_stages(base);
}

std::vector<Im2colStep> plan_im2col(const Conv2dConfig& base, const Conv2dProblemShape& shape, const Im2colSizes& sizes,
                                    const Im2colTensors& tensors);

}  // namespace kinetograph::sm100
