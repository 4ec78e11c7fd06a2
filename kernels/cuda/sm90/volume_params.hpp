#pragma once

#include <cstdint>
#include <kinetograph/kernels/conv/epilogue_flags.hpp>
#include <kinetograph/kernels/isa/target.hpp>

/// What the two passes of winograd-volume-sm90 read, by value. A cell is 2 x 2 pixels of two neighbouring output
/// frames; the cells of the picture are numbered row by row, and a launch takes some that follow each other.
namespace kinetograph::sm90 {

/// Matrix products of a cell: F(2,3) along time, rows and columns makes 4 x 4 x 4.
inline constexpr uint32_t kVolumePositions = 64;

/// Which cells a launch takes, and where they lie.
struct VolumeCells {
    uint32_t first, count;  ///< of the picture's cells
    uint32_t columns;       ///< cells of one row of the picture
    uint32_t stride;        ///< rows from one position's matrix to the next's
};

struct VolumeInputParams {
    const void* input[4];  ///< [h, w, c_in]: the frames under a pair's taps; null for a frame of padding
    void* operands;        ///< [position][stride][c_in] in fp16
    VolumeCells cells;
    uint32_t h, w, c_in;
    int32_t pad_top, pad_left;
};

struct VolumeOutputParams {
    const void* products;     ///< [position][stride][k] in fp16
    void* output[2];          ///< [h, w, k], with kConvOutput
    const void* residual[2];  ///< likewise, with kConvResidual
    void* normed[2];          ///< likewise, with kConvNorm
    const float* bias;        ///< [k], with kConvBias
    const float* gamma;       ///< [k], with kConvNorm
    const float* scale;       ///< one number: products times it are the convolution's
    VolumeCells cells;
    uint32_t h, w, k;
    uint32_t flags;  ///< conv::EpilogueFlags
    float beta;
    float negative_slope;  ///< of kConvRelu
    float sqrt_k;
};

}  // namespace kinetograph::sm90
