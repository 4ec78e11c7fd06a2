#include <kinetograph/compute/conv/cuda/implicit_gemm.hpp>
#include <kinetograph/compute/conv/cuda/launch.hpp>
#include <kinetograph/compute/conv/cuda/norm_pass.hpp>
#include <kinetograph/compute/conv/cuda/parameters.hpp>
#include <kinetograph/compute/conv/cuda/q_slice.hpp>
#include <kinetograph/kernels/conv/tensors.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_filter.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_launch.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace kinetograph::conv::cuda {
namespace {

using tensor::DType;

/// A 2-D convolution over the frames of one temporal tap, chosen and loaded.
struct SliceKernel {
    sm80::ConvConfig config;
    sm80::ConvEpilogue epilogue;
    std::shared_ptr<accel::Kernel> kernel;
};

/// What is compiled, chosen and packed once for any number of frames.
struct Bound {
    QSliceForm form = QSliceForm::FusedSums;
    SliceKernel sum;                             ///< into the sums, or into the slices
    SliceKernel last;                            ///< FusedSums: finishes the problem
    std::shared_ptr<accel::Kernel> add, finish;  ///< RoundedSlices
    std::optional<NormPass> norm;                ///< behind all; none where the last tile norms or nothing does
    DeviceParameters packed;                     ///< the filter: slice after slice
    std::uint64_t slice_bytes = 0;               ///< of the filter
    sm80::ConvChip chip{};
    std::uint64_t sum_bytes = 0;       ///< of a band, at most
    std::shared_ptr<Kernels> kernels;  ///< keeps the modules loaded for the next one
};

template <class To, class From>
std::vector<To> addresses(const From& frames) {
    return {frames.begin(), frames.end()};
}

/// Rows [first, first + count) of every output frame, as a convolution of its own over the input rows under them.
struct Band {
    std::int64_t first = 0, first_input = 0;
    sm80::ConvShape shape;
    std::int64_t rows() const { return shape.h_out(); }
};

Band band_of(const sm80::ConvShape& image, std::int64_t first, std::int64_t rows) {
    const std::int64_t above = first - image.pad_front.h, below = above + rows + image.r - 1;
    Band band{first, std::max<std::int64_t>(above, 0), image};
    band.shape.h = std::min(below, image.h) - band.first_input;
    band.shape.pad_front.h = std::max<std::int64_t>(-above, 0);
    band.shape.pad_back.h = std::max<std::int64_t>(below - image.h, 0);
    return band;
}

/// Rows of a band: as many as `sum_bytes` hold, or some fewer where the launches' last waves are fuller then.
std::int64_t band_rows(const sm80::ConvShape& image, const sm80::ConvConfig& config, const sm80::ConvChip& chip,
                       std::uint64_t sum_bytes) {
    const std::int64_t height = image.h_out();
    // A band that sees nothing but padding would be no convolution.
    if (image.pad_front.h >= image.r || image.pad_back.h >= image.r) return height;
    const std::int64_t row_bytes = image.frames_out() * image.w_out() * image.c_out * 4;
    const std::int64_t most = std::clamp<std::int64_t>(static_cast<std::int64_t>(sum_bytes) / row_bytes, 1, height);
    const std::int64_t slots = int64_t{chip.sm_count} * sm80::resident_ctas(config, chip);
    std::int64_t best = most, fewest = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t rows = most; rows > most / 2; --rows) {
        const std::int64_t ctas = sm80::conv_ctas(config, band_of(image, 0, rows).shape);
        const std::int64_t waves = (height + rows - 1) / rows * ((ctas + slots - 1) / slots);
        if (waves >= fewest) continue;
        best = rows;
        fewest = waves;
    }
    return best;
}

template <class Byte>
std::vector<Byte*> moved(std::span<Byte* const> frames, std::int64_t bytes) {
    std::vector<Byte*> all(frames.begin(), frames.end());
    for (Byte*& frame : all) frame += bytes;
    return all;
}

