#include <kinetograph/compute/conv/doubled_before.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <cstring>

namespace kinetograph::conv {
namespace {

/// Doubles one row of pixels into the two output rows at `output`.
void double_row(const std::byte* input, std::byte* output, std::int64_t width, std::size_t pixel_bytes) {
    std::byte* to = output;
    for (std::int64_t x = 0; x < width; ++x, input += pixel_bytes, to += 2 * pixel_bytes) {
        std::memcpy(to, input, pixel_bytes);
        std::memcpy(to + pixel_bytes, input, pixel_bytes);
    }
    const std::size_t row_bytes = static_cast<std::size_t>(2 * width) * pixel_bytes;
    std::memcpy(output + row_bytes, output, row_bytes);
}

class DoubledBefore final : public Convolution {
  public:
    DoubledBefore(const ConvProblem& problem, std::unique_ptr<Convolution> plain, std::string_view backend)
        : Convolution(problem), plain_(std::move(plain)), backend_(backend) {}
    std::string_view backend() const override { return backend_; }
    Result<void> pack() override { return plain_->pack(); }
    std::uint64_t workspace_bytes() const override {
        return plain_workspace() + static_cast<std::uint64_t>(problem().frames_in()) * doubled_frame_bytes();
    }

  private:
    std::uint64_t plain_workspace() const { return (plain_->workspace_bytes() + 63) / 64 * 64; }
    std::uint64_t doubled_frame_bytes() const { return plain_->problem().input_frame_bytes(); }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        std::vector<std::byte*> doubled;
        std::byte* frame = tensors.workspace + plain_workspace();
        for (std::size_t i = 0; i < tensors.input.size(); ++i, frame += doubled_frame_bytes()) doubled.push_back(frame);
        stream.enqueue(
            pass_name,
            [this, doubled, input = std::vector(tensors.input.begin(), tensors.input.end())]() -> Result<void> {
                const ConvProblem& p = problem();
                const auto pixel_bytes =
                    static_cast<std::size_t>(p.c_in) * static_cast<std::size_t>(element_bytes(p.input.element));
                double_frames(input, doubled, p.h, p.w, pixel_bytes);
                return {};
            });
        const std::vector<const std::byte*> read(doubled.begin(), doubled.end());
        return plain_->enqueue(stream, pass_name,
                               {read, tensors.output, tensors.residual, tensors.workspace, tensors.normed});
    }

    std::unique_ptr<Convolution> plain_;
    std::string_view backend_;
};

}  // namespace

ConvProblem on_doubled_input(ConvProblem problem) {
    problem.upsample = false;
    problem.h *= 2;
    problem.w *= 2;
    return problem;
}

void double_frames(std::span<const std::byte* const> input, std::span<std::byte* const> output, std::int64_t height,
                   std::int64_t width, std::size_t pixel_bytes) {
    const std::size_t row_bytes = static_cast<std::size_t>(width) * pixel_bytes;
    const std::int64_t rows = height * static_cast<std::int64_t>(input.size());
    for_tasks(rows, [&](std::int64_t row, int) {
        const auto frame = static_cast<std::size_t>(row / height), y = static_cast<std::size_t>(row % height);
        double_row(input[frame] + y * row_bytes, output[frame] + y * 4 * row_bytes, width, pixel_bytes);
    });
}

std::unique_ptr<Convolution> create_doubled_before(const ConvProblem& problem, std::unique_ptr<Convolution> plain,
                                                   std::string_view backend) {
    return std::make_unique<DoubledBefore>(problem, std::move(plain), backend);
}

}  // namespace kinetograph::conv
