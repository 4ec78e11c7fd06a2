// StorePictureParams: frames of three channels in [-1, 1] as opaque pictures of 8 bits. A thread a pixel.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "elements.glsl"
#include "passes.glsl"
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer StorePictureParams {
    FrameTable frames;
    Address not_finite;
    uint pixels;
};
layout(push_constant) uniform Launch { StorePictureParams params; };

void main() {
    const uint pixel = FLAT_INDEX;
    if (pixel >= params.pixels) return;
    Elements from = Elements(params.frames.input_[gl_WorkGroupID.y]);
    uint word = 0xff000000u;
    bool finite = true;
    [[unroll]] for (uint c = 0; c < 3; ++c) {
        const float x = load(from, 3 * pixel + c);
        const uint magnitude = floatBitsToUint(x) & 0x7fffffffu;
        finite = finite && magnitude < 0x7f800000u;
        const float value = magnitude > 0x7f800000u ? 0.0 : clamp((x + 1.0) * 127.5, 0.0, 255.0);
        word |= uint(value + 0.5) << (8 * c);
    }
    if (!finite && !is_null(params.not_finite)) Words(params.not_finite).at[0] = 1;
    Words(params.frames.output_[gl_WorkGroupID.y]).at[pixel] = word;
}
