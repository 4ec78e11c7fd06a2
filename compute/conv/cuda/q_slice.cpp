#include <kinetograph/compute/conv/cuda/implicit_gemm.hpp>
#include <kinetograph/compute/conv/cuda/launch.hpp>
#include <kinetograph/compute/conv/cuda/norm_pass.hpp>
#include <kinetograph/compute/conv/cuda/parameters.hpp>
#include <kinetograph/compute/conv/cuda/q_slice.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_filter.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_launch.hpp>

#include <optional>
#include <utility>

namespace kinetograph::conv::cuda {
namespace {

using tensor::DType;

enum class Form : std::uint8_t { FusedSums, RoundedSlices };

/// A 2-D convolution over the frames of one temporal tap, chosen and loaded.
struct SliceKernel {
    sm80::ConvConfig config;
    sm80::ConvEpilogue epilogue;
    std::shared_ptr<accel::Kernel> kernel;
};

/// What is compiled, chosen and packed once for any number of frames.
struct Bound {
    Form form = Form::FusedSums;
    SliceKernel sum;                             ///< into the sums, or into the slices
    SliceKernel last;                            ///< FusedSums: finishes the problem
    std::shared_ptr<accel::Kernel> add, finish;  ///< RoundedSlices
    std::optional<NormPass> norm;                ///< behind all; none where the last tile norms or nothing does
    DeviceParameters packed;                     ///< the filter: slice after slice
    std::uint64_t slice_bytes = 0;               ///< of the filter
    std::shared_ptr<Kernels> kernels;            ///< keeps the modules loaded for the next one
};

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

template <class To, class From>
std::vector<To> addresses(const From& frames) {
    return {frames.begin(), frames.end()};
}

class QSlice final : public Convolution {
  public:
    QSlice(const ConvProblem& problem, std::shared_ptr<const Bound> bound)
        : Convolution(problem), image_(sm80_shape(slice_problem(problem, DType::F32))), bound_(std::move(bound)) {}

    std::string_view backend() const override {
        return bound_->form == Form::FusedSums ? "q-slice" : "q-slice-rounded";
    }
    std::uint64_t workspace_bytes() const override {
        const std::uint64_t slices = bound_->form == Form::RoundedSlices ? slice_pitch() : 0;
        return static_cast<std::uint64_t>(frames()) * (sum_pitch() + slices);
    }
    std::unique_ptr<Convolution> with_frames(std::int64_t frames) const override {
        ConvProblem other = problem();
        other.d = frames;
        return std::make_unique<QSlice>(other, bound_);
    }

  private:
    std::int64_t frames() const { return problem().n * problem().d_out(); }  // of the output
    std::uint64_t elements() const {
        return static_cast<std::uint64_t>(problem().h_out() * problem().w_out() * problem().filter.k);
    }
    std::uint64_t sum_pitch() const { return aligned(4 * elements()); }
    std::uint64_t slice_pitch() const { return aligned(2 * elements()); }

    /// One address an output frame.
    std::vector<std::byte*> frames_at(std::byte* first, std::uint64_t pitch) const {
        std::vector<std::byte*> all(static_cast<std::size_t>(frames()));
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = first + i * pitch;
        return all;
    }

    /// The input frames under temporal tap `q`, one an output frame.
    std::vector<const void*> under(std::int64_t q, std::span<const std::byte* const> input) const {
        const ConvProblem& p = problem();
        std::vector<const void*> under;
        under.reserve(static_cast<std::size_t>(frames()));
        for (std::int64_t sample = 0; sample < p.n; ++sample)
            for (std::int64_t t = 0; t < p.d_out(); ++t) under.push_back(input[sample * p.d + t + q]);
        return under;
    }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        // With the norm in a pass of its own, the output that nobody else wants is normed where it lies.
        const bool in_place = bound_->norm.has_value() && problem().norm == Norm::Instead;
        const auto stored = in_place ? tensors.normed : tensors.output;
        const auto sums = frames_at(tensors.workspace, sum_pitch());
        if (bound_->form == Form::FusedSums) {
            fuse(stream, pass_name, tensors, stored, sums);
        } else {
            add_rounded(stream, pass_name, tensors, sums);
            finish(stream, pass_name, tensors, stored, sums);
        }
        if (bound_->norm)
            bound_->norm->enqueue(stream, pass_name, problem(), floats(bound_->packed.gamma), stored, tensors.normed);
        return {};
    }

