#include <kinetograph/compute/conv/norm_after.hpp>
#include <kinetograph/compute/conv/row_norm.hpp>
#include <kinetograph/engine/base/workers.hpp>

namespace kinetograph::conv {
namespace {

class NormAfter final : public Convolution {
  public:
    NormAfter(const ConvProblem& problem, std::unique_ptr<Convolution> bare, const HostParameters& norm)
        : Convolution(problem), bare_(std::move(bare)), norm_(RowNorm::of(problem, norm.view())) {}
    std::string_view backend() const override { return bare_->backend(); }
    Result<void> pack() override { return bare_->pack(); }
    std::uint64_t workspace_bytes() const override {
        const ConvProblem& p = problem();
        const auto frames = static_cast<std::uint64_t>(p.n * p.d_out());
        return bare_workspace() + (p.norm == Norm::Instead ? frames * p.output_frame_bytes() : 0);
    }

  private:
    std::uint64_t bare_workspace() const { return (bare_->workspace_bytes() + 63) / 64 * 64; }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        const ConvProblem& p = problem();
        std::vector<std::byte*> output(tensors.output.begin(), tensors.output.end());
        if (p.norm == Norm::Instead) {
            std::byte* frame = tensors.workspace + bare_workspace();
            for (std::size_t i = 0; i < tensors.normed.size(); ++i, frame += p.output_frame_bytes()) {
                output.push_back(frame);
            }
        }
        KG_CHECK(bare_->enqueue(stream, pass_name, {tensors.input, output, tensors.residual, tensors.workspace}));
        stream.enqueue(pass_name,
                       [this, output = std::move(output),
                        normed = std::vector(tensors.normed.begin(), tensors.normed.end())]() -> Result<void> {
                           norm_frames(output, normed);
                           return {};
                       });
        return {};
    }

    void norm_frames(const std::vector<std::byte*>& output, const std::vector<std::byte*>& normed) const {
        const ConvProblem& p = problem();
        const std::int64_t rows = static_cast<std::int64_t>(output.size()) * p.h_out();
        const std::int64_t elements = p.w_out() * p.filter.k;
        const std::int64_t row_bytes = elements * element_bytes(p.output.element);
        const std::int64_t normed_row_bytes = elements * element_bytes(p.normed.element);
        for_tasks(rows, [&](std::int64_t row, int) {
            const std::int64_t frame = row / p.h_out(), y = row % p.h_out();
            norm_.run(output[frame] + y * row_bytes, normed[frame] + y * normed_row_bytes, p.w_out());
        });
    }

    std::unique_ptr<Convolution> bare_;
    RowNorm norm_;
};

}  // namespace

std::unique_ptr<Convolution> create_norm_after(const ConvProblem& problem, std::unique_ptr<Convolution> bare,
                                               const HostParameters& norm) {
    return std::make_unique<NormAfter>(problem, std::move(bare), norm);
}

}  // namespace kinetograph::conv
