// Red channel of every pixel, as 0 to 255.
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) uniform sampler2D image;
layout(binding = 1) writeonly buffer Output { uint values[]; } result;
void main() {
    ivec2 size = textureSize(image, 0);
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (all(lessThan(at, size)))
        result.values[at.y * size.x + at.x] = uint(round(texelFetch(image, at, 0).r * 255.0));
}
