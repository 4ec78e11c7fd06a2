// Takes as long as `turns` turns of a loop; the result is only there so that they are not removed.
#version 460
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 8) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Word { uint value; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Params {
    Word result;
    uint turns;
};
layout(push_constant) uniform Arguments { Params params; };

void main() {
    uint x = gl_GlobalInvocationID.x;
    for (uint turn = 0; turn < params.turns; ++turn) x = x * 1664525u + 1013904223u;
    params.result.value = x;
}
