#include <kinetograph/compute/conv/hip/four_wave.hpp>
#include <kinetograph/compute/conv/hip/im2col.hpp>
#include <kinetograph/compute/conv/hip/kernels.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_moves_launch.hpp>

#include <algorithm>

namespace kinetograph::conv::hip {
namespace {

constexpr std::int64_t kPartBytes = 64 << 20;

/// K of the product: all taps and channels, up to a multiple of 64 for the kernel's fastest loader.
std::int64_t columns(const ConvProblem& p) { return (p.filter.q * p.filter.r * p.filter.s * p.c_in + 63) / 64 * 64; }

gfx950::Im2colProblem im2col_problem(const ConvProblem& p, std::int64_t first, std::int64_t pixels) {
    return {.frames = {p.d, p.filter.q, p.stride.d, p.dilation.d, p.pad.front, p.pad.back},
            .height = {p.h, p.filter.r, p.stride.h, p.dilation.h, p.pad.top, p.pad.bottom},
            .width = {p.w, p.filter.s, p.stride.w, p.dilation.w, p.pad.left, p.pad.right},
            .channels = p.c_in,
            .storage = p.dtype,
            .columns = columns(p),
            .first_pixel = first,
            .pixels = pixels};
}

/// [k][c_in / groups][q][r][s] to [k][columns], elements [q][r][s][c_in] with zeros for the channels of other groups.
std::vector<float> dense_filter(const ConvProblem& p, std::span<const float> filter) {
    const std::int64_t taps = p.filter.q * p.filter.r * p.filter.s, c_group = p.c_in / p.groups;
    const std::int64_t k_group = p.filter.k / p.groups;
    std::vector<float> dense(static_cast<std::size_t>(p.filter.k * columns(p)), 0.0F);
    for (std::int64_t k = 0; k < p.filter.k; ++k)
        for (std::int64_t c = 0; c < c_group; ++c)
            for (std::int64_t tap = 0; tap < taps; ++tap)
                dense[k * columns(p) + tap * p.c_in + k / k_group * c_group + c] =
                    filter[(k * c_group + c) * taps + tap];
    return dense;
}

/// The same pixels of all output frames of a sample at a time.
class Im2colConvolution final : public Convolution {
  public:
    Im2colConvolution(const ConvProblem& problem, std::int64_t part, std::unique_ptr<Convolution> whole,
                      std::unique_ptr<Convolution> last, std::shared_ptr<Kernels> kernels)
        : Convolution(problem),
          part_(part),
          whole_(std::move(whole)),
          last_(std::move(last)),
          kernels_(std::move(kernels)) {}
    std::string_view backend() const override { return "im2col"; }
    std::uint64_t workspace_bytes() const override {
        return static_cast<std::uint64_t>(problem().d_out()) * matrix_bytes(part_);
    }

  private:
    /// Of `pixels` of one output frame.
    std::uint64_t matrix_bytes(std::int64_t pixels) const {
        return static_cast<std::uint64_t>(pixels * columns(problem())) * tensor::bytes_per_element(problem().dtype);
    }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        const std::int64_t pixels = problem().h_out() * problem().w_out();
        for (std::int64_t sample = 0; sample < problem().n; ++sample)
            for (std::int64_t first = 0; first < pixels; first += part_) {
                const std::int64_t count = std::min(part_, pixels - first);
                KG_CHECK(multiply(stream, pass_name, tensors, sample, first, count));
            }
        return {};
    }

    /// Pixels [first, first + count) of the sample's output frames.
    Result<void> multiply(accel::Stream& stream, std::string_view pass_name, const ConvTensors& tensors,
                          std::int64_t sample, std::int64_t first, std::int64_t count) const {
        const ConvProblem& p = problem();
        const gfx950::Im2colProblem matrix = im2col_problem(p, first, count);
        if (const auto refused = gfx950::refusal(matrix))
            return fail(ErrorCode::Unsupported, "pass \"{}\": {}", pass_name, *refused);
        auto kernel = BoundKernel::create(*kernels_, gfx950::launch_shape(matrix));
        if (!kernel) return fail(std::move(kernel.error()), pass_name);
        kernel->launch(stream, pass_name,
                       gfx950::make_params(matrix, tensors.input.subspan(sample * p.d, p.d), tensors.workspace));

        const auto offset = static_cast<std::uint64_t>(first * p.filter.k) * tensor::bytes_per_element(p.output_dtype);
        std::vector<const std::byte*> input, residual;
        std::vector<std::byte*> output;
        for (std::int64_t t = 0; t < p.d_out(); ++t) {
            input.push_back(tensors.workspace + static_cast<std::uint64_t>(t) * matrix_bytes(count));
            output.push_back(tensors.output[sample * p.d_out() + t] + offset);
            if (p.residual) residual.push_back(tensors.residual[sample * p.d_out() + t] + offset);
        }
        const Convolution& product = count == part_ ? *whole_ : *last_;
        return product.enqueue(stream, pass_name, {.input = input, .output = output, .residual = residual});
    }

    std::int64_t part_;  ///< pixels of an output frame
    std::unique_ptr<Convolution> whole_, last_;
    std::shared_ptr<Kernels> kernels_;
};

}  // namespace

Result<std::unique_ptr<Convolution>> create_im2col(accel::Device& device, const ConvProblem& problem,
                                                   const ConvParameters& parameters) {
    const std::int64_t pixels = problem.h_out() * problem.w_out();
    const std::int64_t row_bytes = columns(problem) * tensor::bytes_per_element(problem.dtype);
    const std::int64_t part = std::clamp<std::int64_t>(kPartBytes / (row_bytes * problem.d_out()), 1, pixels);
    if (const auto refused = gfx950::refusal(im2col_problem(problem, 0, part)))
        return fail(ErrorCode::Unsupported, "{}", *refused);

    ConvProblem product;
    product.d = problem.d_out();
    product.h = 1;
    product.w = part;
    product.c_in = columns(problem);
    product.filter = {problem.filter.k};
    product.dtype = problem.dtype;
    product.output_dtype = problem.output_dtype;
    product.bias = problem.bias;
    product.residual = problem.residual;
    product.beta = problem.beta;
    product.activation = problem.activation;
    const std::vector<float> dense = dense_filter(problem, parameters.filter);
    KG_TRY(auto whole, create_four_wave(device, product, {dense, parameters.bias}));
    std::unique_ptr<Convolution> last;
    if (pixels % part != 0) {
        product.w = pixels % part;
        KG_TRY(last, create_four_wave(device, product, {dense, parameters.bias}));
    }
    return std::make_unique<Im2colConvolution>(problem, part, std::move(whole), std::move(last), Kernels::of(device));
}

}  // namespace kinetograph::conv::hip
