// ImGui's colours and glyphs.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "srgb.glsl"

layout(constant_id = 0) const bool kTargetEncodes = false;  // true: the target's sRGB format encodes on write

layout(location = 0) in vec2 texture_coordinates;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 out_color;

layout(binding = 0) uniform sampler2D image;

void main() {
    vec4 result = color * texture(image, texture_coordinates);
    out_color = kTargetEncodes ? vec4(decode_srgb(result.rgb), result.a) : result;
}
