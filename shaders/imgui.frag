#version 450

layout(location = 0) in vec2 texture_coordinates;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 out_color;

layout(binding = 0) uniform sampler2D image;

layout(push_constant) uniform Constants {
    vec2 scale;
    vec2 translate;
    uint target_encodes;
};

vec3 decode_srgb(vec3 encoded) {
    return mix(encoded / 12.92, pow((encoded + 0.055) / 1.055, vec3(2.4)), greaterThan(encoded, vec3(0.04045)));
}

void main() {
    vec4 result = color * texture(image, texture_coordinates);
    out_color = target_encodes == 1 ? vec4(decode_srgb(result.rgb), result.a) : result;
}
