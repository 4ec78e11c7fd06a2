// The viewer: decodes a latents file and shows it, in a window or in memory.
#pragma once

#include <kinetograph/samples/viewer/clip.hpp>
#include <kinetograph/samples/viewer/options.hpp>

namespace kinetograph::viewer {

/// Runs until the window is closed, or as `options` say. Call it from the main thread.
/// Errors: of the clip and its checkpoint (what vae::Latents, vae::Checkpoint and vae::Runner say), of Vulkan (no
/// loader, no device), NotFound without a display, InvalidArgument (no size, no speed, a loop without a window and
/// without an end, a screenshot or a trace in the place of an input), Io for a screenshot or a trace that cannot be
/// written, before anything is decoded.
Result<ViewerSummary> run(ViewerOptions options);

/// The same with the clips of `source`, which outlives the call and is also called on other threads.
/// Its decoders record their spans in `recorder`.
Result<ViewerSummary> run(const ViewerOptions& options, ClipSource& source, profile::Recorder& recorder);

}  // namespace kinetograph::viewer
