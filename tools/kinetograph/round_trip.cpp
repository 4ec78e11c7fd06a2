#include <spdlog/spdlog.h>
#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/tools/kinetograph/round_trip.hpp>

#include <atomic>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <thread>
#include <utility>

namespace kinetograph::cli {
namespace {

constexpr Nanoseconds kPoll = std::chrono::milliseconds(20);  // of waits that a restart ends
constexpr std::size_t kKept = 8;                              // frames for stepping back
constexpr std::uint32_t kSlots = kKept + 12;
constexpr std::int64_t kColours = 3, kRgba = 4;

double psnr_of(double mean_square) { return 10 * std::log10(255.0 * 255.0 / mean_square); }

using Picture = std::vector<std::uint8_t>;  // [height, width, 3]

/// Pictures that were encoded, until the frames that are made of them are taken. Thread-safe.
class Originals {
  public:
    void keep(const Picture& picture) {
        const Lock lock(mutex_);
        kept_.push_back(picture);
    }
    void clear() {
        const Lock lock(mutex_);
        kept_.clear();
        first_ = 0;
    }
    /// Picture `index`, or the last one: encoders fill up a clip with copies of that. Earlier ones are forgotten.
    Picture take(std::int64_t index) {
        const Lock lock(mutex_);
        for (; first_ < index && kept_.size() > 1; ++first_) kept_.pop_front();
        return kept_.front();
    }

  private:
    Mutex mutex_;
    std::deque<Picture> kept_ KG_GUARDED_BY(mutex_);
    std::int64_t first_ KG_GUARDED_BY(mutex_) = 0;  ///< index of the first one that is kept
};

/// A thread reads pictures and encodes them, and hands the latents to the decoder, whose frames come out beside the
/// pictures.
class RoundTrip final : public stream::FrameSource {
  public:
    struct Parts {
        PictureRequest request;
        vae::Checkpoint checkpoint;
        std::int64_t multiple = 1;
        std::unique_ptr<media::FrameReader> reader;
        std::unique_ptr<stream::Encoder> encoder;
        stream::PushedSource decoder;
        std::shared_ptr<RoundTripErrors> errors;
    };
    explicit RoundTrip(Parts parts) : parts_(std::move(parts)) {
        facts_ = parts_.decoder.frames->facts();
        facts_.width *= 2;
        facts_.route = "frames come through the host, beside the pictures they are made of";
        const std::int64_t stated = parts_.reader->facts().frames, most = parts_.request.frames;
        const std::int64_t pictures = stated > 0 && most > 0 ? std::min(stated, most) : stated;
        const stream::EncoderFacts& encoder = parts_.encoder->facts();
        const std::int64_t steps = std::max<std::int64_t>(pictures - 1, 0) / encoder.pictures_of_a_latent;
        facts_.frames = stated > 0 ? 1 + steps * encoder.pictures_of_a_latent : 0;
        start();
    }
    ~RoundTrip() override { stop(); }

    Result<std::optional<interop::FrameRecord>> take(Nanoseconds timeout) override {
        KG_TRY(const auto decoded, frames().take(timeout));
        if (!decoded) return std::nullopt;
        auto record = beside_original(*decoded);
        KG_CHECK(frames().release(*decoded));
        return record;
    }
    Result<std::optional<interop::FrameRecord>> try_take_ahead() override { return take({}); }
    Result<void> release(const interop::FrameRecord& record, const interop::TimelinePoint&) override {
        const Lock lock(mutex_);
        lent_.erase(record.serial);
        return {};
    }
    void restart() override {
        stop();
        frames().restart();
        parts_.encoder->restart();
        originals_.clear();
        parts_.errors->clear();
        parts_.reader.reset();
        start();
    }
    void cancel() override {
        stopped_ = true;
        parts_.encoder->cancel();
        frames().cancel();
    }
    bool close(Nanoseconds timeout) override {
        stop();
        const Nanoseconds until = host_now() + timeout;
        const bool is_encoded = parts_.encoder->close(timeout);
        return frames().close(std::max(until - host_now(), Nanoseconds{})) && is_encoded;
    }
    void set_loop(bool) override {}
    bool finished() const override { return frames().finished(); }
    stream::SourceStats stats() const override { return frames().stats(); }
    stream::SourceHealth health() const override { return frames().health(); }
    const stream::SourceFacts& facts() const override { return facts_; }
    std::optional<Nanoseconds> decoded_at(const interop::FrameRecord& record) const override {
        const Lock lock(mutex_);
        const auto lent = lent_.find(record.serial);
        return lent == lent_.end() ? std::nullopt : lent->second.decoded_at;
    }
    std::optional<bool> is_finite(const interop::FrameRecord& record) const override { return record.is_finite; }
    void collect() override {
        parts_.encoder->collect();
        frames().collect();
    }

