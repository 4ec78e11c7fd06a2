#include <kinetograph/compute/nn/upsample.hpp>

#include <cstring>
#include <vector>

namespace kinetograph::nn {
namespace {

struct Doubling {
    std::vector<const std::byte*> input;
    std::vector<std::byte*> output;
    std::int64_t height, width;
    std::size_t pixel_bytes;
};

/// Doubles one row of pixels into the two output rows at `output`.
void double_row(const std::byte* input, std::byte* output, std::int64_t width, std::size_t pixel_bytes) {
    std::byte* to = output;
    for (std::int64_t x = 0; x < width; ++x, input += pixel_bytes, to += 2 * pixel_bytes) {
        std::memcpy(to, input, pixel_bytes);
        std::memcpy(to + pixel_bytes, input, pixel_bytes);
    }
    const std::size_t row_bytes = static_cast<std::size_t>(2 * width) * pixel_bytes;
    std::memcpy(output + row_bytes, output, row_bytes);
}

void double_frames(const Doubling& work) {
    const std::size_t row_bytes = static_cast<std::size_t>(work.width) * work.pixel_bytes;
    const std::int64_t rows = work.height * static_cast<std::int64_t>(work.input.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t frame = row / work.height, y = row % work.height;
        double_row(work.input[frame] + static_cast<std::size_t>(y) * row_bytes,
                   work.output[frame] + static_cast<std::size_t>(y) * 4 * row_bytes, work.width, work.pixel_bytes);
    }
}

}  // namespace

Result<void> enqueue_upsample_nearest2x(accel::Stream& stream, std::string_view pass_name,
                                        const UpsampleNearest2x& work) {
    if (work.height < 1 || work.width < 1 || work.channels < 1 || work.input.size() != work.output.size()) {
        return fail(ErrorCode::InvalidArgument,
                    "pass \"{}\": upsampling of {} input to {} output frames of {}x{} pixels, {} channels", pass_name,
                    work.input.size(), work.output.size(), work.height, work.width, work.channels);
    }
    if (work.dtype != tensor::DType::F32 && work.dtype != tensor::DType::BF16) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": upsampling of {}, wanted F32 or BF16", pass_name,
                    tensor::to_string(work.dtype));
    }
    const std::size_t pixel_bytes = static_cast<std::size_t>(work.channels) * tensor::bytes_per_element(work.dtype);
    stream.enqueue(pass_name,
                   [doubling = Doubling{{work.input.begin(), work.input.end()},
                                        {work.output.begin(), work.output.end()},
                                        work.height,
                                        work.width,
                                        pixel_bytes}]() -> Result<void> {
                       double_frames(doubling);
                       return {};
                   });
    return {};
}

}  // namespace kinetograph::nn
