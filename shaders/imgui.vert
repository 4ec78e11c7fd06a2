// ImGui's triangles: pixels to clip space, colours passed on.
#version 450

layout(location = 0) in vec2 position;  // pixels
layout(location = 1) in vec2 texture_coordinates;
layout(location = 2) in vec4 color;  // sRGB-encoded, as ImGui's styles are

layout(location = 0) out vec2 out_texture_coordinates;
layout(location = 1) out vec4 out_color;

layout(push_constant) uniform Constants {
    vec2 scale;
    vec2 translate;
};

void main() {
    out_texture_coordinates = texture_coordinates;
    out_color = color;
    gl_Position = vec4(position * scale + translate, 0.0, 1.0);
}
