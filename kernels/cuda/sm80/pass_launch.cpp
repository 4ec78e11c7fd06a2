#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/sm80/attention.hpp>
#include <kinetograph/kernels/cuda/sm80/attention_widths.hpp>
#include <kinetograph/kernels/cuda/sm80/frame_passes.hpp>
#include <kinetograph/kernels/cuda/sm80/pass_launch.hpp>

namespace kinetograph::sm80 {
namespace {

using conv::ceil_div;

}  // namespace

PassLaunch elements_launch(uint32_t count, uint32_t frames) {
    return {.grid = {ceil_div(count, kPassThreads), frames, 1}, .threads = kPassThreads};
}

uint32_t upsample_unit(uint32_t pixel_bytes) { return pixel_bytes % 16 == 0 ? 16 : pixel_bytes % 4 == 0 ? 4 : 2; }

uint32_t attention_width(int64_t channels) {
    if (channels <= 0 || channels % 8 != 0) return 0;
#define KG_FITS(width) \
    if (channels <= (width)) return width;
    KG_SM80_ATTENTION_WIDTHS(KG_FITS)
    KG_SM80_SLICED_ATTENTION_WIDTHS(KG_FITS)
#undef KG_FITS
    return 0;
}

PassLaunch attention_launch(uint32_t tokens, uint32_t width, uint32_t frames) {
    uint32_t slice = width;
#define KG_SLICED(wide) \
    if (width == (wide)) slice = kAttentionSlice;
    KG_SM80_SLICED_ATTENTION_WIDTHS(KG_SLICED)
#undef KG_SLICED
    return {.grid = {ceil_div(tokens, kQueryTile), frames, width / slice},
            .threads = kAttentionThreads,
            .shared_bytes = (kQueryTile + 2 * kKeyTile) * slice * 2};
}

}  // namespace kinetograph::sm80
