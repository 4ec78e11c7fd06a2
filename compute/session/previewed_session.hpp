// PreviewedSession: a front door that opens at once: a small checkpoint shows clips while the large one is opened.
#pragma once

#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/compute/stream/previewed_stream.hpp>

#include <future>

namespace kinetograph::session {

/// Two sessions on one device. Thread-safe.
///
///   auto session = PreviewedSession::open("wan_2.1_vae.safetensors", "taew2_1.safetensors");
///   auto stream = (*session)->decode(clip);   // frames of taew2_1 at first, of wan_2.1_vae once it has caught up
class PreviewedSession {
  public:
    /// Opens `preview`, and begins to open `weights` on a thread of its own. Errors: those of Session::open for
    /// `preview`.
    static Result<std::unique_ptr<PreviewedSession>> open(const std::string& weights, const std::string& preview,
                                                          const SessionOptions& options = {});
    PreviewedSession(const PreviewedSession&) = delete;
    PreviewedSession& operator=(const PreviewedSession&) = delete;
    /// Ends the opening of the large checkpoint. Streams that outlive this and still wait for it get Cancelled.
    ~PreviewedSession();

    /// Like Session::decode, which it is once the large checkpoint is open; a stream::PreviewedStream until then.
    /// Errors: those of Session::decode with the preview; those of opening the large checkpoint if they are known, else
    /// the stream's take() returns them: InvalidArgument also if the two decode different latents, or to different
    /// sizes.
    Result<std::unique_ptr<stream::FrameStream>> decode(const vae::Latents& clip, const StreamOptions& options = {});

    accel::Device& device() const { return preview_->device(); }
    /// What decodes at first: frames have the same size and rate later.
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

/// The largest file beside the checkpoint `weights` that is at most half its size and has a small decoder of latents
/// with `channels` that a large decoder takes too: its preview. Nothing if there is none, or if `weights` is no file.
std::optional<std::string> find_preview(const std::string& weights, std::int64_t channels);

}  // namespace kinetograph::session
