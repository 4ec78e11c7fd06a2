// GroupNormParams (kernels/conv/group_norm_params.hpp), in three pipelines: kPart 0 makes moments, 1 factors, 2 norms.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "elements.glsl"
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer GroupNormParams {
    Address input_, output_, moments, factors, parameters;
    uint pixels, channels, groups, tile, tiles;
    float epsilon;
    uint silu_;
};
layout(push_constant) uniform Launch { GroupNormParams params; };
layout(constant_id = 1) const uint kPart = 0;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Units { uvec4 at[]; };

const uint kVector = 8, kLanes = 16, kSlab = kVector * kLanes, kThreads = 256, kRows = kThreads / kLanes, kParts = 4;
shared float sums_[kRows * kSlab], squares_[kRows * kSlab];

// A pixel's channels from `channel` on; zeros after the last. Whole units where pixels are multiples of them.
void load_channels(uint pixel, uint channel, out float values[kVector]) {
    const uint first = pixel * params.channels + channel;
#if ELEMENT != 0
    if (params.channels % kVector == 0) {
        const uvec4 words = Units(params.input_).at[first / kVector];
        [[unroll]] for (uint i = 0; i < 4; ++i) {
            const vec2 pair = pair_of(words[i]);
            values[2 * i] = pair.x;
            values[2 * i + 1] = pair.y;
        }
        return;
    }
#endif
    [[unroll]] for (uint i = 0; i < kVector; ++i)
        values[i] = channel + i < params.channels ? load(Elements(params.input_), first + i) : 0.0;
}

void store_channels(uint pixel, uint channel, float values[kVector]) {
    const uint first = pixel * params.channels + channel;
#if ELEMENT != 0
    if (params.channels % kVector == 0) {
        uvec4 words;
        [[unroll]] for (uint i = 0; i < 4; ++i) words[i] = word_of(vec2(values[2 * i], values[2 * i + 1]));
        Units(params.output_).at[first / kVector] = words;
        return;
    }
#endif
    [[unroll]] for (uint i = 0; i < kVector; ++i)
        if (channel + i < params.channels) store(Elements(params.output_), first + i, values[i]);
}

uint pixels_of(uint tile) { return min(params.tile, params.pixels - tile * params.tile); }

// Sums of differences from the tile's first pixel.
void make_moments() {
    const uint thread = gl_LocalInvocationID.x, lane = thread % kLanes, row = thread / kLanes;
    const uint tile = gl_WorkGroupID.x, first = tile * params.tile, count = pixels_of(tile);
    const uint slab = gl_WorkGroupID.y * kSlab, own = slab + lane * kVector;
    float sums[kVector], squares[kVector];
    [[unroll]] for (uint i = 0; i < kVector; ++i) sums[i] = squares[i] = 0;
    if (own < params.channels) {
        float base[kVector], values[kVector];
        load_channels(first, own, base);
        for (uint pixel = row; pixel < count; pixel += kRows) {
            load_channels(first + pixel, own, values);
            [[unroll]] for (uint i = 0; i < kVector; ++i) {
                const float difference = values[i] - base[i];
                sums[i] += difference;
                squares[i] = fma(difference, difference, squares[i]);
            }
        }
    }
    [[unroll]] for (uint i = 0; i < kVector; ++i) {
        sums_[row * kSlab + i * kLanes + lane] = sums[i];
        squares_[row * kSlab + i * kLanes + lane] = squares[i];
    }
    barrier();
    const uint channel = slab + thread % kLanes * kVector + thread / kLanes;
    if (thread >= kSlab || channel >= params.channels) return;
    float sum = 0, all = 0;
    for (uint i = 0; i < kRows; ++i) {
        sum += sums_[i * kSlab + thread];
        all += squares_[i * kSlab + thread];
    }
    const float mean = sum / float(count);
    const uint to = tile * 2 * params.channels + channel;
    Floats(params.moments).at[to] = load(Elements(params.input_), first * params.channels + channel) + mean;
    Floats(params.moments).at[to + params.channels] = max(all - sum * mean, 0.0);
}

// Of the values of all threads, in all of them.
float gathered(float value) {
    const uint thread = gl_LocalInvocationID.x;
    barrier();
    sums_[thread] = value;
    for (uint half_way = kThreads / 2; half_way > 0; half_way /= 2) {
        barrier();
        if (thread < half_way) sums_[thread] += sums_[thread + half_way];
    }
    barrier();
    return sums_[0];
}

void make_factors() {
    const uint thread = gl_LocalInvocationID.x, width = params.channels / params.groups;
    const uint channel = gl_WorkGroupID.x * width;
    Floats moments = Floats(params.moments);
    const float base = moments.at[channel], part = 1.0 / (float(params.pixels) * float(width));
    float sum = 0;
    for (uint i = thread; i < params.tiles * width; i += kThreads)
        sum += float(pixels_of(i / width)) * (moments.at[i / width * 2 * params.channels + channel + i % width] - base);
    const float mean = base + part * gathered(sum);
    sum = 0;
    for (uint i = thread; i < params.tiles * width; i += kThreads) {
        const uint at = i / width * 2 * params.channels + channel + i % width;
        const float difference = moments.at[at] - mean;
        sum += moments.at[at + params.channels] + float(pixels_of(i / width)) * difference * difference;
    }
    const float scale = inversesqrt(part * gathered(sum) + params.epsilon);
    for (uint i = thread; i < width; i += kThreads) {
        Floats(params.factors).at[channel + i] = mean;
        Floats(params.factors).at[params.channels + channel + i] = scale * Floats(params.parameters).at[channel + i];
    }
}

void norm() {
    const uint lane = gl_LocalInvocationID.x % kLanes, channel = gl_WorkGroupID.y * kSlab + lane * kVector;
    const uint row = gl_WorkGroupID.z * kRows + gl_LocalInvocationID.x / kLanes;
    if (channel >= params.channels) return;
    Floats factors = Floats(params.factors), parameters = Floats(params.parameters);
    float means[kVector], scales[kVector], biases[kVector];
    [[unroll]] for (uint i = 0; i < kVector; ++i) {
        const uint c = min(channel + i, params.channels - 1);
        means[i] = factors.at[c];
        scales[i] = factors.at[params.channels + c];
        biases[i] = parameters.at[params.channels + c];
    }
    const uint first = gl_WorkGroupID.x * params.tile, count = pixels_of(gl_WorkGroupID.x);
    for (uint pixel = row; pixel < count; pixel += kParts * kRows) {
        float values[kVector];
        load_channels(first + pixel, channel, values);
        [[unroll]] for (uint i = 0; i < kVector; ++i) {
            values[i] = (values[i] - means[i]) * scales[i] + biases[i];
            if (params.silu_ != 0) values[i] = silu(values[i]);
        }
        store_channels(first + pixel, channel, values);
    }
}

void main() {
    if (kPart == 0)
        make_moments();
    else if (kPart == 1)
        make_factors();
    else
        norm();
}
