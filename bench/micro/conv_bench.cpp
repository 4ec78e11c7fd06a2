// The convolutions of a Wan 2.1 decoder at 512x288, one step of four frames, on every open back end but the reference.
// The environment variable KINETOGRAPH_BENCH_DIM sets the decoder's width: 32 by default, as in the demo checkpoint; 96
// is the published width.
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>

namespace kinetograph::conv {
namespace {

constexpr std::int64_t kHeight = 288, kWidth = 512;

void run(benchmark::State& state, const ConvShape& shape, std::string_view backend) {
    const auto device = accel::cpu::create_device();
    const auto stream = device->create_stream("bench").value();
    const ConvProblem& p = shape.problem;
    TestConvolution test(shape);
    std::ranges::fill(test.filter, 0.01F);
    std::ranges::fill(test.bias, 0.1F);
    test.input.fill([](std::int64_t frame, std::int64_t i) { return static_cast<float>((frame + i) % 17) / 17; });
    test.residual.fill([](auto, auto) { return 0.5F; });
    auto convolution = Convolution::create(*device, p, {test.filter, test.bias}, {.backend = backend});
    if (!convolution) return state.SkipWithError(convolution.error().message.c_str());
    const auto workspace = device->allocate("workspace", (*convolution)->workspace_bytes() + 64).value();
    TestFrames output(p.n, p.d_out(), p.h_out() * p.w_out() * p.filter.k, p.output_dtype, shape.output);

    const auto inputs = test.input.readable();
    const auto residuals = p.residual ? test.residual.readable() : std::vector<const std::byte*>{};
    const ConvTensors tensors{inputs, output.writable(), residuals, workspace->data()};
    for (auto _ : state) {
        if (!(*convolution)->enqueue(*stream, "bench", tensors) || !stream->synchronize()) {
            return state.SkipWithError("the convolution failed");
        }
    }
    state.counters["FLOP/s"] = benchmark::Counter(p.flops(), benchmark::Counter::kIsIterationInvariantRate);
}

void add(const std::string& name, const ConvShape& shape) {
    const auto device = accel::cpu::create_device();
    for (const DispatchRow& row : explain(device->info(), shape.problem)) {
        if (!row.open || row.candidate == "reference-cpu") continue;
        const char* dtype = shape.problem.dtype == tensor::DType::F32 ? "f32" : "bf16";
        const char* layout = shape.seam == 0 ? "" : "/ring";
        benchmark::RegisterBenchmark(
            fmt::format("{}/{}/{}{}", row.candidate, dtype, name, layout).c_str(),
            [shape, backend = row.candidate](benchmark::State& state) { run(state, shape, backend); })
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime();
    }
}

void add_all(std::int64_t dim) {
    for (const auto dtype : {tensor::DType::F32, tensor::DType::BF16}) {
        for (const NamedProblem& named : decoder_problems(dim, kHeight, kWidth, dtype)) {
            add(named.name, {named.problem});
            // Seam at half the depth: the taps of two of the four output frames cross it.
            if (named.problem.filter.q > 1) add(named.name, {named.problem, FrameLayout::Ring, named.problem.d / 2});
        }
    }
}

}  // namespace
}  // namespace kinetograph::conv

int main(int argc, char** argv) {
    const char* dim = std::getenv("KINETOGRAPH_BENCH_DIM");
    kinetograph::conv::add_all(dim == nullptr ? 32 : std::max(8, std::atoi(dim)));
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
