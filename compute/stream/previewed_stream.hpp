// PreviewedStream: a small decoder's frames of a clip, until a large one that takes longer to be opened has caught up.
#pragma once

#include <kinetograph/compute/stream/frame_stream.hpp>

#include <functional>

namespace kinetograph::stream {

/// Opens the stream that takes over: called once, on a thread of its own. Ends early as `limits` say.
using OpenStream = std::function<Result<std::unique_ptr<FrameStream>>(const CallLimits& limits)>;

/// The frames of a clip, each once and in order: at first those of a preview, and those of the large stream from the
/// first step's border on at which it has the frame that is due. A causal decoder's frames depend on all latents before
/// them, so the large one decodes the clip from its beginning and what the preview has shown by then is thrown away:
/// its frames are the same, bit for bit, as without a preview. If it is slower than frames are read, it takes over in a
/// later round of a loop; restart() begins with it, as soon as it is open.
///
/// take() also returns the Error of opening the large stream, and of the large stream itself. push() is refused.
class PreviewedStream : public FrameStream {
  public:
    /// `preview` is a clip's; the stream that `open_large` makes is the same clip's, in frames of the same size and
    /// rate: otherwise take() returns InvalidArgument. Both start over at the clip's end if `loop` is true.
    static std::unique_ptr<PreviewedStream> create(std::unique_ptr<FrameStream> preview, OpenStream open_large,
                                                   bool loop);

    /// Whether frames are still the preview's. Once they are not, its memory is given back with its last frame.
    virtual bool previews() const = 0;
};

}  // namespace kinetograph::stream
