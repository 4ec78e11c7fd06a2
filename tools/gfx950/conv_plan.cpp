// gfx950_conv_plan: for every line "frames h w c_in c_out q r s upsampled" on standard input (h and w of the output),
// the kernel that FourWaveConv's dispatch chooses for that "same" convolution of bf16, or why it declines. For
// estimate.py.
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_launch.hpp>

#include <array>
#include <cstdint>
#include <iostream>
#include <string>

int main() {
    using kinetograph::gfx950::FourWaveConvProblem;
    std::array<std::int64_t, 9> n{};
    while (std::cin >> n[0] >> n[1] >> n[2] >> n[3] >> n[4] >> n[5] >> n[6] >> n[7] >> n[8]) {
        const std::int64_t scale = n[8] != 0 ? 2 : 1;
        const FourWaveConvProblem problem{.frames = n[0],
                                          .h = n[1] / scale,
                                          .w = n[2] / scale,
                                          .c_in = n[3],
                                          .upsample = scale == 2,
                                          .c_out = n[4],
                                          .q = n[5],
                                          .r = n[6],
                                          .s = n[7],
                                          .pad_top = n[6] / 2,
                                          .pad_bottom = n[6] / 2,
                                          .pad_left = n[7] / 2,
                                          .pad_right = n[7] / 2};
        const auto planned = kinetograph::gfx950::plan_four_wave_conv(problem);
        std::cout << (planned.plan ? std::string(planned.plan->kernel->name) : planned.error) << '\n';
    }
    return 0;
}
