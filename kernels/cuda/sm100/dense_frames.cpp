#include <kinetograph/kernels/cuda/sm100/dense_frames.hpp>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>

namespace kinetograph::sm100 {
namespace {

using conv::workspace_part;

/// The first of `frames` if they are contiguous in memory, otherwise `room` with copies of all.
std::byte* gathered(std::vector<conv::ConvStep>& steps, std::span<const std::byte* const> frames, uint64_t frame_bytes,
                    std::byte* room) {
    if (frames.empty()) return nullptr;
    if (all_adjoin(frames, frame_bytes)) return const_cast<std::byte*>(frames.front());
    for (size_t i = 0; i < frames.size(); ++i)
        steps.emplace_back(conv::ConvCopy{room + i * frame_bytes, frames[i], frame_bytes});
    return room;
}

}  // namespace

DenseRoom dense_room(const conv::ConvProblem& p, uint64_t first) {
    const auto frames_in = static_cast<uint64_t>(p.frames_in()), frames_out = static_cast<uint64_t>(p.frames_out());
    DenseRoom room;
    room.input = workspace_part(first);
    room.output = room.input + workspace_part(frames_in * p.input_frame_bytes());
    room.residual = room.output + workspace_part(frames_out * p.output_frame_bytes());
    room.end = room.residual + (p.residual ? workspace_part(frames_out * p.output_frame_bytes()) : 0);
    return room;
}

DenseTensors append_gather(std::vector<conv::ConvStep>& steps, const conv::ConvProblem& problem,
                           const conv::ConvTensors& tensors, std::span<std::byte* const> stored,
                           const DenseRoom& room) {
    const uint64_t frame = problem.output_frame_bytes();
    return {gathered(steps, tensors.input, problem.input_frame_bytes(), tensors.workspace + room.input),
            all_adjoin(stored, frame) ? stored.front() : tensors.workspace + room.output,
            gathered(steps, tensors.residual, frame, tensors.workspace + room.residual)};
}

void append_scatter(std::vector<conv::ConvStep>& steps, const conv::ConvProblem& problem,
                    std::span<std::byte* const> stored, const std::byte* output) {
    if (output == stored.front()) return;
    const uint64_t frame = problem.output_frame_bytes();
    for (size_t i = 0; i < stored.size(); ++i) steps.emplace_back(conv::ConvCopy{stored[i], output + i * frame, frame});
}

}  // namespace kinetograph::sm100
