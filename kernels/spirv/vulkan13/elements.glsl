// How elements lie in memory: -DELEMENT=0 float32, 1 float16, 2 bfloat16 (kinetograph::Element's order). Sums are
// float32. Only storage needs 16 bits, no arithmetic.
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_16bit_storage : require

#define Address uvec2  // a device address as the host's struct has it; null is (0, 0)
bool is_null(Address address) { return all(equal(address, uvec2(0))); }

// Bits of the nearest float16, ties to even: a conversion's rounding is the implementation's choice.
uint float16_bits(float value) {
    const uint bits = floatBitsToUint(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7e00u;
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
    if (magnitude < 0x33000001u) return sign;
    const int exponent = int(magnitude >> 23) - 127;
    const uint significand = (magnitude & 0x7fffffu) | 0x800000u;
    const uint dropped = exponent < -14 ? uint(-1 - exponent) : 13u;  // bits below the last of the result
    const uint kept = significand >> dropped, rest = significand & ((1u << dropped) - 1u), half_way = 1u << (dropped - 1u);
    const uint rounded = kept + (rest > half_way || (rest == half_way && (kept & 1u) == 1u) ? 1u : 0u);
    return sign | (exponent < -14 ? rounded : rounded + (uint(exponent + 14) << 10));
}
uint bfloat16_bits(float value) {
    const uint bits = floatBitsToUint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

#if ELEMENT == 0
#define Stored float
#else
#define Stored uint16_t
#endif
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Elements { Stored at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Floats { float at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Halves { uint16_t at[]; };

#if ELEMENT == 1
vec2 pair_of(uint word) { return unpackHalf2x16(word); }
uint word_of(vec2 pair) { return float16_bits(pair.x) | float16_bits(pair.y) << 16; }
#elif ELEMENT == 2
vec2 pair_of(uint word) { return vec2(uintBitsToFloat(word << 16), uintBitsToFloat(word & 0xffff0000u)); }
uint word_of(vec2 pair) { return bfloat16_bits(pair.x) | bfloat16_bits(pair.y) << 16; }
#endif

#if ELEMENT == 0
float rounded(float value) { return value; }
float load(Elements from, uint i) { return from.at[i]; }
void store(Elements to, uint i, float value) { to.at[i] = value; }
#elif ELEMENT == 1
float rounded(float value) { return unpackHalf2x16(float16_bits(value)).x; }
float load(Elements from, uint i) { return unpackHalf2x16(uint(from.at[i])).x; }
void store(Elements to, uint i, float value) { to.at[i] = uint16_t(float16_bits(value)); }
#else
float rounded(float value) { return uintBitsToFloat(bfloat16_bits(value) << 16); }
float load(Elements from, uint i) { return uintBitsToFloat(uint(from.at[i]) << 16); }
void store(Elements to, uint i, float value) { to.at[i] = uint16_t(bfloat16_bits(value)); }
#endif

float silu(float x) { return x / (1.0 + exp(-x)); }

layout(local_size_x_id = 0) in;