    void convolve(accel::Stream& stream, std::string_view pass_name, const SliceKernel& slice, std::int64_t q,
                  sm80::ConvAddresses where) const {
        where.filter = bound_->packed.filter->data() + static_cast<std::uint64_t>(q) * bound_->slice_bytes;
        for (const sm80::ConvLaunch& launch : sm80::plan_conv(slice.config, image_, slice.epilogue, where)) {
            stream.launch({pass_name,
                           *slice.kernel,
                           {launch.grid[0], launch.grid[1], 1},
                           {launch.threads, 1, 1},
                           {},
                           launch.shared_bytes,
                           accel::bytes_of(launch.params)});
        }
    }

    void fuse(accel::Stream& stream, std::string_view pass_name, const ConvTensors& tensors,
              std::span<std::byte* const> stored, std::span<std::byte* const> sums) const {
        const auto into_sums = addresses<void*>(sums), output = addresses<void*>(stored);
        const auto from_sums = addresses<const void*>(sums), residual = addresses<const void*>(tensors.residual);
        const auto normed = bound_->norm ? std::vector<void*>{} : addresses<void*>(tensors.normed);
        const std::int64_t last = problem().filter.q - 1;
        for (std::int64_t q = 0; q < last; ++q) {
            const auto input = under(q, tensors.input);
            convolve(stream, pass_name, bound_->sum, q,
                     {.input = input,
                      .output = into_sums,
                      .addend = q == 0 ? std::span<const void* const>{} : std::span(from_sums)});
        }
        const auto input = under(last, tensors.input);
        convolve(stream, pass_name, bound_->last, last,
                 {.input = input,
                  .output = output,
                  .residual = residual,
                  .addend = from_sums,
                  .normed = normed,
                  .bias = floats(bound_->packed.bias),
                  .gamma = floats(bound_->packed.gamma)});
    }

    void add_rounded(accel::Stream& stream, std::string_view pass_name, const ConvTensors& tensors,
                     std::span<std::byte* const> sums) const {
        const auto slices =
            frames_at(tensors.workspace + static_cast<std::uint64_t>(frames()) * sum_pitch(), slice_pitch());
        const auto output = addresses<void*>(slices);
        const auto slice = addresses<const std::byte*>(slices);
        const auto count = static_cast<std::uint32_t>(elements());
        for (std::int64_t q = 0; q < problem().filter.q; ++q) {
            const auto input = under(q, tensors.input);
            convolve(stream, pass_name, bound_->sum, q, {.input = input, .output = output});
            launch_frames(stream, pass_name, *bound_->add,
                          sm80::AddSliceParams{.frames = {}, .elements = count, .first = q == 0 ? 1U : 0U}, slice, sums,
                          [&](std::uint32_t frames) { return sm80::elements_launch(count, frames); });
        }
    }

    void finish(accel::Stream& stream, std::string_view pass_name, const ConvTensors& tensors,
                std::span<std::byte* const> stored, std::span<std::byte* const> sums) const {
        const auto input = addresses<const std::byte*>(sums);
        const auto count = static_cast<std::uint32_t>(elements());
        sm80::FinishSlicesParams params{.frames = {},
                                        .residual = {},
                                        .bias = floats(bound_->packed.bias),
                                        .elements = count,
                                        .channels = static_cast<std::uint32_t>(problem().filter.k),
                                        .silu = problem().activation == Activation::Silu,
                                        .beta = problem().beta};
        for (std::size_t first = 0; first < input.size(); first += sm80::kMaxPassFrames) {
            const std::size_t some = std::min<std::size_t>(sm80::kMaxPassFrames, input.size() - first);
            for (std::size_t i = 0; i < some && !tensors.residual.empty(); ++i)
                params.residual[i] = tensors.residual[first + i];
            launch_frames(stream, pass_name, *bound_->finish, params, std::span(input).subspan(first, some),
                          stored.subspan(first, some),
                          [&](std::uint32_t frames) { return sm80::elements_launch(count, frames); });
        }
    }

