// to = from * scale + offset, kTimes in a row. The number of threads is specialization constant 0.
#version 460
#extension GL_EXT_buffer_reference : require

layout(local_size_x_id = 0, local_size_x = 64) in;
layout(constant_id = 1) const uint kTimes = 1;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Params {
    Floats from, to;
    uint count;
    float scale, offset;
};
layout(push_constant) uniform Arguments { Params params; };

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= params.count) return;
    float value = params.from.at[i];
    for (uint times = 0; times < kTimes; ++times) value = value * params.scale + params.offset;
    params.to.at[i] = value;
}