/// Band by band, all slices of one before the next: the sums of one band are the workspace.
class QSlice final : public Convolution {
  public:
    QSlice(const ConvProblem& problem, std::shared_ptr<const Bound> bound)
        : Convolution(problem),
          image_(sm80_shape(slice_problem(problem, DType::F32))),
          rows_(band_rows(image_, bound->sum.config, bound->chip, bound->sum_bytes)),
          bound_(std::move(bound)) {}

    std::string_view backend() const override {
        return bound_->form == QSliceForm::FusedSums ? "q-slice" : "q-slice-rounded";
    }
    std::uint64_t workspace_bytes() const override {
        const std::uint64_t slices = bound_->form == QSliceForm::RoundedSlices ? pitch(rows_, 2) : 0;
        return static_cast<std::uint64_t>(image_.n) * (pitch(rows_, 4) + slices);
    }
    std::unique_ptr<Convolution> with_frames(std::int64_t frames) const override {
        ConvProblem other = problem();
        other.d = frames;
        return std::make_unique<QSlice>(other, bound_);
    }

  private:
    /// One band's part of the tensors.
    struct Part {
        Band band;
        std::vector<const std::byte*> input, residual;
        std::vector<std::byte*> stored, normed, sums;
        std::uint32_t elements = 0;  ///< of one output frame
    };

    std::int64_t row_elements() const { return problem().w_out() * problem().filter.k; }
    /// From frame to frame of `rows` rows of elements of so many bytes.
    std::uint64_t pitch(std::int64_t rows, std::int64_t element_bytes) const {
        return workspace_part(static_cast<std::uint64_t>(rows * row_elements() * element_bytes));
    }

    /// One address an output frame.
    std::vector<std::byte*> frames_at(std::byte* first, std::uint64_t pitch) const {
        std::vector<std::byte*> all(static_cast<std::size_t>(image_.n));
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = first + i * pitch;
        return all;
    }

    /// The input frames under temporal tap `q`, one an output frame.
    std::vector<const void*> under(std::int64_t q, std::span<const std::byte* const> input) const {
        const ConvProblem& p = problem();
        std::vector<const void*> under;
        under.reserve(static_cast<std::size_t>(image_.n));
        for (std::int64_t sample = 0; sample < p.n; ++sample)
            for (std::int64_t t = 0; t < p.d_out(); ++t) under.push_back(input[sample * p.d + t + q]);
        return under;
    }

    Part part_of(const ConvTensors& tensors, std::span<std::byte* const> stored, const Band& band) const {
        const std::int64_t output_row = row_elements() * tensor::bytes_per_element(problem().output_dtype);
        const std::int64_t input_row = problem().w * problem().c_in * tensor::bytes_per_element(problem().dtype);
        Part part;
        part.band = band;
        part.input = moved(tensors.input, band.first_input * input_row);
        part.residual = moved(tensors.residual, band.first * output_row);
        part.stored = moved(stored, band.first * output_row);
        if (!bound_->norm) part.normed = moved(tensors.normed, band.first * output_row);
        part.sums = frames_at(tensors.workspace, pitch(rows_, 4));
        part.elements = static_cast<std::uint32_t>(band.rows() * row_elements());
        return part;
    }

    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const override {
        // With the norm in a pass of its own, the output that nobody else wants is normed where it lies.
        const bool in_place = bound_->norm.has_value() && problem().norm == Norm::Instead;
        const auto stored = in_place ? tensors.normed : tensors.output;
        for (std::int64_t first = 0; first < problem().h_out(); first += rows_) {
            const std::int64_t rows = std::min(rows_, problem().h_out() - first);
            const Part part = part_of(tensors, stored, band_of(image_, first, rows));
            if (bound_->form == QSliceForm::FusedSums) {
                fuse(stream, pass_name, part);
            } else {
                add_rounded(stream, pass_name, part,
                            tensors.workspace + static_cast<std::uint64_t>(image_.n) * pitch(rows_, 4));
                finish(stream, pass_name, part);
            }
        }
        if (bound_->norm)
            bound_->norm->enqueue(stream, pass_name, problem(), floats(bound_->packed.gamma), stored, tensors.normed);
        return {};
    }

