// A decoded frame made smaller: averages all pixels that fall on one pixel of the target, in linear light, so that fine
// bright detail keeps its brightness.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "srgb.glsl"

layout(constant_id = 0) const bool kTargetEncodes = false;  // true: the target's sRGB format encodes on write

layout(location = 0) in vec2 position;
layout(location = 0) out vec4 out_color;

layout(binding = 0) uniform sampler2D picture;

layout(push_constant) uniform Constants {
    vec2 size;  // of the rectangle that is drawn, pixels of the target
};

const int kMostTaps = 8;  // per axis; below an eighth of the size some pixels are skipped

void main() {
    ivec2 taps = clamp(ivec2(ceil(vec2(textureSize(picture, 0)) / size)), ivec2(1), ivec2(kMostTaps));
    vec3 sum = vec3(0.0);
    for (int y = 0; y < taps.y; ++y)
        for (int x = 0; x < taps.x; ++x) {
            vec2 offset = ((vec2(x, y) + 0.5) / vec2(taps) - 0.5) / size;
            sum += decode_srgb(textureLod(picture, position + offset, 0.0).rgb);
        }
    vec3 average = sum / float(taps.x * taps.y);
    out_color = vec4(kTargetEncodes ? average : encode_srgb(average), 1.0);
}
