// gfx950_conv_plan, for estimate.py: the dispatch's plans for single convolutions, or for a decoder's step.
//   gfx950_conv_plan
// For every line "frames h w c_in c_out q r s upsampled" on standard input (h and w of the output), what the dispatch
// takes for a launch of that "same" convolution in bf16, as a line of the form below.
//   gfx950_conv_plan FAMILY HEIGHT WIDTH LDS_BYTES                              wan2.1 480 832 128
// A step of that decoder at that frame size, for an LDS that reads so many bytes a clock; tab-separated fields. First a
// line for each kind of convolution: key, launches, c_in, c_out, frames; of what the tiles walk: images, h, w, q, r, s;
// parts of K; 1 with a norm in the epilogue; bytes moved; kernels; predicted us. Then one for each kind of other pass:
// "-", kind, first such pass, launches, bytes moved, tiles of keys and kernel (attention), predicted us of all.
#include <kinetograph/tools/gfx950/decoder_layers.hpp>

#include <array>
#include <cstdint>
#include <iostream>
#include <string>

namespace kinetograph::gfx950 {
namespace {

void print(const DecoderLayer& layer) {
    const conv::ConvProblem& p = layer.problem;
    const std::int64_t outputs = 1 + (p.residual ? 1 : 0) + (p.norm == conv::Norm::Beside ? 1 : 0);
    const std::uint64_t moved = static_cast<std::uint64_t>(p.frames_in()) * p.input_frame_bytes() +
                                static_cast<std::uint64_t>(outputs * p.frames_out()) * p.output_frame_bytes();
    const FourWaveConvParams& walk = layer.params;
    const std::uint32_t columns = walk.by_w_out.divisor;
    std::cout << layer.key << '\t' << layer.launches << '\t' << p.c_in << '\t' << p.filter.k << '\t' << p.frames_out()
              << '\t' << p.frames_out() * walk.parities << '\t' << walk.pixels / columns << '\t' << columns << '\t'
              << walk.q << '\t' << walk.r << '\t' << walk.s << '\t' << walk.splits << '\t'
              << ((walk.flags & kConvNorm) != 0 ? 1 : 0) << '\t' << moved << '\t' << layer.kernels << '\t'
              << 1e6 * layer.seconds << '\n';
}

void print_decoder(const families::Family& family, std::int64_t height, std::int64_t width, const conv::Chip& chip) {
    const DecoderStep step = decoder_step(family, height, width, chip);
    for (const DecoderLayer& layer : step.layers) print(layer);
    for (const OtherPasses& other : step.others)
        std::cout << "-\t" << other.kind << '\t' << other.first << '\t' << other.launches << '\t' << other.bytes << '\t'
                  << other.key_tiles << '\t' << other.kernel << '\t' << 1e6 * other.seconds << '\n';
}

void print_choices() {
    std::array<std::int64_t, 9> n{};
    while (std::cin >> n[0] >> n[1] >> n[2] >> n[3] >> n[4] >> n[5] >> n[6] >> n[7] >> n[8]) {
        const std::int64_t scale = n[8] != 0 ? 2 : 1;
        const conv::ConvProblem problem{
            .d = n[0],
            .h = n[1] / scale,
            .w = n[2] / scale,
            .c_in = n[3],
            .upsample = scale == 2,
            .filter = {n[4], n[5], n[6], n[7]},
            .stride = {},
            .dilation = {},
            .pad = {.front = n[5] - 1, .top = n[6] / 2, .bottom = n[6] / 2, .left = n[7] / 2, .right = n[7] / 2}};
        print(layer_of("convolution", problem, 1, mi355x()));
    }
}

}  // namespace
}  // namespace kinetograph::gfx950

int main(int argc, char** argv) {
    if (argc == 5) {
        const auto* const family = kinetograph::families::find(argv[1]);
        if (family == nullptr) {
            std::cerr << "no family " << argv[1] << '\n';
            return 1;
        }
        const auto chip = kinetograph::gfx950::mi355x(static_cast<std::uint32_t>(std::stoul(argv[4])));
        kinetograph::gfx950::print_decoder(*family, std::stoll(argv[2]), std::stoll(argv[3]), chip);
    } else {
        kinetograph::gfx950::print_choices();
    }
    return 0;
}
