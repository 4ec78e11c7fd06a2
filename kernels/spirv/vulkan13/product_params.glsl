// ProductParams (attention_plan.cpp): to[row][column] = factor * sum over depth of left[row][depth] * right of column
// and depth; left and right of elements, to of elements or float32.
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer ProductParams {
    Address left, right, to;
    uint rows, columns, depth;
    uint left_pitch, right_pitch, to_pitch;  // elements from row to row
    float factor;
    uint float32;
};
layout(push_constant) uniform Launch { ProductParams params; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Vectors { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer WordPairs { uvec2 at[]; };

void put_product(uint row, uint column, float value) {
    if (params.float32 != 0)
        Floats(params.to).at[row * params.to_pitch + column] = value;
    else
        store(Elements(params.to), row * params.to_pitch + column, value);
}
