// A decoded frame, scaled to a rectangle of the target. Filters in linear light: the frame's texture decodes sRGB when
// it is sampled. Enlarged pictures are interpolated, reduced ones averaged over all the pixels that fall together.
#version 450

layout(location = 0) out vec4 out_color;

layout(binding = 0) uniform sampler2D picture;

layout(push_constant) uniform Constants {
    vec2 origin;          // of the rectangle, pixels of the target
    vec2 size;            // of the rectangle
    uint target_encodes;  // 1: the target is an sRGB format, which encodes what is written
};

const int kMostTaps = 8;  // an axis; beyond an eighth of the size some pixels are left out

vec3 encode_srgb(vec3 linear) {
    return mix(linear * 12.92, 1.055 * pow(linear, vec3(1.0 / 2.4)) - 0.055, greaterThan(linear, vec3(0.0031308)));
}

void main() {
    vec2 position = (gl_FragCoord.xy - origin) / size;      // centre of this pixel
    vec2 footprint = 1.0 / size;                            // of this pixel in the picture
    ivec2 taps = clamp(ivec2(ceil(vec2(textureSize(picture, 0)) / size)), ivec2(1), ivec2(kMostTaps));
    vec3 sum = vec3(0.0);
    for (int y = 0; y < taps.y; ++y)
        for (int x = 0; x < taps.x; ++x) {
            vec2 offset = (vec2(x, y) + 0.5) / vec2(taps) - 0.5;
            sum += textureLod(picture, position + offset * footprint, 0.0).rgb;
        }
    vec3 average = sum / float(taps.x * taps.y);
    out_color = vec4(target_encodes == 1 ? average : encode_srgb(average), 1.0);
}
