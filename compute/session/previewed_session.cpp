#include <kinetograph/compute/session/previewed_session.hpp>

#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/engine/base/exceptions.hpp>

#include <algorithm>
#include <array>

namespace kinetograph::session {
namespace {

using OpenedSession = Result<std::shared_ptr<const Session>>;

Result<void> check_preview(const vae::Checkpoint& preview, const vae::Checkpoint& large) {
    const families::Family &small = preview.family(), &family = large.family();
    if (small.latents != family.latents || preview.z_dim() != large.z_dim())
        return fail(ErrorCode::InvalidArgument, "{} is a {} decoder of {} latents, {} a {} decoder of {} latents",
                    preview.name(), small.title, small.latents, large.name(), family.title, family.latents);
    if (nn::rates(preview.network()) != nn::rates(large.network()) ||
        preview.one_latent_frame() != large.one_latent_frame())
        return fail(ErrorCode::InvalidArgument, "{} makes frames of {} times the latents' side, {} of {} times",
                    preview.name(), nn::rates(preview.network()).space.out, large.name(),
                    nn::rates(large.network()).space.out);
    return {};
}

OpenedSession open_large(const std::string& weights, const vae::Checkpoint& preview, const SessionOptions& options) {
    KG_TRY(const auto checkpoint,
           vae::Checkpoint::open(weights, {options.hooks.host, options.limits}, options.checkpoint));
    vae::write_notes(options.accelerator->log(), checkpoint.notes());
    KG_CHECK(check_preview(preview, checkpoint));
    KG_TRY(auto session, Session::open(checkpoint, options));
    return std::shared_ptr<const Session>(std::move(session));
}

/// Waits in short intervals, to notice a limit.
OpenedSession wait_for(const std::shared_future<OpenedSession>& opened, const CallLimits& limits) {
    while (opened.wait_for(limits.next_look()) != std::future_status::ready)
        KG_CHECK(limits.check("waiting for the large decoder"));
    return opened.get();
}

bool is_ready(const std::shared_future<OpenedSession>& opened) {
    return opened.wait_for(Nanoseconds{}) == std::future_status::ready;
}

}  // namespace

Result<std::unique_ptr<PreviewedSession>> PreviewedSession::open(const std::string& weights, const std::string& preview,
                                                                 const SessionOptions& options) {
    KG_TRY(const auto checkpoint, vae::Checkpoint::open(preview, {options.hooks.host, options.limits}));
    SessionOptions of_large = options;
    if (!of_large.accelerator) {
        KG_TRY(of_large.accelerator, open_device(options.device, options.hooks, options.display));
    }
    std::unique_ptr<PreviewedSession> session(new PreviewedSession);
    KG_TRY(session->preview_, Session::open(checkpoint, of_large));
    of_large.measure_ceiling = false;  // the preview's session has measured it
    of_large.limits = {.until = {}, .stop = session->stop_.get_token()};
    session->opened_ =
        std::async(std::launch::async, [weights, checkpoint, of_large] {
            return without_exceptions(weights, [&] { return open_large(weights, checkpoint, of_large); });
        }).share();
    return session;
}

PreviewedSession::~PreviewedSession() {
    stop_.request_stop();
    if (opened_.valid()) opened_.wait();
}

Result<std::shared_ptr<const Session>> PreviewedSession::session(const CallLimits& limits) const {
    return wait_for(opened_, limits);
}

Result<std::unique_ptr<stream::FrameSource>> PreviewedSession::decode(const vae::Latents& clip,
                                                                      const vae::StepOptions& options) {
    if (is_ready(opened_)) {
        KG_TRY(const auto session, opened_.get());
        return session->decode(clip, options);
    }
    KG_TRY(auto preview, preview_->decode(clip, options));
    return stream::create_previewed_source(
        std::move(preview),
        [opened = opened_, clip, options](const CallLimits& limits) -> Result<std::unique_ptr<stream::FrameSource>> {
            KG_TRY(const auto session, wait_for(opened, limits));
            vae::StepOptions of_large = options;
            of_large.limits = limits;
            return session->decode(clip, of_large);
        },
        options.loop);
}

std::optional<std::string> find_preview(const std::string& weights, std::int64_t channels) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (!fs::is_regular_file(weights, ignored)) return std::nullopt;
    constexpr std::uintmax_t kMost = 128U << 20U;  // a TAEHV decoder with its encoder takes 45 MiB in fp32
    const auto most = std::min(kMost, fs::file_size(weights, ignored) / 2);
    std::vector<std::pair<std::uintmax_t, std::string>> candidates;
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::absolute(weights).parent_path(), ignored)) {
        constexpr std::array<std::string_view, 4> kSuffixes{".safetensors", ".pth", ".pt", ".gguf"};
        if (std::ranges::find(kSuffixes, entry.path().extension().string()) == kSuffixes.end()) continue;
        if (entry.is_regular_file(ignored) && entry.file_size(ignored) <= most)
            candidates.emplace_back(entry.file_size(ignored), entry.path().string());
    }
    std::ranges::sort(candidates, std::greater());
    for (const auto& [bytes, path] : candidates) {
        const auto checkpoint = vae::Checkpoint::open(path);
        if (!checkpoint || !checkpoint->family().is_small || checkpoint->z_dim() != channels) continue;
        const bool has_large = std::ranges::any_of(families::all(), [&](const families::Family& family) {
            return !family.is_small && family.latents == checkpoint->family().latents;
        });
        if (has_large) return path;
    }
    return std::nullopt;
}

}  // namespace kinetograph::session
