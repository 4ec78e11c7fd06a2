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
layout(constant_id = 2) const bool kWhole = false;  // a lane holds eight channels, of 16 bits: all that it has
shared float squares_[gl_WorkGroupSize.x];
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Units { uvec4 at[]; };

// The sum of a pixel's squares.
float sum_of_lanes(float squares) {
    const uint thread = gl_LocalInvocationID.x, lane = thread % kLanes;
    squares_[thread] = squares;
    for (uint half_way = kLanes / 2; half_way > 0; half_way /= 2) {
        barrier();
        const float other = lane < half_way ? squares_[thread + half_way] : 0.0;
        barrier();
        squares_[thread] += other;
    }
    barrier();
    return squares_[thread - lane];
}
float factor_of(float squares, uint channels) { return sqrt(float(channels)) / max(sqrt(squares), 1e-12); }

void norm_channel_by_channel() {
    const uint channels = params.channels, lane = gl_LocalInvocationID.x % kLanes;
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
    const float factor = factor_of(sum_of_lanes(squares), channels);
    if (!present) return;
    Elements to = Elements(params.frames.output_[frame]);
    Floats gamma = Floats(params.gamma);
    for (uint c = lane; c < channels; c += kLanes) {
        const float y = load(read, first + c) * factor * gamma.at[c];
        store(to, first + c, activates ? silu(y) : y);
    }
}

#if ELEMENT != 0
void norm_whole_pixels() {
    const uint channels = params.channels, lane = gl_LocalInvocationID.x % kLanes;
    const bool adds = params.adds != 0, activates = params.silu_ != 0;
    const uint pixel = FLAT_INDEX / kLanes, frame = gl_WorkGroupID.y, unit = pixel * (channels / 8) + lane;
    const bool present = pixel < params.pixels && lane < channels / 8;
    uvec4 words = uvec4(0);
    if (present) {
        words = Units(params.frames.input_[frame]).at[unit];
        if (adds) {
            const uvec4 others = Units(params.sums[frame]).at[unit];
            [[unroll]] for (uint i = 0; i < 4; ++i) words[i] = word_of(pair_of(words[i]) + pair_of(others[i]));
            Units(params.sums[frame]).at[unit] = words;
        }
    }
    float squares = 0;
    [[unroll]] for (uint i = 0; i < 4; ++i) squares += dot(pair_of(words[i]), pair_of(words[i]));
    const float factor = factor_of(sum_of_lanes(squares), channels);
    if (!present) return;
    Floats gamma = Floats(params.gamma);
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        vec2 y = pair_of(words[i]) * factor * vec2(gamma.at[8 * lane + 2 * i], gamma.at[8 * lane + 2 * i + 1]);
        if (activates) y = vec2(silu(y.x), silu(y.y));
        words[i] = word_of(y);
    }
    Units(params.frames.output_[frame]).at[unit] = words;
}
#endif

void main() {
#if ELEMENT != 0
    if (kWhole) {
        norm_whole_pixels();
        return;
    }
#endif
    norm_channel_by_channel();
}
