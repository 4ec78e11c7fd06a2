#include <kinetograph/kernels/hip/gfx950/passes/attention_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>

namespace kinetograph::gfx950 {
namespace {

AttentionProblem on_device(const conv::AttentionProblem& problem, const conv::Chip& chip) {
    return {problem.tokens, problem.channels, problem.dtype, chip.compute_units, lds_read_bytes(chip)};
}

bool runs_on(const conv::Chip& chip) { return chip.kind == "hip" && chip.architecture.starts_with("gfx950"); }

std::string reasons(const conv::AttentionProblem& problem) {
    const Element dtype = problem.dtype;
    if (dtype != Element::F32 && dtype != Element::BF16 && dtype != Element::F16)
        return conv::unmet({{false, "fp32, bf16 or fp16", std::string(conv::element_spelling(dtype))}});
    return refusal(on_device(problem, mi355x())).value_or("");
}

conv::ConvLaunch launch(uint32_t kernel, const LaunchShape& shape, const conv::Arguments& arguments) {
    return {.kernel = kernel,
            .grid = {shape.grid_x, shape.grid_y, shape.grid_z},
            .threads = shape.threads,
            .arguments = arguments};
}

conv::AttentionPlan plan_mfma(const conv::AttentionProblem& given, const conv::Chip& chip) {
    const AttentionProblem problem = on_device(given, chip);
    const AttentionPlan made = plan(problem);
    conv::AttentionPlan result;
    for (const LaunchShape* shape : {&made.values, &made.attend, made.join ? &*made.join : nullptr})
        if (shape != nullptr) result.kernels.push_back({shape->kernel, "attention"});
    result.workspace_bytes = made.workspace_bytes;
    result.seconds = attention_seconds(problem, chip);
    result.launches = [problem, made](const conv::AttentionTensors& tensors, const conv::EncodeMap&) {
        std::vector<conv::ConvLaunch> launches;
        for (size_t i = 0; i < tensors.qkv.size(); ++i) {
            const auto params = make_params(problem, tensors.qkv[i], tensors.output[i], tensors.workspace);
            launches.push_back(launch(0, made.values, conv::Arguments::of(params.values)));
            launches.push_back(launch(1, made.attend, conv::Arguments::of(params.attend)));
            if (made.join) launches.push_back(launch(2, *made.join, conv::Arguments::of(params.join)));
        }
        return launches;
    };
    return result;
}

}  // namespace

std::span<const conv::AttentionMethod> attention_methods() {
    static constexpr conv::AttentionMethod kMethods[] = {{"mfma-gfx950", runs_on, reasons, plan_mfma}};
    return kMethods;
}

}  // namespace kinetograph::gfx950
