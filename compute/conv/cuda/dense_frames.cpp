#include <kinetograph/compute/conv/cuda/dense_frames.hpp>
#include <kinetograph/compute/conv/cuda/frame_runs.hpp>
#include <kinetograph/kernels/conv/tensors.hpp>

namespace kinetograph::conv::cuda {
namespace {

/// The first of `frames` if the others follow it, otherwise `room` with a copy of all.
std::byte* gathered(accel::Stream& stream, std::span<const std::byte* const> frames, std::uint64_t frame_bytes,
                    std::byte* room) {
    if (frames.empty()) return nullptr;
    // Tensor maps have no const: the same description serves loads and stores.
    if (all_adjoin(frames, frame_bytes)) return const_cast<std::byte*>(frames.front());
    for (std::size_t i = 0; i < frames.size(); ++i) stream.copy(room + i * frame_bytes, frames[i], frame_bytes);
    return room;
}

}  // namespace

DenseRoom dense_room(const ConvProblem& p, std::uint64_t first) {
    const auto frames_in = static_cast<std::uint64_t>(p.n * p.d),
               frames_out = static_cast<std::uint64_t>(p.n * p.d_out());
    DenseRoom room;
    room.input = workspace_part(first);
    room.output = room.input + workspace_part(frames_in * p.input_frame_bytes());
    room.residual = room.output + workspace_part(frames_out * p.output_frame_bytes());
    room.end = room.residual + (p.residual ? workspace_part(frames_out * p.output_frame_bytes()) : 0);
    return room;
}

DenseTensors enqueue_gather(accel::Stream& stream, const ConvProblem& problem, const ConvTensors& tensors,
                            std::span<std::byte* const> stored, const DenseRoom& room) {
    return {gathered(stream, tensors.input, problem.input_frame_bytes(), tensors.workspace + room.input),
            all_adjoin(stored, problem.output_frame_bytes()) ? stored.front() : tensors.workspace + room.output,
            gathered(stream, tensors.residual, problem.output_frame_bytes(), tensors.workspace + room.residual)};
}

void enqueue_scatter(accel::Stream& stream, const ConvProblem& problem, std::span<std::byte* const> stored,
                     const std::byte* output) {
    if (output == stored.front()) return;
    for (std::size_t i = 0; i < stored.size(); ++i)
        stream.copy(stored[i], output + i * problem.output_frame_bytes(), problem.output_frame_bytes());
}

}  // namespace kinetograph::conv::cuda
