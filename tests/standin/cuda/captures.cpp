// The captures in progress and the calls they forbid. Source: CUDA Driver API, cuThreadExchangeStreamCaptureMode.
#include <kinetograph/tests/standin/cuda/entry_points.hpp>

#include <algorithm>

namespace kinetograph::accel::cuda {

namespace {

struct Running {
    standin::Stream* stream;
    std::thread::id thread;
    CaptureMode mode;
};

struct Captures {
    std::mutex mutex;
    std::vector<Running> running;
};
Captures& captures() {
    static Captures captures;
    return captures;
}

CaptureMode& mode_of_thread() {
    thread_local CaptureMode mode = CaptureMode::Global;
    return mode;
}

/// Whether the capture forbids potentially unsafe calls to the calling thread.
bool forbids(const Running& capture) {
    if (mode_of_thread() == CaptureMode::Relaxed) return false;
    if (capture.thread == std::this_thread::get_id()) return capture.mode != CaptureMode::Relaxed;
    return mode_of_thread() == CaptureMode::Global && capture.mode == CaptureMode::Global;
}

}  // namespace

Status refuse_during_captures(const char* call) {
    std::lock_guard lock(captures().mutex);
    Status refused = Status::Success;
    for (const Running& capture : captures().running) {
        if (!forbids(capture)) continue;
        machine().complain(fmt::format("{} while a capture forbids it", call));
        capture.stream->capture->invalidated = true;
        refused = Status::StreamCaptureUnsupported;
    }
    return refused;
}

void begin_capture(standin::Stream& stream, CaptureMode mode) {
    std::lock_guard lock(captures().mutex);
    stream.capture = std::make_unique<standin::Stream::Capture>();
    captures().running.push_back({&stream, std::this_thread::get_id(), mode});
}

Status end_capture(const standin::Stream& stream) {
    std::lock_guard lock(captures().mutex);
    const auto found = std::ranges::find(captures().running, &stream, &Running::stream);
    if (found == captures().running.end()) return Status::IllegalState;
    const Running ended = *found;
    captures().running.erase(found);
    if (ended.mode == CaptureMode::Relaxed || ended.thread == std::this_thread::get_id()) return Status::Success;
    return Status::StreamCaptureWrongThread;
}

void forget_capture(const standin::Stream& stream) {
    std::lock_guard lock(captures().mutex);
    std::erase_if(captures().running, [&](const Running& capture) { return capture.stream == &stream; });
}

STANDIN_EXPORT Status cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
    STANDIN_ENTER(Driver);
    std::swap(*mode, mode_of_thread());
    return Status::Success;
}

}  // namespace kinetograph::accel::cuda
