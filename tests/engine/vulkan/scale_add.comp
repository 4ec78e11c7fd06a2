// out[i] = in[i] * factor + offset
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Input { uint values[]; } source;
layout(binding = 1) writeonly buffer Output { uint values[]; } result;
layout(push_constant) uniform Constants { uint factor; uint offset; uint count; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) result.values[i] = source.values[i] * factor + offset;
}
