// SoftmaxParams: each row of float32 scores to its softmax in elements. A workgroup a row.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "elements.glsl"
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer SoftmaxParams {
    Address scores, to;
    uint columns, scores_pitch, to_pitch;
};
layout(push_constant) uniform Launch { SoftmaxParams params; };
shared vec2 partial_[gl_WorkGroupSize.x];  // the greatest score of a thread, and the sum of exponentials beside it

vec2 joined(vec2 a, vec2 b) {
    const float greatest = max(a.x, b.x);
    return vec2(greatest, a.y * exp(a.x - greatest) + b.y * exp(b.x - greatest));
}

void main() {
    const uint columns = params.columns, to_first = gl_WorkGroupID.x * params.to_pitch;
    const uint thread = gl_LocalInvocationID.x, first = gl_WorkGroupID.x * params.scores_pitch;
    Floats scores = Floats(params.scores);
    const float kLeast = -3.4e38;  // not an infinity, whose difference to another is NaN
    vec2 part = vec2(kLeast, 0);
    for (uint c = thread; c < columns; c += gl_WorkGroupSize.x) {
        const float score = scores.at[first + c];
        if (score > part.x) part = vec2(score, part.y * exp(part.x - score));
        part.y += exp(score - part.x);
    }
    partial_[thread] = part;
    for (uint half_way = gl_WorkGroupSize.x / 2; half_way > 0; half_way /= 2) {
        barrier();
        if (thread < half_way) partial_[thread] = joined(partial_[thread], partial_[thread + half_way]);
    }
    barrier();
    const float greatest = partial_[0].x, factor = 1.0 / partial_[0].y;
    Elements to = Elements(params.to);
    for (uint c = thread; c < columns; c += gl_WorkGroupSize.x)
        store(to, to_first + c, exp(scores.at[first + c] - greatest) * factor);
}
