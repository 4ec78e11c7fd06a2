#include <kinetograph/compute/conv/doubled_before.hpp>
#include <kinetograph/compute/nn/upsample.hpp>

#include <vector>

namespace kinetograph::nn {

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
                   [input = std::vector(work.input.begin(), work.input.end()),
                    output = std::vector(work.output.begin(), work.output.end()), height = work.height,
                    width = work.width, pixel_bytes]() -> Result<void> {
                       conv::double_frames(input, output, height, width, pixel_bytes);
                       return {};
                   });
    return {};
}

}  // namespace kinetograph::nn
