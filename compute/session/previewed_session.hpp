// PreviewedSession: a session that opens at once: a small checkpoint decodes clips while the large one is opened.
#pragma once

#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/compute/stream/previewed_source.hpp>

#include <future>

namespace kinetograph::session {

/// Two sessions on one device. Thread-safe.
///
///   auto session = PreviewedSession::open("wan_2.1_vae.safetensors", "taew2_1.safetensors");
///   auto stream = (*session)->decode(clip);   // frames of taew2_1 at first, of wan_2.1_vae once it has caught up
class PreviewedSession {
  public:
    /// Opens `preview`, and starts to open `weights` on another thread. Errors: those of Session::open for
    /// `preview`.
    static Result<std::unique_ptr<PreviewedSession>> open(const std::string& weights, const std::string& preview,
                                                          const SessionOptions& options = {});
    PreviewedSession(const PreviewedSession&) = delete;
    PreviewedSession& operator=(const PreviewedSession&) = delete;
    /// Stops opening the large checkpoint. Streams that outlive this and still wait for it return Cancelled.
    ~PreviewedSession();

    /// Session::decode of the large checkpoint once that is open; a stream::create_previewed_source() before. Errors:
    /// those of Session::decode with the preview, and those of opening the large checkpoint if they are known by then;
    /// otherwise the stream's take() returns them. InvalidArgument also if the two decode different latents, or to
    /// different sizes.
    Result<std::unique_ptr<stream::FrameSource>> decode(const vae::Latents& clip, const vae::StepOptions& options = {});

    accel::Device& device() const { return preview_->device(); }
    /// The session that decodes first. The large one's frames have the same size and rate.
    const Session& preview() const { return *preview_; }
    /// Waits for the large checkpoint. Errors: those of opening it; Cancelled, as `limits` say.
    Result<std::shared_ptr<const Session>> session(const CallLimits& limits = {}) const;

  private:
    using Opened = Result<std::shared_ptr<const Session>>;
    PreviewedSession() = default;

    std::unique_ptr<Session> preview_;
    std::stop_source stop_;
    std::shared_future<Opened> opened_;
};

/// A preview for `weights`: the largest file beside it, of at most half its size and 128 MiB, with a small decoder of
/// latents with `channels` that a large family decodes too. Empty if there is none, or if `weights` is not a file.
std::optional<std::string> find_preview(const std::string& weights, std::int64_t channels);

}  // namespace kinetograph::session
