#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

/// im2col: a convolution as the product of a matrix of input windows and the filter. The matrix is written part by
/// part; a chip supplies the kernel that writes a part, and the plan of the 1x1 convolution that multiplies the part by
/// the filter. A grouped filter becomes one over all channels, with zeros for those of other groups.
namespace kinetograph::conv {

/// Rows: one for each output pixel. Columns: q * r * s * c_in, channels fastest, then zeros.
struct Im2colMatrix {
    ConvProblem problem;
    std::int64_t columns = 0;

    /// Columns rounded up to `multiple`, which the product's kernel requires of its input channels.
    static Im2colMatrix of(const ConvProblem& problem, std::int64_t multiple);

    std::int64_t row_bytes() const { return columns * element_bytes(problem.input.element); }
    /// Pixels of each output frame of a sample that make one part: as many as fit into 64 MiB, at least one.
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

/// The plan that writes and multiplies one part after the other. Workspace: one part.
ConvPlan plan_im2col(const Im2colMatrix& matrix, const Chip& chip, Im2colKernels kernels);

}  // namespace kinetograph::conv
