#pragma once

#include <kinetograph/kernels/conv/problem.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_problem.hpp>

namespace kinetograph::sm100 {

/// The shapes of a problem; the image is the one that the taps see, its epilogue a matter of gates.
inline Conv2dProblemShape shape_of(const conv::ConvProblem& p) {
    return {.n = p.n,
            .d = p.d,
            .h = p.h_seen(),
            .w = p.w_seen(),
            .c_in = p.c_in,
            .c_out = p.filter.k,
            .q = p.filter.q,
            .r = p.filter.r,
            .s = p.filter.s,
            .stride = {p.stride.d, p.stride.h, p.stride.w},
            .dilation = {p.dilation.d, p.dilation.h, p.dilation.w},
            .pad_front = {p.pad.front, p.pad.top, p.pad.left},
            .pad_back = {p.pad.back, p.pad.bottom, p.pad.right},
            .groups = p.groups,
            .element = p.dtype};
}

}  // namespace kinetograph::sm100
