#include <kinetograph/compute/conv/cuda/im2col.hpp>
#include <kinetograph/compute/conv/cuda/implicit_gemm.hpp>
#include <kinetograph/compute/conv/cuda/launch.hpp>

#include <algorithm>

namespace kinetograph::conv::cuda {
namespace {

constexpr std::int64_t kPartBytes = 64 << 20;

/// K of the product: all taps and channels, up to whole blocks of the kernel's loop.
std::int64_t columns(const ConvProblem& p) { return (p.filter.q * p.filter.r * p.filter.s * p.c_in + 31) / 32 * 32; }

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
class Im2col final : public Convolution {
  public:
    Im2col(const ConvProblem& problem, std::int64_t part, std::unique_ptr<Convolution> whole,
           std::unique_ptr<Convolution> last, std::shared_ptr<accel::Kernel> gather)
        : Convolution(problem),
          part_(part),
          whole_(std::move(whole)),
          last_(std::move(last)),
          gather_(std::move(gather)) {}
    std::string_view backend() const override { return "im2col-cuda"; }
    std::uint64_t workspace_bytes() const override {
        return static_cast<std::uint64_t>(problem().d_out()) * matrix_bytes(part_);
    }

  private:
    std::uint64_t element_bytes() const { return tensor::bytes_per_element(problem().dtype); }
    /// Of `pixels` of one output frame.
    std::uint64_t matrix_bytes(std::int64_t pixels) const {
        return static_cast<std::uint64_t>(pixels * columns(problem())) * element_bytes();
    }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        const std::int64_t pixels = problem().h_out() * problem().w_out();
        for (std::int64_t sample = 0; sample < problem().n; ++sample)
            for (std::int64_t first = 0; first < pixels; first += part_) {
                const std::int64_t count = std::min(part_, pixels - first);
                gather(stream, pass_name, tensors, sample, first, count);
                KG_CHECK(multiply(stream, pass_name, tensors, sample, first, count));
            }
        return {};
    }

    /// Pixels [first, first + count) of the sample's output frames as rows of a matrix each.
    void gather(accel::Stream& stream, std::string_view pass_name, const ConvTensors& tensors, std::int64_t sample,
                std::int64_t first, std::int64_t count) const {
        const ConvProblem& p = problem();
        const std::uint64_t tap_bytes = static_cast<std::uint64_t>(p.filter.r * p.filter.s * p.c_in) * element_bytes();
        std::vector<const std::byte*> input;
        std::vector<std::byte*> output;
        input.reserve(static_cast<std::size_t>(p.d_out() * p.filter.q));
        output.reserve(input.capacity());
        for (std::int64_t t = 0; t < p.d_out(); ++t)
            for (std::int64_t q = 0; q < p.filter.q; ++q) {
                const std::int64_t frame = t * p.stride.d + q * p.dilation.d - p.pad.front;
                input.push_back(frame < 0 || frame >= p.d ? nullptr : tensors.input[sample * p.d + frame]);
                output.push_back(tensors.workspace + static_cast<std::uint64_t>(t) * matrix_bytes(count) +
                                 static_cast<std::uint64_t>(q) * tap_bytes);
            }
        sm80::Im2colParams params = gather_params(first, count);
        const std::uint32_t units = params.widest() * params.pixels;
        for (std::size_t slab = 0; slab < input.size(); slab += sm80::kMaxPassFrames) {
            const std::size_t some = std::min<std::size_t>(sm80::kMaxPassFrames, input.size() - slab);
            params.first_slab = static_cast<std::uint32_t>(slab);
            launch_frames(stream, pass_name, *gather_, params, std::span(input).subspan(slab, some),
                          std::span(output).subspan(slab, some),
                          [&](std::uint32_t slabs) { return sm80::elements_launch(units, slabs); });
        }
    }

