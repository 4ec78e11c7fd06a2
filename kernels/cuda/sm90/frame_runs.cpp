#include <algorithm>
#include <kinetograph/kernels/cuda/sm90/frame_runs.hpp>

namespace kinetograph::sm90 {
namespace {

/// Sets the taps of a run whose first output frame is t of its sample and whose first input frame is `first` of it.
void place_taps(FrameRun& run, const conv::ConvProblem& p, int64_t t, int64_t first) {
    for (int64_t i = 0; i < run.count; ++i) {
        FrameTaps& taps = run.taps[static_cast<size_t>(i)];
        for (int64_t q = 0; q < p.filter.q; ++q) {
            const int64_t frame = conv::input_frame(p, t + i, q);
            if (frame < 0 || frame >= p.d) continue;
            taps.input[taps.count] = static_cast<uint8_t>(frame - first);
            taps.q[taps.count] = static_cast<uint8_t>(q);
            taps.present |= static_cast<uint8_t>(1U << static_cast<unsigned>(q));
            ++taps.count;
        }
    }
}

}  // namespace

std::vector<FrameRun> frame_runs(const conv::ConvProblem& p) {
    std::vector<FrameRun> runs;
    const int64_t frames = p.d_out(), room = std::min<int64_t>(kMaxOutputs, kMaxInputs + 1 - p.filter.q);
    const int64_t parts = (frames + room - 1) / room;
    for (int64_t sample = 0; sample < p.n; ++sample) {
        for (int64_t part = 0; part < parts; ++part) {
            const int64_t t = part * frames / parts;
            FrameRun& run = runs.emplace_back();
            run.first_output = sample * frames + t;
            run.count = (part + 1) * frames / parts - t;
            const int64_t first = std::clamp<int64_t>(conv::input_frame(p, t, 0), 0, p.d);
            const int64_t end = std::clamp(conv::input_frame(p, t + run.count - 1, p.filter.q - 1) + 1, first, p.d);
            run.first_input = sample * p.d + first;
            run.inputs = end - first;
            place_taps(run, p, t, first);
        }
    }
    return runs;
}

}  // namespace kinetograph::sm90
