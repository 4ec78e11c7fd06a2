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

// The stored value of a sum: output channel `channel`, element `place` of the output frame.
float finished(float sum, uint channel, Address residual, uint place) {
    float x = sum * params.scale;
    if (!is_null(params.scales)) x *= Floats(params.scales).at[channel];
    if ((params.flags & kBias) != 0) x += Floats(params.bias).at[channel];
    if ((params.flags & kSilu) != 0) x = silu(x);
    if ((params.flags & kResidual) != 0)
        x += params.beta *
             ((params.flags & kFloat32) != 0 ? Floats(residual).at[place] : load(Elements(residual), place));
    if ((params.flags & kRelu) != 0 && x < 0) x *= params.negative_slope;
    return x;
}
void store_output(Address frame, uint place, float value) {
    if ((params.flags & kFloat32) != 0)
        Floats(frame).at[place] = value;
    else
        store(Elements(frame), place, value);
}
