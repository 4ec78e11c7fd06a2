// UpsampleParams: every pixel becomes a block of 2 x 2. A thread an element of the input.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "elements.glsl"
#include "passes.glsl"
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer UpsampleParams {
    FrameTable frames;
    uint row_elements, channels, elements;
};
layout(push_constant) uniform Launch { UpsampleParams params; };

void main() {
    const uint i = FLAT_INDEX;
    if (i >= params.elements) return;
    const uint row = i / params.row_elements, pixel = i % params.row_elements / params.channels, c = i % params.channels;
    Elements from = Elements(params.frames.input_[gl_WorkGroupID.y]);
    Elements to = Elements(params.frames.output_[gl_WorkGroupID.y]);
    const uint first = 4 * row * params.row_elements + 2 * pixel * params.channels + c;
    [[unroll]] for (uint part = 0; part < 4; ++part)
        to.at[first + part / 2 * 2 * params.row_elements + part % 2 * params.channels] = from.at[i];
}
