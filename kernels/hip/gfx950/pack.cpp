#include <algorithm>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/conv/sub_pixel.hpp>
#include <kinetograph/kernels/hip/gfx950/pack.hpp>
#include <kinetograph/kernels/isa/amd/small_floats.hpp>

namespace kinetograph::gfx950 {
namespace {

using conv::ceil_div;
using conv::ConvProblem;
using conv::round_up;

std::byte* put(std::byte* at, Element element, float value) {
    uint32_t bits = 0;
    switch (element) {
        case Element::BF16:
            bits = isa::amd::to_bf16(value);
            break;
        case Element::F16:
            bits = isa::amd::to_f16(value);
            break;
        case Element::F8E4M3:
            *at = static_cast<std::byte>(isa::amd::to_f8e4m3(value));
            return at + 1;
        default:
            break;
    }
    at[0] = static_cast<std::byte>(bits & 0xffu);
    at[1] = static_cast<std::byte>(bits >> 8);
    return at + 2;
}

}  // namespace

bool is_folded(const ConvProblem& p) { return conv::is_sub_pixel(p) && p.input.element != Element::F8E4M3; }

Walk walk_of(const ConvProblem& p) {
    return is_folded(p) ? Walk{4, p.h, p.w, 2, 2} : Walk{1, p.h_out(), p.w_out(), p.filter.r, p.filter.s};
}

int64_t tap_pitch(const ConvProblem& p, ConvPath path, uint32_t bk) {
    return path == ConvPath::Padded ? round_up(p.c_in, bk) : p.c_in;
}
int64_t steps_per_q(const ConvProblem& p, ConvPath path, uint32_t bk) {
    return ceil_div(walk_of(p).r * walk_of(p).s * tap_pitch(p, path, bk), bk);
}
int64_t filter_row(const ConvProblem& p, ConvPath path, uint32_t bk) {
    return round_up(p.filter.q * steps_per_q(p, path, bk) * bk, 256);
}

std::vector<std::byte> pack_filter(const ConvProblem& p, const ConvKernel& kernel, std::span<const float> filter,
                                   FilterOrder order) {
    if (p.empty() || filter.empty()) return {};
    const auto index = [&](int64_t k, int64_t q, int64_t rs, int64_t c) {
        switch (order) {
            case FilterOrder::Kcqrs:
                return ((k * p.c_in + c) * p.filter.q + q) * p.filter.r * p.filter.s + rs;
            case FilterOrder::Kqrsc:
                return ((k * p.filter.q + q) * p.filter.r * p.filter.s + rs) * p.c_in + c;
            case FilterOrder::Qrsck:
                return ((q * p.filter.r * p.filter.s + rs) * p.c_in + c) * p.filter.k + k;
        }
        return int64_t{0};
    };
    const Walk walk = walk_of(p);
    const auto weight = [&](int64_t parity, int64_t k, int64_t q, int64_t r, int64_t s, int64_t c) {
        if (walk.parities == 1) return filter[index(k, q, r * p.filter.s + s, c)];
        const conv::FoldedTaps rows = conv::folded_taps(parity / 2, r), columns = conv::folded_taps(parity % 2, s);
        float sum = 0;
        for (int64_t row = rows.first; row < rows.end; ++row)
            for (int64_t column = columns.first; column < columns.end; ++column)
                sum += filter[index(k, q, row * p.filter.s + column, c)];
        return sum;
    };
    const ConvPath path = kernel.path;
    const uint32_t bk = kernel.tile.bk;
    const int64_t tap_bytes = tap_pitch(p, path, bk) * element_bytes(p.input.element);
    const int64_t frame_bytes = steps_per_q(p, path, bk) * bk * element_bytes(p.input.element);
    const int64_t pitch = filter_row(p, path, bk) * element_bytes(p.input.element);
    std::vector<std::byte> packed(static_cast<size_t>(walk.parities * p.filter.k * pitch));
    for (int64_t row = 0; row < walk.parities * p.filter.k; ++row) {
        for (int64_t q = 0; q < p.filter.q; ++q) {
            std::byte* const taps_of_q = packed.data() + row * pitch + q * frame_bytes;
            for (int64_t rs = 0; rs < walk.r * walk.s; ++rs) {
                std::byte* at = taps_of_q + rs * tap_bytes;
                for (int64_t c = 0; c < p.c_in; ++c)
                    at = put(at, p.input.element,
                             weight(row / p.filter.k, row % p.filter.k, q, rs / walk.s, rs % walk.s, c));
            }
        }
    }
    return packed;
}

LaunchShape launch_shape(const FilterPackProblem& p) {
    const ConvProblem& conv = p.problem;
    const int64_t row = filter_row(conv, p.kernel.path, p.kernel.tile.bk) * element_bytes(conv.weight.element);
    return {"filter_pack",
            std::string("kinetograph_pack_filter_") + element_name(conv.weight.element) + "_" + element_name(p.stored),
            workgroups(static_cast<uint64_t>(row / 4)), static_cast<uint32_t>(conv.filter.k),
            static_cast<uint32_t>(walk_of(conv).parities)};
}

FilterPackParams make_params(const FilterPackProblem& p, const std::byte* filter, std::byte* packed) {
    const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
    const ConvProblem& conv = p.problem;
    const Walk walk = walk_of(conv);
    const uint32_t bk = p.kernel.tile.bk;
    const int64_t taps = conv.taps(), image = conv.filter.r * conv.filter.s;
    const bool last = p.order == FilterOrder::Kqrsc;
    const int64_t tap = last ? conv.c_in : 1;  // elements from one tap to the next
    return {filter,
            packed,
            u32(conv.filter_elements() * element_bytes(p.stored)),
            u32(conv.filter.k),
            u32(conv.filter.q),
            u32(walk.r),
            u32(walk.s),
            u32(conv.c_in),
            u32(taps * conv.c_in),
            u32(image * tap),
            u32(conv.filter.s * tap),
            u32(tap),
            last ? 1 : u32(taps),
            u32(tap_pitch(conv, p.kernel.path, bk)),
            u32(steps_per_q(conv, p.kernel.path, bk) * bk),
            u32(filter_row(conv, p.kernel.path, bk)),
            walk.parities == 4};
}

uint64_t packed_filter_bytes(const ConvProblem& p, const ConvKernel& kernel) {
    return static_cast<uint64_t>(walk_of(p).parities * p.filter.k * filter_row(p, kernel.path, kernel.tile.bk) *
                                 element_bytes(p.weight.element));
}

std::vector<float> pack_channels(const ConvProblem& p, std::span<const float> values) {
    std::vector<float> packed(static_cast<size_t>(round_up(p.filter.k, 256)));
    std::copy(values.begin(), values.end(), packed.begin());
    return packed;
}

}  // namespace kinetograph::gfx950