    sm80::Im2colParams gather_params(std::int64_t first, std::int64_t count) const {
        const ConvProblem& p = problem();
        const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
        const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
        const auto pixel_bytes = p.c_in * static_cast<std::int64_t>(element_bytes());
        const std::int64_t unit = sm80::upsample_unit(u32(pixel_bytes)), seen = p.upsample ? 2 : 1;
        return {.frames = {},
                .h = u32(seen * p.h),
                .w = u32(seen * p.w),
                .w_stored = u32(p.w),
                .upsample = u32(seen - 1),
                .w_out = u32(p.w_out()),
                .s = u32(p.filter.s),
                .stride_h = i32(p.stride.h),
                .stride_w = i32(p.stride.w),
                .dilation_h = i32(p.dilation.h),
                .dilation_w = i32(p.dilation.w),
                .pad_top = i32(p.pad.top),
                .pad_left = i32(p.pad.left),
                .first_pixel = u32(first),
                .pixels = u32(count),
                .pixel_units = u32(pixel_bytes / unit),
                .tap_units = u32(p.filter.r * p.filter.s * pixel_bytes / unit),
                .row_units = u32(columns(p) * static_cast<std::int64_t>(element_bytes()) / unit),
                .q = u32(p.filter.q),
                .first_slab = 0};
    }

    /// The rows of gather() times the filter, to where their pixels belong.
    Result<void> multiply(accel::Stream& stream, std::string_view pass_name, const ConvTensors& tensors,
                          std::int64_t sample, std::int64_t first, std::int64_t count) const {
        const ConvProblem& p = problem();
        const auto offset = static_cast<std::uint64_t>(first * p.filter.k) * tensor::bytes_per_element(p.output_dtype);
        std::vector<const std::byte*> input;
        input.reserve(static_cast<std::size_t>(p.d_out()));
        for (std::int64_t t = 0; t < p.d_out(); ++t)
            input.push_back(tensors.workspace + static_cast<std::uint64_t>(t) * matrix_bytes(count));
        const auto of_sample = [&]<class Byte>(std::span<Byte* const> frames) {
            std::vector<Byte*> moved;
            if (frames.empty()) return moved;
            for (Byte* frame : frames.subspan(sample * p.d_out(), p.d_out())) moved.push_back(frame + offset);
            return moved;
        };
        const auto output = of_sample(tensors.output), normed = of_sample(tensors.normed);
        const auto residual = of_sample(tensors.residual);
        const Convolution& product = count == part_ ? *whole_ : *last_;
        return product.enqueue(
            stream, pass_name,
            {.input = input, .output = output, .residual = residual, .workspace = nullptr, .normed = normed});
    }

    std::int64_t part_;  ///< pixels of an output frame
    std::unique_ptr<Convolution> whole_, last_;
    std::shared_ptr<accel::Kernel> gather_;
};

/// The product over `pixels` pixels of each output frame, with the problem's epilogue.
ConvProblem product_of(const ConvProblem& problem, std::int64_t pixels) {
    ConvProblem product = problem;
    product.n = 1;
    product.d = problem.d_out();
    product.h = 1;
    product.w = pixels;
    product.c_in = columns(problem);
    product.upsample = false;
    product.filter = {problem.filter.k};
    product.stride = product.dilation = {};
    product.pad = {};
    product.groups = 1;
    return product;
}

}  // namespace

Result<std::unique_ptr<Convolution>> create_im2col(accel::Device& device, const ConvProblem& problem,
                                                   const ConvParameters& parameters) {
    const std::int64_t pixels = problem.h_out() * problem.w_out();
    const std::int64_t row_bytes = columns(problem) * tensor::bytes_per_element(problem.dtype);
    const std::int64_t part = std::clamp<std::int64_t>(kPartBytes / (row_bytes * problem.d_out()), 1, pixels);
    const auto kernels = Kernels::of(device);
    const auto pixel_bytes = static_cast<std::uint32_t>(problem.c_in * tensor::bytes_per_element(problem.dtype));
    KG_TRY(auto gather, kernels->get("frame_passes", fmt::format("sm80_im2col_{}", sm80::upsample_unit(pixel_bytes))));

    const std::vector<float> dense = dense_filter(problem, parameters.filter);
    const ConvParameters packed{dense, parameters.bias, parameters.gamma};
    KG_TRY(auto whole, create_implicit_gemm(device, product_of(problem, part), packed));
    std::unique_ptr<Convolution> last;
    if (pixels % part != 0) {
        KG_TRY(last, create_implicit_gemm(device, product_of(problem, pixels % part), packed));
    }
    return std::make_unique<Im2col>(problem, part, std::move(whole), std::move(last), std::move(gather));
}

}  // namespace kinetograph::conv::cuda
