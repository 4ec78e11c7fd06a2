#include "choices.hpp"
#include "encoder_info.hpp"
#include "handles.hpp"
#include "one_at_a_time.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace kinetograph::c {

/// Thread-safe, but pictures are pushed by one thread.
class Encoder {
  public:
    Encoder(std::shared_ptr<const Model> model, std::unique_ptr<stream::Encoder> encoder)
        : model_(std::move(model)), encoder_(std::move(encoder)) {}

    /// `pushed` also counts the pictures before an Error.
    Outcome push(const kg_pictures& pictures, Nanoseconds timeout, std::uint32_t& pushed);
    Outcome finish(std::uint32_t& left_over);
    Outcome take(Nanoseconds timeout, std::span<float> latents, kg_encoded_frame& frame);
    Outcome reset();
    void cancel() { encoder_->cancel(); }
    kg_encoder_info info() const { return info_of(encoder_->facts()); }

  private:
    Result<stream::PictureView> view_of(const kg_pictures& pictures) const;

    const std::shared_ptr<const Model> model_;  ///< and its device
    const std::unique_ptr<stream::Encoder> encoder_;
    std::atomic<bool> pushing_{false};
};

namespace {

using tensor::DType;
constexpr std::array kTypes{DType::U8, DType::F32, DType::F16, DType::BF16};

Result<stream::EncoderOptions> options_of(const kg_encoder_desc& desc) {
    stream::EncoderOptions options{.seed = desc.seed};
    KG_TRY(options.latents, choice(kEncoded, desc.encoded, "kg_encoded"));
    KG_TRY(options.one_picture, yes_or_no(desc.one_picture, "kg_encoder_desc.one_picture"));
    KG_TRY_IN("kg_encoder_desc.stop", options.steps.limits, limits_of(desc.stop));
    if (desc.ahead > 0) options.ahead = desc.ahead;
    return options;
}

}  // namespace

/// Of the first picture; the strides are all four.
Result<stream::PictureView> Encoder::view_of(const kg_pictures& pictures) const {
    KG_CHECK(check_given(pictures.data, "kg_pictures.data"));
    const stream::PictureSize size = encoder_->size();
    const auto& shape = pictures.shape;
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();  // that a call counts in `pushed`
    if (shape[0] < 1 || shape[0] > kMost || shape[1] != size.height || shape[2] != size.width || shape[3] != 3)
        return fail(ErrorCode::InvalidArgument, "pictures are [{}], the encoder takes [pictures, {}, {}, 3]",
                    fmt::join(shape, ", "), size.height, size.width);
    stream::PictureView view{.data = static_cast<const std::byte*>(pictures.data)};
    KG_TRY(view.dtype, choice(kTypes, pictures.type, "kg_picture_type"));
    const auto& strides = pictures.strides;
    if (std::ranges::all_of(strides, [](std::int64_t stride) { return stride == 0; })) return view;
    view.strides = {strides[1], strides[2], strides[3]};
    if (view.strides == std::array<std::int64_t, 3>{})
        return fail(ErrorCode::InvalidArgument,
                    "pictures [{}] have the strides [{}], one value each: copy them to an array without gaps first",
                    fmt::join(shape, ", "), fmt::join(strides, ", "));
    return view;
}

Outcome Encoder::push(const kg_pictures& pictures, Nanoseconds timeout, std::uint32_t& pushed) {
    const OneAtATime entered(pushing_);
    if (!entered) return KG_ERROR_BUSY;
    KG_TRY(stream::PictureView view, view_of(pictures));
    const auto& shape = pictures.shape;
    const bool is_contiguous = view.strides == std::array<std::int64_t, 3>{};
    const std::int64_t of_a_picture = is_contiguous ? shape[1] * shape[2] * shape[3] : pictures.strides[0];
    const auto bytes = static_cast<std::int64_t>(tensor::bytes_per_element(view.dtype));
    const Nanoseconds until = host_now() + timeout;
    for (std::int64_t t = 0; t < shape[0]; ++t, ++pushed, view.data += of_a_picture * bytes) {
        KG_TRY(const bool taken, encoder_->push(view, std::max(until - host_now(), Nanoseconds{})));
        if (!taken) return KG_TIMEOUT;
    }
    return KG_OK;
}

Outcome Encoder::finish(std::uint32_t& left_over) {
    const OneAtATime entered(pushing_);
    if (!entered) return KG_ERROR_BUSY;
    left_over = static_cast<std::uint32_t>(encoder_->finish());
    return KG_OK;
}

