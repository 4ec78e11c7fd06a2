#include <kinetograph/compute/nn/depth_to_space.hpp>

#include <vector>

namespace kinetograph::nn {
namespace {

struct Rearranged {
    std::vector<const std::byte*> input;
    std::vector<std::byte*> output;
    std::int64_t height, width, channels_in, channels_out;
    PixelOrder order;
};

/// One row of the output.
template <class Element>
void make_row(const Rearranged& work, const Element* input, Element* output, std::uint32_t dy) {
    for (std::int64_t x = 0; x < work.width; ++x, input += work.channels_in) {
        for (std::uint32_t dx = 0; dx < 2; ++dx, output += work.channels_out) {
            const std::int64_t place = conv::place_in_block(work.order, dy, dx);
            for (std::int64_t c = 0; c < work.channels_out; ++c)
                output[c] = input[(4 * c + place) * work.channels_in / (4 * work.channels_out)];
        }
    }
}

template <class Element>
void make_frames(const Rearranged& work) {
    const std::int64_t rows = 2 * work.height * static_cast<std::int64_t>(work.input.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto frame = static_cast<std::size_t>(row / (2 * work.height));
        const std::int64_t y = row % (2 * work.height);
        make_row(work, reinterpret_cast<const Element*>(work.input[frame]) + y / 2 * work.width * work.channels_in,
                 reinterpret_cast<Element*>(work.output[frame]) + y * 2 * work.width * work.channels_out,
                 static_cast<std::uint32_t>(y % 2));
    }
}

}  // namespace

Result<void> check(std::string_view pass_name, const PixelShuffle& work) {
    if (work.height < 1 || work.width < 1 || work.channels_in < 1 || work.channels_out < 1 ||
        4 * work.channels_out % work.channels_in != 0 || work.input.size() != work.output.size())
        return fail(ErrorCode::InvalidArgument,
                    "pass \"{}\": {} channels to {} in blocks of 2x2 pixels, {} input to {} output frames of {}x{}",
                    pass_name, work.channels_in, work.channels_out, work.input.size(), work.output.size(), work.height,
                    work.width);
    return {};
}

Result<void> enqueue_depth_to_space(accel::Stream& stream, std::string_view pass_name, const PixelShuffle& work) {
    KG_CHECK(check(pass_name, work));
    if (work.dtype != tensor::DType::F32 && work.dtype != tensor::DType::BF16)
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": channels of {} to pixels, wanted F32 or BF16", pass_name,
                    tensor::to_string(work.dtype));
    stream.enqueue(
        pass_name,
        [is_float = work.dtype == tensor::DType::F32, rearranged = Rearranged{{work.input.begin(), work.input.end()},
                                                                              {work.output.begin(), work.output.end()},
                                                                              work.height,
                                                                              work.width,
                                                                              work.channels_in,
                                                                              work.channels_out,
                                                                              work.order}]() -> Result<void> {
            if (is_float)
                make_frames<float>(rearranged);
            else
                make_frames<std::uint16_t>(rearranged);
            return {};
        });
    return {};
}

}  // namespace kinetograph::nn
