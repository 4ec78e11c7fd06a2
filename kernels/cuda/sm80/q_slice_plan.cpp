#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/host/passes.hpp>
#include <kinetograph/kernels/cuda/sm80/cost.hpp>
#include <kinetograph/kernels/cuda/sm80/implicit_gemm_plan.hpp>
#include <kinetograph/kernels/cuda/sm80/plan.hpp>
#include <limits>

namespace kinetograph::sm80 {
namespace {

using conv::Chip;
using conv::ConvPlan;
using conv::ConvProblem;
using conv::ConvStep;
using conv::ConvTensors;
using conv::ParameterAddresses;

/// One slice as a 2-D convolution without epilogue: every output frame is an image.
ConvProblem slice_of(const ConvProblem& problem, Element output_dtype) {
    ConvProblem slice;
    slice.n = problem.frames_out();
    slice.h = problem.h;
    slice.w = problem.w;
    slice.c_in = problem.c_in;
    slice.filter = {problem.filter.k, 1, problem.filter.r, problem.filter.s};
    slice.pad = problem.pad;
    slice.pad.front = slice.pad.back = 0;
    slice.input = slice.weight = problem.input.element;
    slice.output = slice.normed = output_dtype;
    slice.bias = false;
    return slice;
}

/// The same with the problem's epilogue, without a norm that no tile holds.
ConvProblem last_slice_of(const ConvProblem& problem) {
    ConvProblem slice = slice_of(problem, problem.output.element);
    slice.bias = problem.bias;
    slice.residual = problem.residual;
    slice.beta = problem.beta;
    slice.activation = problem.activation;
    slice.negative_slope = problem.negative_slope;
    slice.norm = problem.norm;
    slice.norm_activation = problem.norm_activation;
    if (!some_tile_fits(slice)) slice.norm = conv::Norm::None;
    return slice;
}

/// Rows [first, first + count) of every output frame, as a separate convolution over the input rows under them.
struct Band {
    int64_t first = 0, first_input = 0;
    ConvProblem shape;
    int64_t rows() const { return shape.h_out(); }
};

Band band_of(const ConvProblem& image, int64_t first, int64_t rows) {
    const int64_t above = first - image.pad.top, below = above + rows + image.filter.r - 1;
    Band band{first, std::max<int64_t>(above, 0), image};
    band.shape.h = std::min(below, image.h) - band.first_input;
    band.shape.pad.top = std::max<int64_t>(-above, 0);
    band.shape.pad.bottom = std::max<int64_t>(below - image.h, 0);
    return band;
}

/// Rows of a band: as many as `sum_bytes` hold, or somewhat fewer if the launches' last waves are fuller then.
int64_t band_rows(const ConvProblem& image, const ConvConfig& config, const Chip& chip, uint64_t sum_bytes) {
    const int64_t height = image.h_out();
    // A band that covers only padding would not be a valid convolution.
    if (image.pad.top >= image.filter.r || image.pad.bottom >= image.filter.r) return height;
    const int64_t row_bytes = image.frames_out() * image.w_out() * image.filter.k * 4;
    const int64_t most = std::clamp<int64_t>(static_cast<int64_t>(sum_bytes) / row_bytes, 1, height);
    const int64_t slots = int64_t{chip.compute_units} * resident_ctas(config, chip);
    int64_t best = most, fewest = std::numeric_limits<int64_t>::max();
    for (int64_t rows = most; rows > most / 2; --rows) {
        const int64_t ctas = conv_ctas(config, band_of(image, 0, rows).shape);
        const int64_t waves = (height + rows - 1) / rows * ((ctas + slots - 1) / slots);
        if (waves >= fewest) continue;
        best = rows;
        fewest = waves;
    }
    return best;
}

template <class Byte>
std::vector<Byte*> moved(std::span<Byte* const> frames, int64_t bytes) {
    std::vector<Byte*> all(frames.begin(), frames.end());
    for (Byte*& frame : all) frame += bytes;
    return all;
}

/// Works band by band, all slices of one before the next: the workspace holds the sums of one band.
class QSlicePlan {
  public:
    QSlicePlan(const ConvProblem& problem, const Chip& chip, QSliceForm form, uint64_t sum_bytes)
        : problem_(problem),
          form_(form),
          sum_(slice_of(problem, form == QSliceForm::FusedSums ? Element::F32 : problem.input.element)),
          last_(last_slice_of(problem)) {
        const NamedConvConfig& sum = choose_config(sum_, chip);
        kernels = {{std::string(sum.kernel), image_of(problem.input.element)}};
        sum_config_ = sum.config;
        rows_ = band_rows(sum_, sum.config, chip, sum_bytes);
        const auto slices = static_cast<double>(problem.filter.q);
        const double launches = form == QSliceForm::FusedSums ? slices : 2 * slices + 1;
        seconds = launches * bands() * conv::kLaunchSeconds + cuda::traffic_seconds(sum_traffic(), chip);
        if (form == QSliceForm::FusedSums) {
            const NamedConvConfig& last = choose_config(last_, chip);
            kernels.push_back({std::string(last.kernel), image_of(problem.input.element)});
            last_config_ = last.config;
            seconds += (slices - 1) * conv_seconds(sum.config, sum_, chip) + conv_seconds(last.config, last_, chip);
        } else {
            last_.norm = conv::Norm::None;
            seconds += slices * conv_seconds(sum.config, sum_, chip);
            kernels.push_back({fmt::format("sm80_add_slice_{}", element_name(problem.input.element)), "frame_passes"});
            kernels.push_back(
                {fmt::format("sm80_finish_slices_{}", element_name(problem.output.element)), "frame_passes"});
        }
        if (norms_after()) {
            seconds += cuda::norm_seconds(problem, chip);
            kernels.push_back(cuda::norm_kernel(problem));
        }
    }

