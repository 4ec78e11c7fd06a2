/// One small kernel for every group of wrappers in kernels/isa/amd, compiled for the chip and for the host. The
/// compiled ones run in an instruction emulator, the others in the host model, and both must leave the same bits: an
/// error of either model shows.

#include <kinetograph/kernels/isa/amd/buffer.hpp>
#include <kinetograph/kernels/isa/amd/cross_lane.hpp>
#include <kinetograph/kernels/isa/amd/mfma.hpp>

#include "wave_instructions.hpp"

namespace kinetograph::emulator {

using namespace isa::amd;

namespace {

/// The lane's slice of `words` words in a buffer that all workgroups and waves divide evenly, as a byte offset.
KG_DEVICE Lanes<uint32_t> slice(uint32_t words, uint32_t waves = 1) {
    return ((workgroup_index().x * waves + wave_index()) * kWaveLanes + lane_index()) * (words * 4);
}

}  // namespace

/// Every fifth lane is a halo lane; then each wave reads, at three widths, what its neighbour has loaded.
KG_KERNEL(conform_loads_to_lds, Params, 256, 1) {
    const LdsPlace lds = allocate_lds<8192>();
    const Buffer input = make_buffer(params.a, params.bytes);
    const uint32_t wave = wave_index(), next = (wave + 1) % 4;
    const auto lane = lane_index();
    const auto offset = (workgroup_index().x * 8 + wave * 2) * 1024u + (lane ^ 5u) * 16u;
    load_16_to_lds(input, lds + wave * 2048u, select(lane % 5u == 3u, Lanes<uint32_t>(kOutOfRange), offset));
    load_16_to_lds(input, lds + (wave * 2048u + 1024u), offset + 1024u);
    wait_vector_memory<0>();
    barrier();
    const Packed16 wide = read_lds_16(lds + next * 2048u, lane * 16u);
    const Packed8 half = read_lds_8(lds + (next * 2048u + 1024u), lane * 8u);
    const auto word = read_lds_4(lds + (next * 2048u + 1536u), (lane ^ 1u) * 4u);
    const Buffer output = make_buffer(params.d, params.bytes);
    store_16(output, slice(8, 4), wide);
    store_8(output, slice(8, 4) + 16u, half);
    store_4(output, slice(8, 4) + 24u, word);
}

/// LDS writes by some lanes, at three widths, read by other lanes after a barrier.
KG_KERNEL(conform_lds_writes, Params, 128, 1) {
    const LdsPlace lds = allocate_lds<4096>();
    const Buffer input = make_buffer(params.a, params.bytes);
    const auto lane = lane_index();
    const auto thread = lane + wave_index() * kWaveLanes;
    const Packed16 wide = load_16(input, slice(4, 2));
    write_lds_16(lds, thread * 16u, wide);
    sync_workgroup();
    Packed8 half;
    half[0] = wide[0] + 1u;
    half[1] = wide[1] ^ wide[2];
    write_lds_8(lds, thread * 16u, half, thread % 3u == 0u);
    write_lds_4(lds, thread * 16u + 12u, thread, thread % 2u == 1u);
    sync_workgroup();
    store_16(make_buffer(params.d, params.bytes), slice(4, 2), read_lds_16(lds, (127u - thread) * 16u));
}

/// Loads and stores of every width, some of their lanes beyond the descriptors' sizes, with and without a scalar
/// offset.
KG_KERNEL(conform_buffers, Params, 64, 1) {
    const Buffer input = make_buffer(params.a, params.bytes);
    const Buffer some = make_buffer(params.a, params.bytes / 2);
    const Buffer output = make_buffer(params.d, params.bytes);
    const Buffer short_output = make_buffer(params.d, 3000);
    const auto lane = lane_index();
    store_16(output, lane * 16u, load_16(some, lane * 64u));
    store_8(output, lane * 8u, load_8(input, (63u - lane) * 8u, 64u), 1024u);
    store_4(output, lane * 4u, load_4(some, lane * 68u), 1536u);
    store_2(output, lane * 2u + 1792u, load_2(input, lane * 6u));
    store_1(output, lane + 1920u, load_1(input, lane * 7u));
    store_16(short_output, lane * 32u + 2048u, load_16(input, lane * 16u));
}

/// Products whose sums are integers below 2^24: exact in every order of addition.
KG_KERNEL(conform_mfma_bf16, Params, 64, 1) {
    const Buffer output = make_buffer(params.d, params.bytes);
    Accumulator sum = bits_as_accumulator(load_16(output, slice(4)));
    for (uint32_t k = 0; k < params.count; ++k) {
        sum = mfma_16x16x32<Element::BF16>(load_16(make_buffer(params.a, params.bytes), slice(4), k * 1024),
                                           load_16(make_buffer(params.b, params.bytes), slice(4), k * 1024), sum);
    }
    store_16(output, slice(4), bits_as_words(sum));
}
KG_KERNEL(conform_mfma_f16, Params, 64, 1) {
    const Buffer output = make_buffer(params.d, params.bytes);
    Accumulator sum = bits_as_accumulator(load_16(output, slice(4)));
    for (uint32_t k = 0; k < params.count; ++k) {
        sum = mfma_16x16x32<Element::F16>(load_16(make_buffer(params.a, params.bytes), slice(4), k * 1024),
                                          load_16(make_buffer(params.b, params.bytes), slice(4), k * 1024), sum);
    }
    store_16(output, slice(4), bits_as_words(sum));
}
KG_KERNEL(conform_mfma_f8e4m3, Params, 64, 1) {
    const Buffer output = make_buffer(params.d, params.bytes);
    const Buffer a = make_buffer(params.a, params.bytes), b = make_buffer(params.b, params.bytes);
    Accumulator sum = bits_as_accumulator(load_16(output, slice(4)));
    for (uint32_t k = 0; k < params.count; ++k) {
        sum = mfma_16x16x128_f8e4m3(join(load_16(a, slice(8), k * 2048), load_16(a, slice(8) + 16u, k * 2048)),
                                    join(load_16(b, slice(8), k * 2048), load_16(b, slice(8) + 16u, k * 2048)), sum);
    }
    store_16(output, slice(4), bits_as_words(sum));
}

/// Every conversion of math.hpp, in both directions.
KG_KERNEL(conform_conversions, Params, 64, 1) {
    const Packed16 words = load_16(make_buffer(params.a, params.bytes), slice(4));
    const auto w = bits_as<float>(Lanes<uint32_t>(words[0])), x = bits_as<float>(Lanes<uint32_t>(words[1])),
               y = bits_as<float>(Lanes<uint32_t>(words[2])), z = bits_as<float>(Lanes<uint32_t>(words[3]));
    const Buffer output = make_buffer(params.d, params.bytes);
    Packed16 packed;
    packed[0] = pack_bf16(w, x);
    packed[1] = pack_f16(w, x);
    packed[2] = pack_f8e4m3(w, x, y, z);
    packed[3] = bits_as<uint32_t>(low_bf16(packed[0]) + high_bf16(packed[0]));
    store_16(output, slice(8), packed);
    packed[0] = bits_as<uint32_t>(low_f16(packed[1]));
    packed[1] = bits_as<uint32_t>(high_f16(packed[1]));
    packed[2] = bits_as<uint32_t>(max(w, x));
    packed[3] = bits_as<uint32_t>(min(y, z));
    store_16(output, slice(8) + 16u, packed);
}

/// Approximations by the hardware: equal to a few units in the last place.
KG_KERNEL(conform_functions, Params, 64, 1) {
    const auto x = bits_as<float>(load_4(make_buffer(params.a, params.bytes), slice(1)));
    Packed16 results;
    results[0] = bits_as<uint32_t>(exp2(x));
    results[1] = bits_as<uint32_t>(reciprocal(x));
    results[2] = bits_as<uint32_t>(reciprocal_sqrt(x * x + 0.25f));
    results[3] = bits_as<uint32_t>(fma(x, x, Lanes<float>(-1.5f)));
    store_16(make_buffer(params.d, params.bytes), slice(4), results);
}

/// Integer arithmetic for addresses: quotients, remainders, high products, shifts, selections, workgroups in three
/// axes.
KG_KERNEL(conform_integers, Params, 128, 1) {
    const Index3 group = workgroup_index();
    const uint32_t workgroup = (group.z * 3 + group.y) * 5 + group.x;
    const auto index = (workgroup * 2 + wave_index()) * kWaveLanes + lane_index();
    const Buffer input = make_buffer(params.a, params.bytes);
    const auto x = load_4(input, index * 8u), y = load_4(input, index * 8u + 4u) | 1u;
    Packed16 results;
    results[0] = x / y + x % y;
    results[1] = mul_hi(x, y) ^ (x * y);
    results[2] = select(x < y, Lanes<uint32_t>(x >> (y % 32u)), Lanes<uint32_t>(y << (x % 32u))) - workgroup;
    results[3] = select(x == y, Lanes<uint32_t>(0u), Lanes<uint32_t>(x / params.count + y % params.count));
    store_16(make_buffer(params.d, params.bytes), index * 16u, results);
}

/// Values exchanged between lanes.
KG_KERNEL(conform_lanes, Params, 64, 1) {
    const auto word = load_4(make_buffer(params.a, params.bytes), slice(1));
    const auto number = Lanes<float>(word % 1024u);
    const Buffer output = make_buffer(params.d, params.bytes);
    Packed16 results;
    results[0] = exchange<1>(word) + exchange<6>(word) + exchange<16>(word) + exchange<32>(word) + exchange<63>(word);
    results[1] = permute(word, Lanes<uint32_t>((word + lane_index()) % kWaveLanes));
    results[2] = read_lane(word, params.count) ^ read_first_lane(word);
    results[3] = bits_as<uint32_t>(sum_lanes(number));
    store_16(output, slice(8), results);
    results[0] = bits_as<uint32_t>(max_lanes(number));
    results[1] = bits_as<uint32_t>(sum_lanes<16>(number));
    results[2] = bits_as<uint32_t>(max_lanes<4>(number));
    results[3] = lane_index();
    store_16(output, slice(8) + 16u, results);
}

}  // namespace kinetograph::emulator
