#pragma once

#include <cstddef>
#include <kinetograph/kernels/cuda/sm100/conv2d_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/im2col_passes.hpp>

/// im2col and a matrix product, for problems that every other gate declines: any groups, channels, filters, strides and
/// dilations. The product is the same kernel with a 1x1 filter over rows that one pass has written, chunk by chunk; its
/// fp32 sums are finished by another pass.
namespace kinetograph::sm100 {

/// Row sizes of one problem. K is padded to whole swizzle rows, a group's filters to a stride that a tensor map allows.
struct Im2colSizes {
    uint32_t k = 0, k_padded = 0;               ///< elements of a row of A
    uint32_t filters = 0, padded_filters = 0;   ///< of one group
    uint64_t rows_per_chunk = 0;                ///< output pixels worked on at a time
    uint64_t matrix_bytes = 0, sums_bytes = 0;  ///< workspace
};
/// `workspace_limit` bounds both buffers together; at least one tile of 128 rows is taken.
Im2colSizes im2col_sizes(const conv::ConvProblem& problem, uint64_t workspace_limit);

/// The filter for the product, [groups][padded_filters][k_padded], zeros in the padding. Packed once, when loading,
/// from [c_out][q][r][s][c_in / groups].
std::vector<std::byte> pack_im2col_filter(const conv::ConvProblem& problem, std::span<const std::byte> filter);

/// Device addresses; sizes of matrix and sums from im2col_sizes.
struct Im2colTensors {
    void* activation = nullptr;
    void* filter = nullptr;  ///< pack_im2col_filter
    void* output = nullptr;
    void* source = nullptr;  ///< or null
    void* matrix = nullptr;
    void* sums = nullptr;
};

/// One chunk of one group: gather, product, finish, in this order in one stream.
struct Im2colStep {
    GatherParams gather;
    Conv2dLaunch product;
    BringHomeParams<NoEpilogue> home;  ///< the caller adds bias, alpha, beta and function
};

/// The product of a matrix [rows, columns] and `filters` filters: a 1x1 convolution of an image of one row.
conv::ConvProblem matrix_product(int64_t rows, int64_t columns, int64_t filters, Element element);

/// The product's config: `base`, a Frames2d config without source, with fp32 sums as output.
KG_HOST_DEVICE Conv2dConfig im2col_config(Conv2dConfig base) {
    base.output = Element::F32;
    base.swizzle_c = isa::Swizzle::Span128;
    return with_most_stages(base);
}

std::vector<Im2colStep> im2col_steps(const Conv2dConfig& base, const conv::ConvProblem& problem,
                                     const Im2colSizes& sizes, const Im2colTensors& tensors);

}  // namespace kinetograph::sm100
