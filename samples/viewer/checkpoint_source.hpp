// CheckpointSource: clips decoded with one checkpoint on one device.
#pragma once

#include <kinetograph/compute/session/previewed_session.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/samples/viewer/clip.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>

namespace kinetograph::viewer {

/// Opens the checkpoint with the first clip and keeps it for the next ones. Frames that a GPU decodes stay on the
/// device that draws, or reach it through the host for the reason in the clip's Route; frames that the CPU decodes are
/// in host memory anyway.
class CheckpointSource final : public ClipSource {
  public:
    using SayRoute = std::function<void(const Route&)>;
    using SayNotes = std::function<void(std::span<const vae::Note>)>;

    /// `options` say what decodes, and where the spans of every pass go. `say_route` is called for every clip of a GPU,
    /// on the thread that opens it; may be empty. `served`: which generators may connect to a socket.
    /// `preview` as in ViewerOptions: clips of files are shown with it until `weights` are open. `choices` as there,
    /// and `say_notes` as on_notes.
    CheckpointSource(std::string weights, std::string preview, session::SessionOptions options, SayRoute say_route = {},
                     live::Connections served = live::Connections::TheFirst, vae::LatentsChoices choices = {},
                     SayNotes say_notes = {})
        : weights_(std::move(weights)),
          preview_(std::move(preview)),
          options_(std::move(options)),
          say_route_(std::move(say_route)),
          served_(served),
          choices_(std::move(choices)),
          say_notes_(std::move(say_notes)) {}
    void draw_on(const vulkan::Display& display) override { options_.display = &display; }
    /// `latents` is a file, or an input of live latents: "-", "unix:PATH".
    Result<Clip> open(const std::filesystem::path& latents, bool loop) override;
    void close() override;
    Result<std::optional<Clip>> next() override;
    bool more() const override;
    void cancel() override;
    std::string_view opening() const override;
    std::string description() const override;

  private:
    using Storage = interop::FrameStorage;

    Result<void> open_session();
    Result<void> open_for_clips(const std::filesystem::path& latents);
    void say(std::span<const vae::Note> notes) const;
    Result<void> open_input(const std::string& name);
    std::shared_ptr<live::Input> input() const;
    /// Opens a clip with `open_stored`, its frames in images where possible, otherwise in host memory.
    Result<Clip> open_routed(const std::function<Result<Clip>(Storage)>& open_stored) const;
    Result<Clip> open_file(const vae::Latents& clip, bool loop, Storage storage) const;
    Result<Clip> open_live(const live::Incoming& incoming, Storage storage) const;
    std::size_t kept_frames(vae::LatentSize size) const;

    /// The session that decodes first: the preview's, if there is one.
    const session::Session& opened() const { return previewed_ ? previewed_->preview() : *session_; }

    std::string weights_;
    std::string preview_;
    session::SessionOptions options_;
    SayRoute say_route_;
    live::Connections served_;
    vae::LatentsChoices choices_;
    SayNotes say_notes_;
    const families::Family* family_ = nullptr;              ///< of the checkpoint
    std::unique_ptr<session::Session> session_;             ///< either this one or the next is open
    std::unique_ptr<session::PreviewedSession> previewed_;  ///< for files
    mutable Mutex mutex_;
    std::shared_ptr<live::Input> input_ KG_GUARDED_BY(mutex_);
    bool cancelled_ KG_GUARDED_BY(mutex_) = false;
};

}  // namespace kinetograph::viewer
