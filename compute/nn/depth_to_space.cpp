#include <kinetograph/compute/nn/cpu_operators.hpp>
#include <kinetograph/engine/base/workers.hpp>

namespace kinetograph::nn {
namespace {

using conv::DepthToSpaceProblem;

/// One row of the output.
template <class Stored>
void make_row(const DepthToSpaceProblem& p, const Stored* input, Stored* output, std::uint32_t dy) {
    for (std::int64_t x = 0; x < p.width; ++x, input += p.channels_in) {
        for (std::uint32_t dx = 0; dx < 2; ++dx, output += p.channels_out) {
            const std::int64_t place = conv::place_in_block(p.order, dy, dx);
            for (std::int64_t c = 0; c < p.channels_out; ++c)
                output[c] = input[(4 * c + place) * p.channels_in / (4 * p.channels_out)];
        }
    }
}

template <class Stored>
void make_frames(const DepthToSpaceProblem& p, const conv::OpTensors& tensors) {
    const std::int64_t rows = 2 * p.height * static_cast<std::int64_t>(tensors.input.size());
    for_tasks(rows, [&](std::int64_t row, int) {
        const auto frame = static_cast<std::size_t>(row / (2 * p.height));
        const std::int64_t y = row % (2 * p.height);
        make_row(p, reinterpret_cast<const Stored*>(tensors.input[frame]) + y / 2 * p.width * p.channels_in,
                 reinterpret_cast<Stored*>(tensors.output[frame]) + y * 2 * p.width * p.channels_out,
                 static_cast<std::uint32_t>(y % 2));
    });
}

}  // namespace

conv::OpMethod depth_to_space_on_cpu() {
    return conv::OpMethodOf<DepthToSpaceProblem>{
        "depth-to-space-cpu", is_cpu, kF32OrBf16<DepthToSpaceProblem, &DepthToSpaceProblem::input>,
        [](const DepthToSpaceProblem& p, const conv::Chip&) {
            const auto make = p.input.element == Element::F32 ? make_frames<float> : make_frames<std::uint16_t>;
            return plan_on_cpu([p, make](const conv::OpTensors& tensors) { make(p, tensors); });
        }};
}

}  // namespace kinetograph::nn
