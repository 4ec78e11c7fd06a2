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
    constexpr std::int64_t kMostFrames = std::numeric_limits<std::uint32_t>::max();  // that a call counts in `pushed`
    if (latents.frames < 1 || latents.frames > kMostFrames || latents.height != size.height ||
        latents.width != size.width)
        return fail(ErrorCode::InvalidArgument, "latents are [{}, {}, {}, {}], the clip takes [{}, frames, {}, {}]",
                    latents.channels, latents.frames, latents.height, latents.width, model.channels(), size.height,
                    size.width);
    return {};
}

std::array<std::int64_t, 4> extents(const LatentView& latents) {
    return {latents.channels, latents.frames, latents.height, latents.width};
}

/// Strides of contiguous latents where all of a caller's are 0. Errors: InvalidArgument (a stride below 1 for an extent
/// above 1: of 0, as one value broadcast along every axis would be read beyond its memory; of less, as `data` is the
/// first byte).
Result<std::array<std::int64_t, 4>> strides_of(const LatentView& latents, std::span<const std::int64_t, 4> given) {
    std::array<std::int64_t, 4> strides{};
    if (std::ranges::all_of(given, [](std::int64_t stride) { return stride == 0; }))
        return std::array{latents.frames * latents.pixels(), latents.pixels(), latents.width, std::int64_t{1}};
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
        if (extents(latents)[axis] == 1) continue;
        strides[axis] = given[axis];
        if (given[axis] < 1)
            return fail(ErrorCode::InvalidArgument,
                        "latents [{}] have the strides [{}], and an extent above 1 has one above 0: latents that are "
                        "broadcast or reversed are copied first",
                        fmt::join(extents(latents), ", "), fmt::join(given, ", "));
    }
    return strides;
}

/// Bytes to the end of the last value. Errors: InvalidArgument (more than `given` or than there are addresses).
Result<std::uint64_t> reach_of(const LatentView& latents, std::uint64_t given) {
    constexpr std::uint64_t kLast = std::numeric_limits<std::int64_t>::max();
    const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(latents.data);
    const std::uint64_t most = (kLast - std::min(begin, kLast)) / latents.element_bytes();
    std::uint64_t values = 1;
    for (std::size_t axis = 0; axis < latents.strides.size(); ++axis) {
        const auto steps = static_cast<std::uint64_t>(extents(latents)[axis] - 1);
        const auto stride = static_cast<std::uint64_t>(latents.strides[axis]);
        const bool is_far = values > most || (steps > 0 && stride > (most - values) / steps);
        values = is_far ? most + 1 : values + steps * stride;
    }
    const std::uint64_t reach = values * latents.element_bytes();
    if (values <= most && (given == 0 || reach <= given)) return reach;
    return fail(ErrorCode::InvalidArgument, "latents [{}] with the strides [{}] end {}",
                fmt::join(extents(latents), ", "), fmt::join(latents.strides, ", "),
                values > most
                    ? "beyond the last address"
                    : fmt::format("{} bytes after kg_latents.data, and kg_latents.bytes is {}", reach, given));
}

/// Checks that copies on the device can gather the latents, or that they can be read in place.
Result<void> check_on_device(const LatentView& latents) {
    if (reinterpret_cast<std::uintptr_t>(latents.data) % latents.element_bytes() != 0)
        return fail(ErrorCode::InvalidArgument, "kg_latents.data is no address of {}-byte numbers: {}",
                    latents.element_bytes(), fmt::ptr(latents.data));
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
    KG_CHECK(check_unused(latents.unused, "kg_latents.unused"));
    if (latents.input_ns < 0)
        return fail(ErrorCode::InvalidArgument, "kg_latents.input_ns is {}: it is a time of CLOCK_MONOTONIC",
                    latents.input_ns);
    LatentView view{.data = static_cast<const std::byte*>(latents.data),
                    .channels = latents.shape[0],
                    .frames = latents.shape[1],
                    .height = latents.shape[2],
                    .width = latents.shape[3],
                    .ready = latents.ready,
                    .input = Nanoseconds(latents.input_ns)};
    KG_TRY(view.on_device, choice(std::array{false, true}, latents.memory, "kg_memory_kind"));
    KG_TRY(view.dtype, choice(kDtypes, latents.dtype, "kg_dtype"));
    KG_CHECK(check_shape(view, model, size));
    KG_TRY(view.strides, strides_of(view, latents.strides));
    KG_TRY(view.reach_bytes, reach_of(view, latents.bytes));
    if (view.on_device) KG_CHECK(check_on_device(view));
    if (!view.on_device && latents.ready.kind != KG_MOMENT_PAST)
        return fail(ErrorCode::InvalidArgument,
                    "kg_latents.ready.kind is {}: latents in KG_MEMORY_HOST are read by the call, and are there before "
                    "it (KG_MOMENT_PAST)",
                    latents.ready.kind);
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
