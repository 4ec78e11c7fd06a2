// One triangle that covers the viewport, which is set to a rectangle of the target.
#version 450

layout(location = 0) out vec2 position;  // 0 to 1 across the rectangle

void main() {
    position = vec2((gl_VertexIndex << 1) & 2, gl_VertexIndex & 2);
    gl_Position = vec4(position * 2.0 - 1.0, 0.0, 1.0);
}
