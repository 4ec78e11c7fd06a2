#include <kinetograph/compute/conv/ceiling.hpp>

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <span>

namespace kinetograph::conv {
namespace {

/// The amount of work that one measurement does.
struct Load {
    std::int64_t side, channels;  ///< the square image's side in pixels; channels in and out
    std::uint64_t copied;         ///< bytes
    int repeats;
};
constexpr std::array kCpuLoads{Load{.side = 32, .channels = 256, .copied = 64U << 20U, .repeats = 5}};
/// Each load is at least 16 times the one before it. A device that takes longer than `kQuick` for one is not given the
/// next: a GPU emulated in software would compute for minutes.
constexpr std::array kGpuLoads{Load{.side = 8, .channels = 16, .copied = 1U << 20U, .repeats = 1},
                               Load{.side = 64, .channels = 128, .copied = 16U << 20U, .repeats = 3},
                               Load{.side = 256, .channels = 512, .copied = 256U << 20U, .repeats = 10}};
constexpr double kQuick = 2e-3;  // seconds

/// The shortest time from an event before the work of `enqueue` to one after it. The first call, which may load
/// kernels, is not timed.
Result<double> best_seconds(accel::Device& device, accel::Stream& stream, int repeats,
                            const std::function<Result<void>()>& enqueue) {
    KG_TRY(const auto begin, device.create_event());
    KG_TRY(const auto end, device.create_event());
    Nanoseconds best = Nanoseconds::max();
    for (int i = 0; i <= repeats; ++i) {
        stream.record(begin);
        KG_CHECK(enqueue());
        stream.record(end);
        KG_CHECK(stream.synchronize());
        const auto from = begin->time(), to = end->time();
        if (i > 0 && from && to) best = std::min(best, *to - *from);
    }
    return std::max(1e-9, std::chrono::duration<double>(best).count());
}

/// A CPU decoder's passes use every core, so its bandwidth is measured with a copy on every core.
Result<void> copy_on_all_cores(std::byte* to, const std::byte* from, std::int64_t bytes) {
    constexpr std::int64_t kPart = 1 << 20;
    for_blocks(bytes, kPart, [&](std::int64_t at, std::int64_t count) {
        std::memcpy(to + at, from + at, static_cast<std::size_t>(count));
    });
    return {};
}

Result<double> measure_bytes(accel::Device& device, accel::Stream& stream, const Load& load) {
    KG_TRY(const auto from, device.allocate("copied from", load.copied));
    KG_TRY(const auto to, device.allocate("copied to", load.copied));
    stream.fill(from->data(), std::byte{1}, load.copied);
    const bool on_cpu = device.info().is_host();
    KG_TRY(const double seconds, best_seconds(device, stream, load.repeats, [&]() -> Result<void> {
               if (on_cpu)
                   stream.enqueue("copy", [&] {
                       return copy_on_all_cores(to->data(), from->data(), static_cast<std::int64_t>(load.copied));
                   });
               else
                   stream.copy(to->data(), from->data(), load.copied);
               return {};
           }));
    return 2.0 * static_cast<double>(load.copied) / seconds;
}

struct MeasuredConvolution {
    double seconds = 0, operations_per_second = 0;
    std::string what{};
};

Result<MeasuredConvolution> measure_operations(accel::Device& device, accel::Stream& stream, const Load& load) {
    ConvProblem problem;
    problem.h = problem.w = load.side;
    problem.c_in = load.channels;
    problem.filter = {.k = load.channels, .q = 1, .r = 3, .s = 3};
    problem.pad = {.top = 1, .bottom = 1, .left = 1, .right = 1};
    problem.bias = false;
    const std::vector<float> filter(static_cast<std::size_t>(problem.filter_elements()), 0.01F);
    KG_TRY(const auto convolution, Convolution::create(device, problem, {.filter = filter, .bias = {}}));
    KG_TRY(const auto input, device.allocate("input", problem.input_frame_bytes()));
    KG_TRY(const auto output, device.allocate("output", problem.output_frame_bytes()));
    KG_TRY(const auto workspace,
           device.allocate("workspace", std::max<std::uint64_t>(convolution->workspace_bytes(), 64)));
    constexpr std::byte kEveryByte{0x3c};  // 0x3c3c is 0.0115 in bf16: no zeros, and no sum that overflows
    stream.fill(input->data(), kEveryByte, problem.input_frame_bytes());
    const std::array<const std::byte*, 1> frames_in{input->data()};
    const std::array<std::byte*, 1> frames_out{output->data()};
    KG_TRY(const double seconds, best_seconds(device, stream, load.repeats, [&] {
               return convolution->enqueue(
                   stream, "ceiling",
                   {.input = frames_in, .output = frames_out, .residual = {}, .workspace = workspace->data()});
           }));
    return MeasuredConvolution{seconds, problem.flops() / seconds,
                               fmt::format("{} on {}", convolution->backend(), problem.to_string())};
}

}  // namespace

Result<profile::Ceiling> measure_ceiling(accel::Device& device) {
    const bool on_cpu = device.info().is_host();
    const std::span<const Load> loads = on_cpu ? std::span<const Load>(kCpuLoads) : std::span<const Load>(kGpuLoads);
    KG_TRY(const auto stream, device.create_stream("ceiling"));
    const Load* load = loads.data();
    KG_TRY(auto convolution, measure_operations(device, *stream, *load));
    while (load != &loads.back() && convolution.seconds < kQuick) {
        KG_TRY(convolution, measure_operations(device, *stream, *++load));
    }
    KG_TRY(const double bytes, measure_bytes(device, *stream, *load));
    return profile::Ceiling{.operations_per_second = convolution.operations_per_second,
                            .bytes_per_second = bytes,
                            .source = fmt::format("{}; copies of {} MiB", convolution.what, load->copied >> 20U)};
}

}  // namespace kinetograph::conv
