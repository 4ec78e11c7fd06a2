// RmsNormParams: x * sqrt(channels) / max(||x||_2, 1e-12) * gamma, then SiLU or not; kLanes threads a pixel. x is the
// input or, if there is a sum, sum += input. A frame may be its own output.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "elements.glsl"
#include "passes.glsl"
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer RmsNormParams {
    FrameTable frames;
    Address sums[32];
    Address gamma;
    uint pixels, channels, silu_, adds;
};
layout(push_constant) uniform Launch { RmsNormParams params; };
layout(constant_id = 1) const uint kLanes = 16;
shared float squares_[gl_WorkGroupSize.x];

void main() {
    const uint thread = gl_LocalInvocationID.x, lane = thread % kLanes;
    const uint channels = params.channels;
    const bool adds = params.adds != 0, activates = params.silu_ != 0;
    const uint pixel = FLAT_INDEX / kLanes, frame = gl_WorkGroupID.y, first = pixel * channels;
    const bool present = pixel < params.pixels;
    Elements from = Elements(params.frames.input_[frame]);
    Elements read = adds ? Elements(params.sums[frame]) : from;
    float squares = 0;
    if (present)
        for (uint c = lane; c < channels; c += kLanes) {
            float x = load(from, first + c);
            if (adds) {
                x = rounded(x + load(read, first + c));
                store(read, first + c, x);
            }
            squares = fma(x, x, squares);
        }
    squares_[thread] = squares;
    for (uint half_way = kLanes / 2; half_way > 0; half_way /= 2) {
        barrier();
        const float other = lane < half_way ? squares_[thread + half_way] : 0.0;
        barrier();
        squares_[thread] += other;
    }
    barrier();
    if (!present) return;
    const float factor = sqrt(float(channels)) / max(sqrt(squares_[thread - lane]), 1e-12);
    Elements to = Elements(params.frames.output_[frame]);
    Floats gamma = Floats(params.gamma);
    for (uint c = lane; c < channels; c += kLanes) {
        const float y = load(read, first + c) * factor * gamma.at[c];
        store(to, first + c, activates ? silu(y) : y);
    }
}
