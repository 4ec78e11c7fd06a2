#include "latents.hpp"

#include "choices.hpp"

#include <kinetograph/compute/tensor/float_formats.hpp>

#include <fmt/ranges.h>

namespace kinetograph::c {
namespace {

constexpr std::array kDtypes{tensor::DType::F32, tensor::DType::F16, tensor::DType::BF16};

float value_at(const std::byte* data, std::int64_t index, tensor::DType dtype) {
    if (dtype == tensor::DType::F32) {
        float value = 0;
        std::memcpy(&value, data + index * 4, sizeof(value));
        return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, data + index * 2, sizeof(bits));
    return dtype == tensor::DType::F16 ? tensor::from_f16(bits) : tensor::from_bf16(bits);
}

Result<void> check_shape(const LatentView& latents, const vae::Model& model, vae::LatentSize size) {
    if (latents.channels != model.channels()) {
        vae::Latents refused;  // check_takes() says which VAE they may be of
        refused.name = "latents";
        refused.channels = latents.channels;
        KG_CHECK(model.check_takes(refused));
    }
    if (latents.frames < 1 || latents.height != size.height || latents.width != size.width)
        return fail(ErrorCode::InvalidArgument, "latents are [{}, {}, {}, {}], the clip takes [{}, frames, {}, {}]",
                    latents.channels, latents.frames, latents.height, latents.width, model.channels(), size.height,
                    size.width);
    return {};
}

/// Refuses a stride of 0 for an extent above 1. All strides 0 mean contiguous latents, so one value broadcast along
/// every axis would be read beyond its memory.
Result<void> check_strides(const LatentView& latents) {
    const std::array extents{latents.channels, latents.frames, latents.height, latents.width};
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
        if (latents.strides[axis] == 0 && extents[axis] > 1)
            return fail(ErrorCode::InvalidArgument,
                        "latents [{}] have the strides [{}], and 0 is the stride of an extent of 1: latents that are "
                        "broadcast are copied first",
                        fmt::join(extents, ", "), fmt::join(latents.strides, ", "));
    return {};
}

/// Checks that copies on the device can gather the latents, or that they can be read in place.
Result<void> check_on_device(const LatentView& latents) {
    if (!latents.has_whole_channels())
        return fail(ErrorCode::InvalidArgument,
                    "latents have the strides [{}]: in the device's memory each [height, width] is contiguous",
                    fmt::join(latents.strides, ", "));
    if (latents.ready.kind == KG_MOMENT_STREAM || (latents.frames == 1 && latents.has_whole_frames())) return {};
    return fail(ErrorCode::InvalidArgument,
                "latents of {} frames with the strides [{}] are read in place, one contiguous frame a call: name the "
                "stream that makes them, and they are copied",
                latents.frames, fmt::join(latents.strides, ", "));
}

}  // namespace

Result<LatentView> view_of(const kg_latents& latents, const vae::Model& model, vae::LatentSize size) {
    KG_CHECK(check_given(latents.data, "kg_latents.data"));
    LatentView view{.data = static_cast<const std::byte*>(latents.data),
                    .channels = latents.shape[0],
                    .frames = latents.shape[1],
                    .height = latents.shape[2],
                    .width = latents.shape[3],
                    .on_device = latents.memory == KG_MEMORY_DEVICE,
                    .ready = latents.ready};
    if (latents.memory > KG_MEMORY_DEVICE)
        return fail(ErrorCode::InvalidArgument, "{} is no kg_memory_kind", latents.memory);
    KG_TRY(view.dtype, choice(kDtypes, latents.dtype, "kg_dtype"));
    KG_CHECK(check_shape(view, model, size));
    std::ranges::copy(latents.strides, view.strides.begin());
    if (std::ranges::all_of(view.strides, [](std::int64_t stride) { return stride == 0; }))
        view.strides = {view.frames * view.pixels(), view.pixels(), view.width, 1};
    KG_CHECK(check_strides(view));
    if (view.on_device) KG_CHECK(check_on_device(view));
    return view;
}

void gather(const LatentView& latents, std::int64_t t, std::vector<float>& frame) {
    frame.clear();
    const auto [of_channel, of_frame, of_row, of_column] = latents.strides;
    for (std::int64_t c = 0; c < latents.channels; ++c)
        for (std::int64_t y = 0; y < latents.height; ++y) {
            const std::int64_t row = c * of_channel + t * of_frame + y * of_row;
            for (std::int64_t x = 0; x < latents.width; ++x)
                frame.push_back(value_at(latents.data, row + x * of_column, latents.dtype));
        }
}

}  // namespace kinetograph::c