    void convolve(accel::Stream& stream, std::string_view pass_name, const SliceKernel& slice, const Band& band,
                  std::int64_t q, sm80::ConvAddresses where) const {
        where.filter = bound_->packed.filter->data() + static_cast<std::uint64_t>(q) * bound_->slice_bytes;
        for (const sm80::ConvLaunch& launch : sm80::plan_conv(slice.config, band.shape, slice.epilogue, where)) {
            stream.launch({pass_name,
                           *slice.kernel,
                           {launch.grid[0], launch.grid[1], 1},
                           {launch.threads, 1, 1},
                           {},
                           launch.shared_bytes,
                           accel::bytes_of(launch.params)});
        }
    }

    void fuse(accel::Stream& stream, std::string_view pass_name, const Part& part) const {
        const auto into_sums = addresses<void*>(part.sums), output = addresses<void*>(part.stored);
        const auto from_sums = addresses<const void*>(part.sums), residual = addresses<const void*>(part.residual);
        const auto normed = addresses<void*>(part.normed);
        const std::int64_t last = problem().filter.q - 1;
        for (std::int64_t q = 0; q < last; ++q) {
            const auto input = under(q, part.input);
            convolve(stream, pass_name, bound_->sum, part.band, q,
                     {.input = input,
                      .output = into_sums,
                      .addend = q == 0 ? std::span<const void* const>{} : std::span(from_sums)});
        }
        const auto input = under(last, part.input);
        convolve(stream, pass_name, bound_->last, part.band, last,
                 {.input = input,
                  .output = output,
                  .residual = residual,
                  .addend = from_sums,
                  .normed = normed,
                  .bias = floats(bound_->packed.bias),
                  .gamma = floats(bound_->packed.gamma)});
    }

    void add_rounded(accel::Stream& stream, std::string_view pass_name, const Part& part, std::byte* room) const {
        const auto slices = frames_at(room, pitch(rows_, 2));
        const auto output = addresses<void*>(slices);
        const auto slice = addresses<const std::byte*>(slices);
        for (std::int64_t q = 0; q < problem().filter.q; ++q) {
            const auto input = under(q, part.input);
            convolve(stream, pass_name, bound_->sum, part.band, q, {.input = input, .output = output});
            launch_frames(stream, pass_name, *bound_->add,
                          sm80::AddSliceParams{.frames = {}, .elements = part.elements, .first = q == 0 ? 1U : 0U},
                          slice, part.sums,
                          [&](std::uint32_t frames) { return sm80::elements_launch(part.elements, frames); });
        }
    }

    void finish(accel::Stream& stream, std::string_view pass_name, const Part& part) const {
        const auto input = addresses<const std::byte*>(part.sums);
        sm80::FinishSlicesParams params{.frames = {},
                                        .residual = {},
                                        .bias = floats(bound_->packed.bias),
                                        .elements = part.elements,
                                        .channels = static_cast<std::uint32_t>(problem().filter.k),
                                        .silu = problem().activation == Activation::Silu,
                                        .beta = problem().beta};
        for (std::size_t first = 0; first < input.size(); first += sm80::kMaxPassFrames) {
            const std::size_t some = std::min<std::size_t>(sm80::kMaxPassFrames, input.size() - first);
            for (std::size_t i = 0; i < some && !part.residual.empty(); ++i)
                params.residual[i] = part.residual[first + i];
            launch_frames(stream, pass_name, *bound_->finish, params, std::span(input).subspan(first, some),
                          std::span(part.stored).subspan(first, some),
                          [&](std::uint32_t frames) { return sm80::elements_launch(part.elements, frames); });
        }
    }

