// DepthToSpaceParams: channels to blocks of 2 x 2 pixels. A thread an element of the output.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "elements.glsl"
#include "passes.glsl"
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer DepthToSpaceParams {
    FrameTable frames;
    uint width, channels_in, channels_out, columns_first, elements;
};
layout(push_constant) uniform Launch { DepthToSpaceParams params; };

void main() {
    const uint i = FLAT_INDEX;
    if (i >= params.elements) return;
    const uint c = i % params.channels_out, pixel = i / params.channels_out;
    const uint x = pixel % (2 * params.width), y = pixel / (2 * params.width);
    const uint part = params.columns_first != 0 ? x % 2 * 2 + y % 2 : y % 2 * 2 + x % 2;
    const uint from = (4 * c + part) * params.channels_in / (4 * params.channels_out);
    Elements(params.frames.output_[gl_WorkGroupID.y]).at[i] =
        Elements(params.frames.input_[gl_WorkGroupID.y])
            .at[(y / 2 * params.width + x / 2) * params.channels_in + from];
}
