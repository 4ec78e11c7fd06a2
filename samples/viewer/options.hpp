// What the viewer is asked for, and what it reports when it is done.
#pragma once

#include <kinetograph/compute/vae/model.hpp>
#include <kinetograph/engine/present/png.hpp>
#include <kinetograph/engine/vulkan/loader.hpp>
#include <kinetograph/samples/viewer/clip.hpp>

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::viewer {

/// A picture as shown, overlay included.
struct PresentedFrame {
    std::int64_t index = 0;           ///< of the clip's frame in it
    Nanoseconds presentation_time{};  ///< of that frame, from the clip's start
    const present::Picture& picture;
};

inline constexpr std::string_view kFindPreview = "auto";

struct ViewerOptions {
    std::filesystem::path latents;  ///< a file, or an input of live latents: "-", "unix:PATH"
    std::string weights;            ///< a checkpoint's path, or "synthetic:wan2.1[,dim=N]"
    /// A small checkpoint that shows clips of files while `weights` are being opened; kFindPreview: the one that lies
    /// beside them, if there is one; empty: none.
    std::string preview{};
    vae::CheckpointChoices checkpoint{};
    vae::ModelOptions model;
    vae::LatentsChoices choices{};  ///< of files of latents; the rate also of live ones
    std::string lane = "cpu";       ///< where it decodes, as accel::open() takes it
    /// That device, open already; after its loss `lane` is opened. Null: opened with the first clip.
    std::shared_ptr<accel::Device> accelerator{};
    std::uint64_t memory_budget = 0;  ///< most bytes of that device's memory; 0: no limit

    bool headless = false;     ///< no window and no display: pictures stay in memory
    std::uint64_t frames = 0;  ///< end after so many frames of the clip were shown; 0: at the clip's end when headless,
                               ///< when the window is closed otherwise
    std::filesystem::path
        screenshot;               ///< PNG of the last picture, written at the end, also after an Error; empty: none
    std::filesystem::path trace;  ///< Chrome trace of every pass, written at the end; empty: none
    std::filesystem::path screenshot_folder = ".";  ///< where the key `s` puts its pictures

    std::uint32_t width = 1280, height = 720;  ///< of the window, or of the pictures when headless
    bool exact_size = false;  ///< a window of that many pixels; else times the display's scale, as far as it has room
    float scale = 0.0F;       ///< of the interface; 0: the display's, 1 when headless
    bool full_screen = false;
    bool loop = false;  ///< start over at the clip's end; with `headless`, `frames` says when it ends
    double speed = 1.0;
    bool overlay = true;                   ///< profiler shown at first
    bool panels = false;                   ///< its panels instead, over the whole picture
    std::string statistics{};              ///< a line of JSON a second: a file or "unix:PATH"; empty: none
    bool validation = false;               ///< Vulkan validation layers; their messages come back in the summary
    std::string device;                    ///< only Vulkan devices whose name contains this
    std::optional<vulkan::Loader> vulkan;  ///< the application's; nothing: the system's

    /// Called for every clip that a GPU decodes, when it is opened and on the thread that does: how its frames come to
    /// the device that draws.
    std::function<void(const Route&)> on_route;
    /// Takes notes about the checkpoint and the latents, on the thread that opens them.
    std::function<void(std::span<const vae::Note>)> on_notes;
    /// Called once for every frame of the clip that was shown, in order. An Error ends the run and is returned from it.
    std::function<Result<void>(const PresentedFrame&)> on_frame;
    /// Called once after the last frame of a run without an Error, before the screenshot and the trace are written.
    std::function<Result<void>()> on_end;
};

struct ViewerSummary {
    std::string device;  ///< that drew
    std::string clock;   ///< how GPU times were mapped to the host's clock
    std::uint64_t frames_shown = 0;
    std::uint64_t frames_late = 0;
    std::uint64_t frames_dropped = 0;
    std::uint64_t frames_not_finite = 0;  ///< shown, of steps that made infinities or NaN
    Nanoseconds first_frame{};            ///< from the start to the first decoded frame on show
    Nanoseconds total{};
    std::vector<std::string> validation_messages;
};

}  // namespace kinetograph::viewer
