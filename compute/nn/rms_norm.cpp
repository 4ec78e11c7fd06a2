#include <kinetograph/compute/conv/row_norm.hpp>
#include <kinetograph/compute/nn/rms_norm.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>
#include <vector>

namespace kinetograph::nn {
namespace {

using tensor::DType;

constexpr std::int64_t kBlockElements = 16384;  // that a thread takes at a time; in and out fit its first-level cache

Result<void> check(std::string_view pass_name, const RmsNorm& work) {
    KG_CHECK(check_sums(pass_name, work));
    if (work.pixels < 1 || work.channels < 1 || work.input.size() != work.output.size()) {
        return fail(ErrorCode::InvalidArgument,
                    "pass \"{}\": RMS norm of {} input and {} output frames of {} pixels, {} channels", pass_name,
                    work.input.size(), work.output.size(), work.pixels, work.channels);
    }
    if (work.gamma == nullptr)
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": RMS norm without gamma", pass_name);
    if (work.dtype != DType::F32 && work.dtype != DType::BF16) {
        return fail(ErrorCode::InvalidArgument, "pass \"{}\": RMS norm of {}, wanted F32 or BF16", pass_name,
                    tensor::to_string(work.dtype));
    }
    return {};
}

struct Bound {
    std::vector<const std::byte*> input;
    std::vector<std::byte*> output, sum;
    std::int64_t pixels, channels;
    const float* gamma;
    DType dtype;
    Activation activation;
};

void add(const std::byte* input, std::byte* sum, std::int64_t elements, DType dtype) {
    if (dtype == DType::F32) {
        const auto* const from = reinterpret_cast<const float*>(input);
        auto* const to = reinterpret_cast<float*>(sum);
#pragma omp simd
        for (std::int64_t i = 0; i < elements; ++i) to[i] += from[i];
    } else {
        const auto* const from = reinterpret_cast<const std::uint16_t*>(input);
        auto* const to = reinterpret_cast<std::uint16_t*>(sum);
#pragma omp simd
        for (std::int64_t i = 0; i < elements; ++i)
            to[i] = tensor::to_bf16(tensor::from_bf16(to[i]) + tensor::from_bf16(from[i]));
    }
}

void run(const Bound& work) {
    const std::int64_t block = std::max<std::int64_t>(1, kBlockElements / work.channels);
    const std::int64_t blocks = (work.pixels + block - 1) / block;
    const std::int64_t tasks = blocks * static_cast<std::int64_t>(work.input.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t task = 0; task < tasks; ++task) {
        const std::int64_t frame = task / blocks, first = task % blocks * block;
        const auto offset = static_cast<std::uint64_t>(first * work.channels) * tensor::bytes_per_element(work.dtype);
        const std::int64_t pixels = std::min(block, work.pixels - first);
        const std::byte* input = work.input[frame] + offset;
        if (!work.sum.empty()) {
            add(input, work.sum[frame] + offset, pixels * work.channels, work.dtype);
            input = work.sum[frame] + offset;
        }
        conv::rms_norm_pixels(input, work.output[frame] + offset, work.gamma, pixels, work.channels, work.dtype,
                              work.activation);
    }
}

}  // namespace

Result<void> check_sums(std::string_view pass_name, const RmsNorm& work) {
    if (work.sum.empty() || work.sum.size() == work.input.size()) return {};
    return fail(ErrorCode::InvalidArgument, "pass \"{}\": RMS norm of {} frames added to {}", pass_name,
                work.input.size(), work.sum.size());
}

Result<void> enqueue_rms_norm(accel::Stream& stream, std::string_view pass_name, const RmsNorm& work) {
    KG_CHECK(check(pass_name, work));
    stream.enqueue(pass_name,
                   [bound = Bound{{work.input.begin(), work.input.end()},
                                  {work.output.begin(), work.output.end()},
                                  {work.sum.begin(), work.sum.end()},
                                  work.pixels,
                                  work.channels,
                                  work.gamma,
                                  work.dtype,
                                  work.activation}]() -> Result<void> {
                       run(bound);
                       return {};
                   });
    return {};
}

}  // namespace kinetograph::nn
