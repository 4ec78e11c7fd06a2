// ConvParams (conv_params.hpp) and the part of an epilogue that all convolutions have.
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer ConvParams {
    Address filter_, bias, scales;
    uint h, w, w_stored, upsample;
    uint c_in, c_group, k, k_group;
    uint q, r, s;
    uint h_out, w_out;
    uint parities, n_tiles;
    int stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    float scale, beta, negative_slope;
    uint flags;
    uint reserved;
    Address input_[192], output_[64], residual[64];
};
layout(push_constant) uniform Launch { ConvParams params; };

// EpilogueFlags (kernels/conv/epilogue_flags.hpp)
const uint kBias = 1, kSilu = 2, kResidual = 4, kFloat32 = 64, kRelu = 256;

// What the epilogue needs of the parameters, read once: a store might change what lies in memory.
struct Epilogue {
    Address bias, scales;
    uint flags;
    float scale, beta, negative_slope;
};
Epilogue epilogue;
void load_epilogue() {
    epilogue = Epilogue(params.bias, params.scales, params.flags, params.scale,
                        (params.flags & kResidual) != 0 ? params.beta : 0.0, params.negative_slope);
}

// The value before it is stored, of a sum with its channel's scale and bias; `residual` is the residual's value, or
// anything finite without one.
float finished(float sum, float scale, float bias, float residual) {
    float x = sum * epilogue.scale * scale + bias;
    if ((epilogue.flags & kSilu) != 0) x = silu(x);
    x += epilogue.beta * residual;
    if ((epilogue.flags & kRelu) != 0 && x < 0) x *= epilogue.negative_slope;
    return x;
}
// Element `place` of the output frame, of a sum.
void store_finished(float sum, uint channel, Address frame, Address residual, uint place) {
    const bool float32 = (epilogue.flags & kFloat32) != 0;
    float added = 0;
    if ((epilogue.flags & kResidual) != 0)
        added = float32 ? Floats(residual).at[place] : load(Elements(residual), place);
    const float scale = is_null(epilogue.scales) ? 1.0 : Floats(epilogue.scales).at[channel];
    const float bias = (epilogue.flags & kBias) != 0 ? Floats(epilogue.bias).at[channel] : 0.0;
    const float x = finished(sum, scale, bias, added);
    if (float32)
        Floats(frame).at[place] = x;
    else
        store(Elements(frame), place, x);
}