  private:
    struct Lent {
        std::vector<std::byte> rgba;  ///< [height, 2 width, 4]
        std::optional<Nanoseconds> decoded_at;
    };
    stream::FrameSource& frames() const { return *parts_.decoder.frames; }
    void start() {
        stopped_ = false;
        thread_ = std::thread([this] { feed(); });
    }
    void stop() {
        stopped_ = true;
        if (thread_.joinable()) thread_.join();
    }
    void feed();
    Result<void> feed_all();
    Result<void> reopen();
    Result<void> push(const Picture& picture);
    Result<void> hand_on(Nanoseconds timeout);
    Result<void> check_goes_on() const;
    interop::FrameRecord beside_original(const interop::FrameRecord& decoded);

    Parts parts_;
    stream::SourceFacts facts_;
    Originals originals_;
    std::atomic<bool> stopped_{false};
    mutable Mutex mutex_;
    std::map<std::uint64_t, Lent> lent_ KG_GUARDED_BY(mutex_);  ///< by serial
    std::uint64_t serial_ KG_GUARDED_BY(mutex_) = 0;
    std::thread thread_;
};

void RoundTrip::feed() {
    auto outcome = without_exceptions(parts_.request.name, [this] { return feed_all(); });
    if (outcome)
        parts_.decoder.latents->finish();
    else if (!stopped_)
        parts_.decoder.latents->fail(std::move(outcome.error()));
}

Result<void> RoundTrip::feed_all() {
    KG_CHECK(reopen());
    media::FrameReader& reader = *parts_.reader;
    const PictureRequest& request = parts_.request;
    const bool is_one = is_one_picture(reader, request, parts_.checkpoint);
    const std::int64_t most = is_one               ? 1
                              : request.frames > 0 ? request.frames
                                                   : std::numeric_limits<std::int64_t>::max();
    std::int64_t count = 0;
    for (Picture rgb; count < most; ++count) {
        KG_CHECK(check_goes_on());
        KG_TRY(const bool there, reader.next(rgb));
        if (!there) break;
        KG_CHECK(push(rgb));
    }
    if (count == 0) return fail(ErrorCode::NotFound, "{}: it holds no pictures", reader.name());
    KG_CHECK(check_one_picture(reader, request, parts_.checkpoint));
    if (const std::int64_t left = parts_.encoder->finish(); left > 0)
        spdlog::warn("{}: its last {} left out: after the first, {} frames become one latent frame", reader.name(),
                     left == 1 ? "frame is" : fmt::format("{} frames are", left),
                     parts_.encoder->facts().pictures_of_a_latent);
    while (!parts_.encoder->finished()) {
        KG_CHECK(check_goes_on());
        KG_CHECK(hand_on(kPoll));
    }
    return {};
}

/// After a restart: from the first picture on.
Result<void> RoundTrip::reopen() {
    if (parts_.reader) return {};
    KG_TRY(parts_.reader, open_pictures(parts_.request));
    KG_CHECK(set_framing(*parts_.reader, parts_.request, parts_.multiple));
    return {};
}

Result<void> RoundTrip::check_goes_on() const {
    return stopped_ ? fail(ErrorCode::Cancelled, "{}: stopped", parts_.request.name) : Result<void>{};
}

Result<void> RoundTrip::push(const Picture& picture) {
    originals_.keep(picture);
    for (bool pushed = false; !pushed;) {
        KG_CHECK(check_goes_on());
        KG_TRY(pushed, parts_.encoder->push(picture, kPoll));
        KG_CHECK(hand_on({}));
    }
    return {};
}

/// The next latents of the encoder to the decoder, if there are any within `timeout`.
Result<void> RoundTrip::hand_on(Nanoseconds timeout) {
    KG_TRY(const auto latents, parts_.encoder->take(timeout));
    if (!latents) return {};
    if (!latents->is_finite)
        return fail(ErrorCode::OutOfRange,
                    "{}: latent frame {} has values that are not finite: another --precision has a wider range",
                    parts_.request.name, latents->index);
    for (bool pushed = false; !pushed;) {
        KG_CHECK(check_goes_on());
        KG_TRY(pushed, parts_.decoder.latents->push(latents->values, kPoll));
    }
    return {};
}

/// An encoder whose first latent frame is made of several pictures makes it of the time of the last of them.
interop::FrameRecord RoundTrip::beside_original(const interop::FrameRecord& decoded) {
    const std::int64_t width = decoded.width, height = decoded.height;
    const Picture original = originals_.take(decoded.label.index + parts_.encoder->facts().first_pictures - 1);
    Lent lent{std::vector<std::byte>(static_cast<std::size_t>(2 * width * height * kRgba), std::byte{255}),
              frames().decoded_at(decoded)};
    double squares = 0;
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
            for (std::int64_t c = 0; c < kColours; ++c) {
                const auto source = static_cast<std::size_t>((y * width + x) * kColours + c);
                const auto from =
                    static_cast<std::size_t>(y) * decoded.row_bytes + static_cast<std::size_t>(x * kRgba + c);
                const auto to = static_cast<std::size_t>((2 * y * width + x) * kRgba + c);
                lent.rgba[to] = static_cast<std::byte>(original[source]);
                lent.rgba[to + static_cast<std::size_t>(width * kRgba)] = decoded.host[from];
                const int difference = int{original[source]} - std::to_integer<int>(decoded.host[from]);
                squares += difference * difference;
            }
    parts_.errors->add(decoded.label.index, squares / static_cast<double>(width * height * kColours));
    const Lock lock(mutex_);
    interop::FrameRecord record = decoded;
    record.serial = ++serial_;
    record.width = static_cast<std::uint32_t>(2 * width);
    record.row_bytes = static_cast<std::uint64_t>(2 * width * kRgba);
    record.host = lent_.emplace(record.serial, std::move(lent)).first->second.rgba;
    return record;
}

}  // namespace

void RoundTripErrors::add(std::int64_t frame, double mean_square) {
    const Lock lock(mutex_);
    mean_squares_.resize(static_cast<std::size_t>(frame) + 1);
    mean_squares_.back() = mean_square;
}

void RoundTripErrors::clear() {
    const Lock lock(mutex_);
    mean_squares_.clear();
}

std::int64_t RoundTripErrors::count() const {
    const Lock lock(mutex_);
    return std::ssize(mean_squares_);
}

double RoundTripErrors::psnr() const {
    const Lock lock(mutex_);
    double sum = 0;
    for (const double each : mean_squares_) sum += each;
    return psnr_of(sum / static_cast<double>(mean_squares_.size()));
}

double RoundTripErrors::worst() const {
    const Lock lock(mutex_);
    return mean_squares_.empty() ? psnr_of(0) : psnr_of(*std::ranges::max_element(mean_squares_));
}

std::string RoundTripErrors::text_of(std::int64_t frame) const {
    double own = 0;
    {
        const Lock lock(mutex_);
        if (frame >= std::ssize(mean_squares_)) return "";
        own = psnr_of(mean_squares_[static_cast<std::size_t>(frame)]);
    }
    return fmt::format("PSNR {:.1f} dB ({:.1f} in all)", own, psnr());
}

/// Raw latents where normalised ones are of another shape than those that the decoder takes.
Result<void> RoundTripSource::open_session() {
    if (session_) return {};
    session::SessionOptions options = session_options_;
    if (checkpoint_.statistics().patch > 1) options.model.latents = vae::LatentScale::Raw;
    KG_TRY(session_, session::Session::open(checkpoint_, options));
    session_options_.accelerator.reset();  // the session's: it goes with it
    return {};
}

Result<viewer::Clip> RoundTripSource::open(const std::filesystem::path& pictures, bool) {
    errors_ = std::make_shared<RoundTripErrors>();
    RoundTrip::Parts parts{
        .request = request_, .checkpoint = checkpoint_, .reader = {}, .encoder = {}, .decoder = {}, .errors = errors_};
    parts.request.name = pictures.string();
    parts.multiple = checkpoint_.family().rates.space.out;
    KG_TRY(parts.reader, open_pictures(parts.request));
    KG_TRY(const media::PixelSize size, set_framing(*parts.reader, parts.request, parts.multiple));
    KG_CHECK(open_session());
    stream::EncoderOptions options;
    options.one_picture = is_one_picture(*parts.reader, parts.request, checkpoint_);
    KG_TRY(parts.encoder, session_->encode({size.height, size.width}, options));
    const stream::EncoderFacts& facts = parts.encoder->facts();
    const double fps = fps_ > 0 ? fps_ : parts.reader->facts().fps;
    KG_TRY(parts.decoder, session_->decode(vae::LatentSize{facts.height, facts.width},
                                           {.storage = interop::FrameStorage::Host, .slots = kSlots, .fps = fps}));
    const stream::SourceFacts& made = parts.decoder.frames->facts();
    if (made.width != size.width || made.height != size.height)
        return fail(ErrorCode::Unsupported,
                    "{}: pictures of {}x{} come back with {}x{} pixels, and are not compared with those: --roundtrip "
                    "takes a decoder of the pictures' size",
                    checkpoint_.name(), size.width, size.height, made.width, made.height);
    viewer::Clip clip{.stream = std::make_unique<RoundTrip>(std::move(parts)), .kept = kKept, .route = {}};
    clip.note_of = [errors = errors_](std::int64_t frame) { return errors->text_of(frame); };
    return clip;
}

std::string RoundTripSource::description() const {
    return fmt::format("round trip \u00b7 {} \u00b7 {} \u00b7 {}",
                       std::filesystem::path(checkpoint_.name()).filename().string(),
                       vae::to_string(session_options_.model.precision), session_options_.device);
}

}  // namespace kinetograph::cli
