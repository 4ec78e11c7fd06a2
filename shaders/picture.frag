// A decoded frame at its own size or enlarged: its values interpolated, otherwise unchanged. One tap, no transfer
// function: this runs for every pixel of every refresh, also on a CPU.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "srgb.glsl"

layout(constant_id = 0) const bool kTargetEncodes = false;  // true: the target's sRGB format encodes on write

layout(location = 0) in vec2 position;
layout(location = 0) out vec4 out_color;

layout(binding = 0) uniform sampler2D picture;

void main() {
    vec3 color = textureLod(picture, position, 0.0).rgb;
    out_color = vec4(kTargetEncodes ? decode_srgb(color) : color, 1.0);
}
