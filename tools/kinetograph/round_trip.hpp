// RoundTripSource: pictures through a checkpoint's encoder and decoder, for the viewer.
#pragma once

#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/samples/viewer/clip.hpp>
#include <kinetograph/tools/kinetograph/pictures.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace kinetograph::cli {

/// How much pictures of 8 bits differ from those that they were made of. Thread-safe.
class RoundTripErrors {
  public:
    void add(std::int64_t frame, double mean_square);
    void clear();
    /// "PSNR 33.9 dB (33.4 in all)"; empty of a frame that was not added.
    std::string text_of(std::int64_t frame) const;
    std::int64_t count() const;
    double psnr() const;  ///< of all pictures together, in dB; infinite for the same values
    double worst() const;

  private:
    mutable Mutex mutex_;
    std::vector<double> mean_squares_ KG_GUARDED_BY(mutex_);  ///< [frame], of squares of differences from 0 to 255
};

/// Its clips are frames of twice the pictures' width: a picture, and on its right what encoder and decoder make of it.
/// A clip is decoded while it is being encoded, and neither of the two waits for the whole of it.
class RoundTripSource final : public viewer::ClipSource {
  public:
    /// `request`: how clips are read; their names are those of open(). `session`: of checkpoints, with the choices that
    /// say where the round trip runs.
    RoundTripSource(PictureRequest request, vae::Checkpoint checkpoint, session::SessionOptions session, double fps)
        : request_(std::move(request)),
          checkpoint_(std::move(checkpoint)),
          session_options_(std::move(session)),
          fps_(fps) {}

    void draw_on(const vulkan::Display&) override {}
    /// Errors: those of open_pictures(), set_framing() and session::Session::encode and decode.
    Result<viewer::Clip> open(const std::filesystem::path& pictures, bool loop) override;
    void close() override { session_.reset(); }
    std::string description() const override;
    const RoundTripErrors& errors() const { return *errors_; }  ///< of the clip that was opened last

  private:
    Result<void> open_session();

    PictureRequest request_;
    const vae::Checkpoint checkpoint_;
    session::SessionOptions session_options_;
    const double fps_;
    std::unique_ptr<session::Session> session_;
    std::shared_ptr<RoundTripErrors> errors_ = std::make_shared<RoundTripErrors>();
};

}  // namespace kinetograph::cli