    std::vector<conv::KernelName> kernels;
    double seconds = 0;

    uint64_t workspace_bytes() const {
        const uint64_t slices = form_ == QSliceForm::RoundedSlices ? pitch(2) : 0;
        return static_cast<uint64_t>(sum_.n) * (pitch(4) + slices);
    }
    conv::PackedParameters pack(const conv::ConvParameters& parameters) const {
        std::vector<std::byte> packed;
        for (int64_t q = 0; q < problem_.filter.q; ++q) {
            const auto slice = cuda::pack_filter(sum_, cuda::slice_filter(problem_, parameters.filter, q));
            packed.insert(packed.end(), slice.begin(), slice.end());
        }
        return conv::packed_with(std::move(packed), parameters);
    }
    std::vector<ConvStep> steps(const ConvTensors& tensors, const ParameterAddresses& parameters) const {
        std::vector<ConvStep> steps;
        // If the norm is a separate pass, an output that only the norm reads is normalised in place.
        const bool in_place = norms_after() && problem_.norm == conv::Norm::Instead;
        const auto stored = in_place ? tensors.normed : tensors.output;
        for (int64_t first = 0; first < problem_.h_out(); first += rows_) {
            const int64_t rows = std::min(rows_, problem_.h_out() - first);
            const Part part = part_of(tensors, stored, first, rows);
            if (form_ == QSliceForm::FusedSums) {
                fuse(steps, part, parameters);
            } else {
                add_rounded(steps, part, parameters, tensors.workspace + static_cast<uint64_t>(sum_.n) * pitch(4));
                finish(steps, part, parameters);
            }
        }
        if (norms_after())
            cuda::append_norm(steps, static_cast<uint32_t>(kernels.size() - 1), problem_, parameters, stored,
                              tensors.normed);
        return steps;
    }

  private:
    /// One band's part of the tensors.
    struct Part {
        int64_t first, rows;
        std::vector<const std::byte*> input, residual;
        std::vector<std::byte*> stored, normed, sums;
        uint32_t elements = 0;  ///< of one output frame
    };

    double bands() const { return std::ceil(static_cast<double>(problem_.h_out()) / static_cast<double>(rows_)); }
    bool norms_after() const { return problem_.norm != conv::Norm::None && last_.norm == conv::Norm::None; }
    int64_t row_elements() const { return problem_.w_out() * problem_.filter.k; }
    /// Bytes between frames of a band's rows, for elements of `bytes` bytes.
    uint64_t pitch(int64_t bytes) const {
        return conv::workspace_part(static_cast<uint64_t>(rows_ * row_elements() * bytes));
    }
    /// Bytes of sums that are written and read in addition to the input; in the rounded form also bf16 slices.
    double sum_traffic() const {
        const auto elements = static_cast<double>(problem_.frames_out() * problem_.h_out() * row_elements());
        const auto slices = static_cast<double>(problem_.filter.q);
        return form_ == QSliceForm::FusedSums ? elements * 8 * (slices - 1) : elements * ((8 + 4) * slices + 4);
    }

    /// One address per output frame.
    std::vector<std::byte*> frames_at(std::byte* first, uint64_t pitch) const {
        std::vector<std::byte*> all(static_cast<size_t>(sum_.n));
        for (size_t i = 0; i < all.size(); ++i) all[i] = first + i * pitch;
        return all;
    }
    static std::vector<const std::byte*> read(const std::vector<std::byte*>& frames) {
        return {frames.begin(), frames.end()};
    }

    /// The input frames under temporal tap `q`, one per output frame.
    std::vector<const std::byte*> under(int64_t q, const std::vector<const std::byte*>& input) const {
        std::vector<const std::byte*> under;
        under.reserve(static_cast<size_t>(sum_.n));
        for (int64_t sample = 0; sample < problem_.n; ++sample)
            for (int64_t t = 0; t < problem_.d_out(); ++t)
                under.push_back(input[static_cast<size_t>(sample * problem_.d + t + q)]);
        return under;
    }

