#include <kinetograph/compute/stream/encoder.hpp>
#include <kinetograph/compute/stream/step_loop.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <utility>

namespace kinetograph::stream {
namespace {

constexpr std::int64_t kColours = 3;

template <class Element>
Element element_at(const std::byte* data, std::int64_t index) {
    Element value;
    std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(Element)), sizeof(Element));
    return value;
}

/// As float32 in [-1, 1].
template <tensor::DType kDtype>
float value_at(const std::byte* data, std::int64_t index) {
    if constexpr (kDtype == tensor::DType::U8)
        return static_cast<float>(element_at<std::uint8_t>(data, index)) / 127.5F - 1.0F;
    else if constexpr (kDtype == tensor::DType::F32)
        return element_at<float>(data, index);
    else if constexpr (kDtype == tensor::DType::F16)
        return tensor::from_f16(element_at<std::uint16_t>(data, index));
    else
        return tensor::from_bf16(element_at<std::uint16_t>(data, index));
}

/// Stores the picture as planes of float32. False if a value is not finite.
template <tensor::DType kDtype>
bool store_planes(const PictureView& picture, PictureSize size, float* planes) {
    const auto [of_row, of_column, of_colour] = picture.strides;
    const auto store_row = [&, of_row = of_row, of_column = of_column, of_colour = of_colour](std::int64_t y) {
        bool is_finite = true;
        for (std::int64_t c = 0; c < kColours; ++c) {
            float* const row = planes + (c * size.height + y) * size.width;
            for (std::int64_t x = 0; x < size.width; ++x)
                row[x] = value_at<kDtype>(picture.data, y * of_row + x * of_column + c * of_colour);
            if (kDtype == tensor::DType::U8) continue;
            for (std::int64_t x = 0; x < size.width; ++x) is_finite = is_finite && std::isfinite(row[x]);
        }
        return is_finite;
    };
    constexpr std::int64_t kRows = 16;  // of a task
    std::atomic<bool> is_finite{true};
    for_blocks(size.height, kRows, [&](std::int64_t first, std::int64_t count) {
        for (std::int64_t y = first; y < first + count; ++y)
            if (!store_row(y)) is_finite = false;
    });
    return is_finite;
}

bool store_planes(const PictureView& picture, PictureSize size, float* planes) {
    using tensor::DType;
    switch (picture.dtype) {
        case DType::U8:
            return store_planes<DType::U8>(picture, size, planes);
        case DType::F16:
            return store_planes<DType::F16>(picture, size, planes);
        case DType::BF16:
            return store_planes<DType::BF16>(picture, size, planes);
        default:
            return store_planes<DType::F32>(picture, size, planes);
    }
}

Error not_finite(std::span<const float> planes, PictureSize size, std::int64_t index) {
    const auto bad = std::ranges::find_if(planes, [](float value) { return !std::isfinite(value); });
    const std::int64_t at = bad - planes.begin(), pixels = size.height * size.width;
    return {ErrorCode::InvalidArgument,
            fmt::format("picture {}: value {} at row {}, column {}, colour {} is not finite", index, *bad,
                        at % pixels / size.width, at % size.width, at / pixels)};
}

}  // namespace

Result<std::unique_ptr<Encoder>> Encoder::create(std::shared_ptr<interop::Bridge> bridge,
                                                 const std::shared_ptr<vae::Model>& model, PictureSize size,
                                                 families::LatentStatistics statistics, const EncoderOptions& options) {
    constexpr std::uint32_t kFewest = 2, kMost = 64;
    if (options.ahead < kFewest || options.ahead > kMost)
        return fail(ErrorCode::InvalidArgument, "{} latent frames ahead: wanted {} to {}", options.ahead, kFewest,
                    kMost);
    KG_TRY(auto moments, Moments::create(*model, size, std::move(statistics), {options.latents, options.seed}));
    std::unique_ptr<Encoder> made(new Encoder(size, std::move(moments)));
    vae::StepOptions steps = options.steps;
    steps.storage = interop::FrameStorage::Host;
    steps.format = vae::FrameFormat::Float32;
    steps.slots = options.ahead;
    steps.rewind_steps = 0;
    steps.share.reset();
    steps.bands = {};
    KG_TRY(made->source_, StepLoop::of_pushed(std::move(bridge), model, {size.height, size.width}, steps));
    made->one_picture_ = model->network().one_step;
    made->fills_groups_ = model->rates().first > 1;
    made->group_.resize(static_cast<std::size_t>(model->pushed_frames() * kColours * size.height * size.width));
    made->facts_ = made->moments_.facts();
    made->facts_.memory = made->source_.frames->facts().memory;
    return made;
}

