// StoreFloatParams: frames limited and stored as float32 or float16. A thread an element.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "elements.glsl"
#include "passes.glsl"
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer StoreFloatParams {
    FrameTable frames;
    Address not_finite;
    uint elements;
    float limit;
    uint half_;
};
layout(push_constant) uniform Launch { StoreFloatParams params; };

void main() {
    const uint i = FLAT_INDEX;
    if (i >= params.elements) return;
    const float x = load(Elements(params.frames.input_[gl_WorkGroupID.y]), i);
    const bool finite = (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u;
    if (!finite && !is_null(params.not_finite)) Words(params.not_finite).at[0] = 1;
    const bool nan = (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
    const float limited = nan ? x : clamp(x, -params.limit, params.limit);
    const Address to = params.frames.output_[gl_WorkGroupID.y];
    if (params.half_ != 0)
        Halves(to).at[i] = uint16_t(float16_bits(limited));
    else
        Floats(to).at[i] = limited;
}