    Part part_of(const ConvTensors& tensors, std::span<std::byte* const> stored, int64_t first, int64_t rows) const {
        const int64_t output_row = row_elements() * element_bytes(problem_.output.element);
        const int64_t input_row = problem_.w * problem_.c_in * element_bytes(problem_.input.element);
        Part part{.first = first,
                  .rows = rows,
                  .input = moved(tensors.input, band_of(sum_, first, rows).first_input * input_row),
                  .residual = moved(tensors.residual, first * output_row),
                  .stored = moved(stored, first * output_row),
                  .normed = {},
                  .sums = frames_at(tensors.workspace, pitch(4)),
                  .elements = static_cast<uint32_t>(rows * row_elements())};
        if (!norms_after()) part.normed = moved(tensors.normed, first * output_row);
        return part;
    }

    ParameterAddresses with_slice(int64_t q, ParameterAddresses parameters) const {
        parameters.filter += q * cuda::packed_filter_bytes(sum_);
        return parameters;
    }
    static void append(std::vector<ConvStep>& steps, uint32_t kernel, std::vector<conv::ConvLaunch> launches) {
        for (conv::ConvLaunch& launch : launches) {
            launch.kernel = kernel;
            steps.emplace_back(launch);
        }
    }

    void fuse(std::vector<ConvStep>& steps, const Part& part, const ParameterAddresses& parameters) const {
        const auto from_sums = read(part.sums);
        const int64_t last = problem_.filter.q - 1;
        const ConvProblem sum = band_of(sum_, part.first, part.rows).shape;
        for (int64_t q = 0; q < last; ++q) {
            const auto input = under(q, part.input);
            append(steps, 0,
                   conv_launches(sum_config_, sum, {.input = input, .output = part.sums, .residual = {}},
                                 with_slice(q, parameters),
                                 q == 0 ? std::span<const std::byte* const>{} : std::span(from_sums)));
        }
        const auto input = under(last, part.input);
        append(steps, 1,
               conv_launches(last_config_, band_of(last_, part.first, part.rows).shape,
                             {.input = input,
                              .output = part.stored,
                              .residual = part.residual,
                              .workspace = nullptr,
                              .normed = part.normed},
                             with_slice(last, parameters), from_sums));
    }

    void add_rounded(std::vector<ConvStep>& steps, const Part& part, const ParameterAddresses& parameters,
                     std::byte* room) const {
        const auto slices = frames_at(room, pitch(2));
        const auto slice = read(slices);
        const ConvProblem sum = band_of(sum_, part.first, part.rows).shape;
        for (int64_t q = 0; q < problem_.filter.q; ++q) {
            const auto input = under(q, part.input);
            append(steps, 0,
                   conv_launches(sum_config_, sum, {.input = input, .output = slices, .residual = {}},
                                 with_slice(q, parameters)));
            cuda::append_pass(steps, 1,
                              AddSliceParams{.frames = {}, .elements = part.elements, .first = q == 0 ? 1U : 0U}, slice,
                              part.sums, [&](uint32_t frames) { return cuda::elements_launch(part.elements, frames); });
        }
    }

    void finish(std::vector<ConvStep>& steps, const Part& part, const ParameterAddresses& parameters) const {
        const auto input = read(part.sums);
        FinishSlicesParams params{.frames = {},
                                  .residual = {},
                                  .bias = parameters.bias,
                                  .elements = part.elements,
                                  .channels = static_cast<uint32_t>(problem_.filter.k),
                                  .silu = problem_.activation == conv::Activation::Silu,
                                  .beta = problem_.beta,
                                  .relu = problem_.activation == conv::Activation::Relu,
                                  .negative_slope = problem_.negative_slope};
        for (size_t first = 0; first < input.size(); first += cuda::kMaxPassFrames) {
            const size_t some = std::min<size_t>(cuda::kMaxPassFrames, input.size() - first);
            for (size_t i = 0; i < some && !part.residual.empty(); ++i) params.residual[i] = part.residual[first + i];
            cuda::append_pass(steps, 2, params, std::span(input).subspan(first, some),
                              std::span(part.stored).subspan(first, some),
                              [&](uint32_t frames) { return cuda::elements_launch(part.elements, frames); });
        }
    }

    ConvProblem problem_;
    QSliceForm form_;
    ConvProblem sum_;   ///< a slice into the sums, or into bf16; n: output frames of all samples
    ConvProblem last_;  ///< FusedSums: the slice that finishes the problem
    ConvConfig sum_config_, last_config_;
    int64_t rows_ = 0;  ///< of a band
};

}  // namespace

ConvPlan plan_q_slice(const ConvProblem& problem, const Chip& chip, QSliceForm form, uint64_t sum_bytes) {
    const QSlicePlan slices(problem, chip, form, sum_bytes);
    ConvPlan plan;
    plan.kernels = slices.kernels;
    plan.workspace_bytes = slices.workspace_bytes();
    plan.seconds = slices.seconds;
    plan.packing = {fmt::format("QKRSC {}", element_name(problem.input.element)),
                    [slices](const conv::ConvParameters& parameters) { return slices.pack(parameters); }};
    plan.steps = [slices](const ConvTensors& tensors, const ParameterAddresses& parameters, const conv::EncodeMap&) {
        return slices.steps(tensors, parameters);
    };
    return plan;
}

}  // namespace kinetograph::sm80
