#include <algorithm>
#include <kinetograph/kernels/cuda/sm90/winograd_frames.hpp>

namespace kinetograph::sm90 {
namespace {

/// The pair that begins with output frame t of a sample, in a run whose input frames begin at `first`.
FramePair pair_at(const conv::ConvProblem& p, int64_t t, int64_t outputs, int64_t first) {
    FramePair pair;
    pair.outputs = static_cast<uint8_t>(outputs);
    for (size_t i = 0; i < std::size(pair.input); ++i) {
        if (i == 3 && outputs == 1) continue;  // read by the second frame alone
        const int64_t frame = conv::input_frame(p, t, static_cast<int64_t>(i));
        if (frame >= 0 && frame < p.d) pair.input[i] = static_cast<uint8_t>(frame - first);
    }
    return pair;
}

}  // namespace

std::vector<PairRun> pair_runs(const conv::ConvProblem& p) {
    std::vector<PairRun> runs;
    const int64_t frames = p.d_out(), pairs = (frames + 1) / 2, parts = (pairs + kMaxPairs - 1) / kMaxPairs;
    for (int64_t sample = 0; sample < p.n; ++sample) {
        for (int64_t part = 0; part < parts; ++part) {
            const int64_t begin = part * pairs / parts, end = (part + 1) * pairs / parts;
            const int64_t t = 2 * begin, last = std::min(2 * end, frames) - 1;
            PairRun& run = runs.emplace_back();
            run.first_output = sample * frames + t;
            run.outputs = last + 1 - t;
            const int64_t first = std::clamp<int64_t>(conv::input_frame(p, t, 0), 0, p.d);
            const int64_t after = std::clamp(conv::input_frame(p, last, p.filter.q - 1) + 1, first, p.d);
            run.first_input = sample * p.d + first;
            run.inputs = after - first;
            run.pairs = static_cast<uint32_t>(end - begin);
            for (int64_t i = 0; i < end - begin; ++i) {
                const int64_t at = 2 * (begin + i);
                run.pair[static_cast<size_t>(i)] = pair_at(p, at, std::min<int64_t>(2, frames - at), first);
            }
        }
    }
    return runs;
}

}  // namespace kinetograph::sm90
