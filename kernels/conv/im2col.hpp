#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

/// im2col: a convolution as the product of the matrix of its taps and its filter. The matrix is made in parts; a chip
/// supplies the kernel that writes one and the plan of a 1x1 convolution, which multiplies it. Groups become zeros in a
/// filter over all channels.
namespace kinetograph::conv {

/// Rows: one for each output pixel. Columns: q * r * s * c_in, channels fastest, then zeros.
struct Im2colMatrix {
    ConvProblem problem;
    std::int64_t columns = 0;

    /// Columns rounded up to `multiple`, which suits the product's kernel.
    static Im2colMatrix of(const ConvProblem& problem, std::int64_t multiple);

    std::int64_t row_bytes() const { return columns * element_bytes(problem.dtype); }
    /// Pixels of every output frame of a sample in one part: at most 64 MiB, or one pixel.
    std::int64_t part_pixels() const;
    /// The product over `pixels` pixels of each output frame of a sample, with the problem's epilogue.
    ConvProblem product(std::int64_t pixels) const;
};

/// Pixels [first, first + count) of each output frame of a sample. Its matrix lies in the workspace, frame after frame.
struct Im2colPart {
    std::int64_t sample = 0, first = 0, count = 0;
};

/// What a chip supplies: the kernel that writes a part, its launches as steps, and the plan of the product.
struct Im2colKernels {
    KernelName gather;
    std::function<void(std::vector<ConvStep>&, const ConvTensors&, const Im2colPart&)> append_gather;
    ConvPlan (*plan_product)(const ConvProblem&, const Chip&);
};

/// Workspace: one part.
ConvPlan plan_im2col(const Im2colMatrix& matrix, const Chip& chip, Im2colKernels kernels);

}  // namespace kinetograph::conv