    sm80::ConvShape image_;
    std::shared_ptr<const Bound> bound_;
};

Result<SliceKernel> load(Kernels& kernels, const sm80::ConvShape& image, const sm80::ConvEpilogue& epilogue) {
    const sm80::NamedConvConfig& named = sm80::choose_config(image, epilogue, chip_of(kernels.device().info()));
    auto kernel = kernels.get(binary_of(image.element), named.kernel);
    if (!kernel) return fail(std::move(kernel.error()));
    return SliceKernel{named.config, epilogue, std::move(*kernel)};
}

Result<void> load_fused(Bound& bound, const sm80::ConvShape& image, const ConvProblem& problem) {
    sm80::ConvEpilogue finishing = epilogue_of(problem);
    if (!sm80::declined(image, finishing).empty()) finishing.norm = sm80::Norm::None;
    auto sum = load(*bound.kernels, image, {.float32 = true});
    if (!sum) return fail(std::move(sum.error()));
    auto last = load(*bound.kernels, image, finishing);
    if (!last) return fail(std::move(last.error()));
    bound.sum = std::move(*sum);
    bound.last = std::move(*last);
    return {};
}

Result<void> load_rounded(Bound& bound, const sm80::ConvShape& image, const ConvProblem& problem) {
    auto sum = load(*bound.kernels, image, {});
    if (!sum) return fail(std::move(sum.error()));
    auto add = bound.kernels->get("frame_passes", fmt::format("sm80_add_slice_{}", element_suffix(problem.dtype)));
    if (!add) return fail(std::move(add.error()));
    auto finish =
        bound.kernels->get("frame_passes", fmt::format("sm80_finish_slices_{}", element_suffix(problem.output_dtype)));
    if (!finish) return fail(std::move(finish.error()));
    bound.sum = std::move(*sum);
    bound.add = std::move(*add);
    bound.finish = std::move(*finish);
    return {};
}

Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem,
                                            const ConvParameters& parameters, Form form) {
    const sm80::ConvShape image = sm80_shape(slice_problem(problem, DType::F32));
    auto bound = std::make_shared<Bound>();
    bound->form = form;
    bound->kernels = Kernels::of(device);
    auto loaded = form == Form::FusedSums ? load_fused(*bound, image, problem) : load_rounded(*bound, image, problem);
    if (!loaded) return fail(std::move(loaded.error()));
    if (problem.norm != Norm::None && bound->last.epilogue.norm == sm80::Norm::None) {
        auto norm = NormPass::create(*bound->kernels, problem);
        if (!norm) return fail(std::move(norm.error()));
        bound->norm = std::move(*norm);
    }
    std::vector<std::uint16_t> packed;
    for (std::int64_t q = 0; q < problem.filter.q; ++q) {
        const auto slice = sm80::pack_filter(image, slice_filter(problem, parameters.filter, q).data());
        packed.insert(packed.end(), slice.begin(), slice.end());
        bound->slice_bytes = slice.size() * sizeof(std::uint16_t);
    }
    auto uploaded = upload_parameters(device, std::as_bytes(std::span(packed)), parameters);
    if (!uploaded) return fail(std::move(uploaded.error()));
    bound->packed = std::move(*uploaded);
    return std::make_unique<QSlice>(problem, std::move(bound));
}

}  // namespace

ConvProblem slice_problem(const ConvProblem& problem, DType output_dtype) {
    ConvProblem slice;
    slice.n = problem.n * problem.d_out();
    slice.h = problem.h;
    slice.w = problem.w;
    slice.c_in = problem.c_in;
    slice.filter = {problem.filter.k, 1, problem.filter.r, problem.filter.s};
    slice.pad = problem.pad;
    slice.pad.front = slice.pad.back = 0;
    slice.dtype = problem.dtype;
    slice.output_dtype = output_dtype;
    slice.bias = false;
    return slice;
}

std::vector<float> slice_filter(const ConvProblem& problem, std::span<const float> filter, std::int64_t q) {
    const std::int64_t taps = problem.filter.r * problem.filter.s, rows = problem.filter.k * problem.c_in;
    std::vector<float> slice;
    slice.reserve(static_cast<std::size_t>(rows * taps));
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto first = filter.begin() + (row * problem.filter.q + q) * taps;
        slice.insert(slice.end(), first, first + taps);
    }
    return slice;
}

Result<std::unique_ptr<Convolution>> create_q_slice(accel::Device& device, const ConvProblem& problem,
                                                    const ConvParameters& parameters) {
    return create(device, problem, parameters, Form::FusedSums);
}

Result<std::unique_ptr<Convolution>> create_rounded_q_slice(accel::Device& device, const ConvProblem& problem,
                                                            const ConvParameters& parameters) {
    return create(device, problem, parameters, Form::RoundedSlices);
}

}  // namespace kinetograph::conv::cuda