Outcome Encoder::take(Nanoseconds timeout, std::span<float> latents, kg_encoded_frame& frame) {
    const stream::EncoderFacts& facts = encoder_->facts();
    const std::int64_t values = facts.channels * facts.height * facts.width;
    if (std::ssize(latents) < values)
        return fail(ErrorCode::InvalidArgument, "room for {} values, a latent frame [{}, {}, {}] has {}",
                    latents.size(), facts.channels, facts.height, facts.width, values);
    KG_TRY(const auto made, encoder_->take(timeout));
    if (!made) return encoder_->finished() ? KG_END : KG_TIMEOUT;
    std::ranges::copy(made->values, latents.begin());
    frame.finite = made->is_finite ? KG_FINITE_YES : KG_FINITE_NO;
    frame.index = made->index;
    return KG_OK;
}

Outcome Encoder::reset() {
    const OneAtATime entered(pushing_);
    if (!entered) return KG_ERROR_BUSY;
    encoder_->restart();
    return KG_OK;
}

namespace {

/// A call that the thread makes that pushes.
template <class Work>
kg_result pushing(const char* call, kg_encoder* encoder, const Work& work) {
    const kg_result result = with_loops(call, encoder, work);
    return result == KG_ERROR_BUSY ? report(KG_ERROR_BUSY, "another thread pushes pictures to this encoder") : result;
}

}  // namespace
}  // namespace kinetograph::c

using namespace kinetograph;
using namespace kinetograph::c;

kg_result kg_encoder_create(kg_model* model, uint32_t height, uint32_t width, const kg_encoder_desc* desc,
                            kg_encoder** encoder) {
    return with_loops("kg_encoder_create", model, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(encoder, "encoder"));
        KG_TRY(const auto known, read(desc, "kg_encoder_desc"));
        KG_TRY(const auto options, options_of(known));
        KG_TRY(auto stream, made.shared->session->encode({height, width}, options));
        *encoder = hand_out<kg_encoder>({made.root, std::make_shared<Encoder>(made.shared, std::move(stream))});
        return KG_OK;
    });
}

kg_result kg_encoder_destroy(kg_encoder* encoder) { return destroy("kg_encoder_destroy", encoder); }

kg_result kg_encoder_push(kg_encoder* encoder, const kg_pictures* pictures, uint64_t timeout_ns, uint32_t* pushed) {
    std::uint32_t count = 0;
    const kg_result result = pushing("kg_encoder_push", encoder, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(pictures, "pictures"));
        KG_TRY(const auto known, read(pictures, "kg_pictures"));
        return made.encoder->push(known, nanoseconds(timeout_ns), count);
    });
    if (pushed != nullptr) *pushed = count;
    return result;
}

kg_result kg_encoder_finish(kg_encoder* encoder, uint32_t* left_over) {
    std::uint32_t count = 0;
    const kg_result result =
        pushing("kg_encoder_finish", encoder, [&](const auto& made) { return made.encoder->finish(count); });
    if (left_over != nullptr) *left_over = count;
    return result;
}

kg_result kg_encoder_take(kg_encoder* encoder, uint64_t timeout_ns, float* latents, uint64_t count,
                          kg_encoded_frame* frame) {
    return with("kg_encoder_take", encoder, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(latents, "latents"));
        kg_encoded_frame taken{};
        if (frame != nullptr) KG_CHECK(write(frame, taken, "kg_encoded_frame"));
        KG_TRY(const kg_status status, made.encoder->take(nanoseconds(timeout_ns), {latents, count}, taken));
        if (frame != nullptr) KG_CHECK(write(frame, taken, "kg_encoded_frame"));
        return status;
    });
}

kg_result kg_encoder_reset(kg_encoder* encoder) {
    return pushing("kg_encoder_reset", encoder, [&](const auto& made) { return made.encoder->reset(); });
}

kg_result kg_encoder_cancel(kg_encoder* encoder) {
    return with("kg_encoder_cancel", encoder, [&](const auto& made) -> Outcome {
        made.encoder->cancel();
        return KG_OK;
    });
}

kg_result kg_encoder_describe(kg_encoder* encoder, kg_encoder_info* info) {
    return with("kg_encoder_describe", encoder, [&](const auto& made) -> Outcome {
        KG_CHECK(write(info, made.encoder->info(), "kg_encoder_info"));
        return KG_OK;
    });
}
