// UnpackLatentParams: planar latents to channel-last frames, mapped and limited. A thread a pixel.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "elements.glsl"
#include "passes.glsl"
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer UnpackLatentParams {
    FrameTable frames;
    Address map_;
    uint pixels, channels;
    float soft_limit;
    uint latent;  // Element of the input
};
layout(push_constant) uniform Launch { UnpackLatentParams params; };

float latent_at(Address frame, uint i) {
    if (params.latent == 0) return Floats(frame).at[i];
    const uint bits = uint(Halves(frame).at[i]);
    return params.latent == 1 ? unpackHalf2x16(bits).x : uintBitsToFloat(bits << 16);
}

void main() {
    const uint pixel = FLAT_INDEX;
    if (pixel >= params.pixels) return;
    const Address from = params.frames.input_[gl_WorkGroupID.y];
    Elements to = Elements(params.frames.output_[gl_WorkGroupID.y]);
    Floats map_ = Floats(params.map_);
    for (uint c = 0; c < params.channels; ++c) {
        float value;
        if (is_null(params.map_)) {
            value = latent_at(from, c * params.pixels + pixel);
        } else {
            value = map_.at[params.channels * params.channels + c];
            for (uint i = 0; i < params.channels; ++i)
                value = fma(latent_at(from, i * params.pixels + pixel), map_.at[i * params.channels + c], value);
        }
        if (params.soft_limit > 0) value = params.soft_limit * tanh(value / params.soft_limit);
        store(to, pixel * params.channels + c, value);
    }
}