template <class Element>
Result<bool> Encoder::push_contiguous(std::span<const Element> rgb, tensor::DType dtype, Nanoseconds timeout) {
    if (std::ssize(rgb) != kColours * size_.height * size_.width)
        return fail(ErrorCode::InvalidArgument, "picture {}: {} values were given, {}x{} pixels have {}", pushed_,
                    rgb.size(), size_.width, size_.height, kColours * size_.height * size_.width);
    return push(PictureView{.data = reinterpret_cast<const std::byte*>(rgb.data()), .dtype = dtype}, timeout);
}

Result<bool> Encoder::push(std::span<const std::uint8_t> rgb, Nanoseconds timeout) {
    return push_contiguous(rgb, tensor::DType::U8, timeout);
}

Result<bool> Encoder::push(std::span<const float> rgb, Nanoseconds timeout) {
    return push_contiguous(rgb, tensor::DType::F32, timeout);
}

/// A picture that completes a latent frame counts once that is in the queue.
Result<bool> Encoder::push(const PictureView& picture, Nanoseconds timeout) {
    if (one_picture_ && pushed_ > 0)
        return fail(ErrorCode::InvalidArgument, "a clip of this encoder is one picture: restart() begins the next one");
    KG_CHECK(source_.latents->status());
    PictureView view = picture;
    if (view.strides == std::array<std::int64_t, 3>{}) view.strides = {kColours * size_.width, kColours, 1};
    const std::size_t values = static_cast<std::size_t>(kColours * size_.height * size_.width);
    const std::span<float> planes = std::span(group_).subspan(static_cast<std::size_t>(gathered_) * values, values);
    if (!store_planes(view, size_, planes.data())) return fail(not_finite(planes, size_, pushed_));
    if (one_picture_) fill_group(1);
    if (one_picture_ || gathered_ + 1 == source_.latents->next_count()) {
        KG_TRY(const bool pushed, push_group(timeout));
        if (!pushed) return false;
        gathered_ = -1;
    }
    ++gathered_;
    ++pushed_;
    return true;
}

Result<bool> Encoder::push_group(Nanoseconds timeout) {
    const auto values = static_cast<std::size_t>(source_.latents->next_count() * kColours * size_.height * size_.width);
    return source_.latents->push_finite(std::span(group_).first(values), timeout);
}

/// Pictures of the next latent frame from `from` on are those before them.
void Encoder::fill_group(std::int64_t from) {
    const auto picture = static_cast<std::size_t>(kColours * size_.height * size_.width);
    for (std::int64_t i = from; i < source_.latents->next_count(); ++i) {
        const std::span filled = std::span(group_).subspan(static_cast<std::size_t>(i) * picture, picture);
        std::ranges::copy(std::span(group_).subspan(static_cast<std::size_t>(i - 1) * picture, picture),
                          filled.begin());
    }
}

/// Nothing if there is no room: a reader that takes latents calls again.
Result<void> Encoder::push_last_group() {
    const Lock lock(last_mutex_);
    if (!last_waits_) return {};
    KG_TRY(const bool pushed, push_group({}));
    if (!pushed) return {};
    last_waits_ = false;
    source_.latents->finish();
    return {};
}

std::int64_t Encoder::finish() {
    const std::int64_t left = std::exchange(gathered_, 0);
    if (left == 0 || !fills_groups_) {
        source_.latents->finish();
        return left;
    }
    fill_group(left);
    const Lock lock(last_mutex_);
    last_waits_ = true;
    return 0;
}

void Encoder::restart() {
    {
        const Lock lock(last_mutex_);
        last_waits_ = false;
    }
    gathered_ = pushed_ = 0;
    source_.latents->begin_anew();
}

Result<std::optional<EncodedLatents>> Encoder::take(Nanoseconds timeout) {
    KG_CHECK(push_last_group());
    KG_TRY(const auto record, source_.frames->take(timeout));
    if (!record) return std::nullopt;
    const std::span moments(reinterpret_cast<const float*>(record->host.data()), record->host.size() / sizeof(float));
    EncodedLatents latents{.index = record->label.index,
                           .is_finite = record->is_finite,
                           .values = moments_.latents(moments, record->label.index)};
    KG_CHECK(source_.frames->release(*record));
    return latents;
}

}  // namespace kinetograph::stream