    sm80::ConvShape image_;  ///< n: output frames of all samples
    std::int64_t rows_;      ///< of a band
    std::shared_ptr<const Bound> bound_;
};

Result<SliceKernel> load(Kernels& kernels, const sm80::ConvShape& image, const sm80::ConvEpilogue& epilogue) {
    const sm80::NamedConvConfig& named = sm80::choose_config(image, epilogue, chip_of(kernels.device().info()));
    KG_TRY(auto kernel, kernels.get(binary_of(image.element), named.kernel));
    return SliceKernel{named.config, epilogue, std::move(kernel)};
}

Result<void> load_fused(Bound& bound, const sm80::ConvShape& image, const ConvProblem& problem) {
    sm80::ConvEpilogue finishing = epilogue_of(problem);
    if (!sm80::declined(image, finishing).empty()) finishing.norm = sm80::Norm::None;
    KG_TRY(auto sum, load(*bound.kernels, image, {.float32 = true}));
    KG_TRY(auto last, load(*bound.kernels, image, finishing));
    bound.sum = std::move(sum);
    bound.last = std::move(last);
    return {};
}

Result<void> load_rounded(Bound& bound, const sm80::ConvShape& image, const ConvProblem& problem) {
    KG_TRY(auto sum, load(*bound.kernels, image, {}));
    KG_TRY(auto add,
           bound.kernels->get("frame_passes", fmt::format("sm80_add_slice_{}", element_suffix(problem.dtype))));
    auto finish =
        bound.kernels->get("frame_passes", fmt::format("sm80_finish_slices_{}", element_suffix(problem.output_dtype)));
    if (!finish) return fail(std::move(finish.error()));
    bound.sum = std::move(sum);
    bound.add = std::move(add);
    bound.finish = std::move(*finish);
    return {};
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

Result<std::unique_ptr<Convolution>> create_q_slice_in_bands(accel::Device& device, const ConvProblem& problem,
                                                             const ConvParameters& parameters, QSliceForm form,
                                                             std::uint64_t sum_bytes) {
    const sm80::ConvShape image = sm80_shape(slice_problem(problem, DType::F32));
    auto bound = std::make_shared<Bound>();
    bound->form = form;
    bound->kernels = Kernels::of(device);
    bound->sum_bytes = sum_bytes;
    bound->chip = chip_of(device.info());
    auto loaded =
        form == QSliceForm::FusedSums ? load_fused(*bound, image, problem) : load_rounded(*bound, image, problem);
    if (!loaded) return fail(std::move(loaded.error()));
    if (problem.norm != Norm::None && bound->last.epilogue.norm == sm80::Norm::None) {
        KG_TRY(bound->norm, NormPass::create(*bound->kernels, problem));
    }
    std::vector<std::uint16_t> packed;
    for (std::int64_t q = 0; q < problem.filter.q; ++q) {
        const auto slice = sm80::pack_filter(image, slice_filter(problem, parameters.filter, q).data());
        packed.insert(packed.end(), slice.begin(), slice.end());
        bound->slice_bytes = slice.size() * sizeof(std::uint16_t);
    }
    KG_TRY(bound->packed, upload_parameters(device, std::as_bytes(std::span(packed)), parameters));
    return std::make_unique<QSlice>(problem, std::move(bound));
}

Result<std::unique_ptr<Convolution>> create_q_slice(accel::Device& device, const ConvProblem& problem,
                                                    const ConvParameters& parameters) {
    return create_q_slice_in_bands(device, problem, parameters, QSliceForm::FusedSums, kQSliceSumBytes);
}

Result<std::unique_ptr<Convolution>> create_rounded_q_slice(accel::Device& device, const ConvProblem& problem,
                                                            const ConvParameters& parameters) {
    return create_q_slice_in_bands(device, problem, parameters, QSliceForm::RoundedSlices, kQSliceSumBytes);
}

}  // namespace kinetograph::conv::cuda
