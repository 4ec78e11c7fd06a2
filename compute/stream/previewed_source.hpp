// A stream of a small decoder's frames of a clip until a large decoder, which takes longer to open, has caught up.
#pragma once

#include <kinetograph/compute/stream/frame_source.hpp>

#include <functional>

namespace kinetograph::stream {

/// Opens the stream that takes over. Called once, on a thread of its own; returns early as `limits` say.
using OpenSource = std::function<Result<std::unique_ptr<FrameSource>>(const CallLimits& limits)>;

/// Hands out each frame of a clip once, in order: first the preview's, then the large stream's, once it has decoded the
/// frame that is due and a step begins with it. A causal decoder's frames depend on all earlier latents, so the large
/// one decodes the clip from its beginning and discards the frames that the preview has shown: its frames are bit for
/// bit those without a preview. With steps of four frames, which begin with frames 1, 5, 9, ...:
///
///   preview   0 1 2 3 4 5 6 7 8                  handed out
///   large         0 1 2 3 4 5 6 7 8 9 10 11 ...  discarded up to 8, handed out from 9 on
///
/// If the large stream decodes slower than frames are read, it takes over in a later round of a loop. After a restart()
/// only the large stream is used, if it is open by then. Once previews() is false, the preview is freed when its last
/// frame is released.
///
/// `preview` decodes a clip. The stream that `open_large` makes must decode the same clip, to as many frames of the
/// same size: otherwise take() returns InvalidArgument. Both start over at the clip's end if `loop` is true. take()
/// also returns the Error of opening the large stream, and of the large stream itself.
std::unique_ptr<FrameSource> create_previewed_source(std::unique_ptr<FrameSource> preview, OpenSource open_large,
                                                     bool loop);

}  // namespace kinetograph::stream
