#include <kinetograph/compute/vae/kept_sums.hpp>

#include <algorithm>

namespace kinetograph::vae {

std::vector<SummedRun> summed_runs(std::int64_t frames, std::int64_t group, std::int64_t history, bool in_groups) {
    using Kind = SummedRun::Kind;
    std::vector<SummedRun> runs;
    std::int64_t first = 0;
    for (std::int64_t end = (frames - 1) % group + 1; end <= frames; first = end, end += group) {
        if (in_groups) {
            runs.push_back({Kind::Group, first, end - first});
            continue;
        }
        const std::int64_t begun = std::min(end - first, history);
        runs.push_back({Kind::Begun, first, begun});
        if (first + begun < end) runs.push_back({Kind::Whole, first + begun, end - first - begun});
        runs.push_back({Kind::Keep, end - begun, begun});
    }
    return runs;
}

conv::ConvProblem summed_problem(conv::ConvProblem whole, const SummedRun& run, std::int64_t history) {
    switch (run.kind) {
        case SummedRun::Kind::Group:
            whole.d = run.count;
            whole.pad.front = whole.pad.back = history;
            whole.carried = true;
            break;
        case SummedRun::Kind::Begun:
            whole.d = run.count;
            whole.pad.front = history;
            whole.residual = true;
            break;
        case SummedRun::Kind::Whole:
            whole.d = run.count + history;
            break;
        case SummedRun::Kind::Keep:
            whole.d = run.count;
            whole.pad.front = history - run.count;
            whole.pad.back = history;
            whole.bias = false;
            break;
    }
    return whole;
}

Summed find_summed(std::span<const nn::Pass> passes, std::span<const nn::Extent> extents,
                   std::span<const conv::Storage> stored,
                   const std::function<std::string_view(const conv::ConvProblem&)>& method_of) {
    const auto* pass = passes.empty() ? nullptr : std::get_if<nn::ConvPass>(&passes.back());
    if (pass == nullptr || pass->residual || pass->norm || pass->shuffle != 1 || pass->upsample ||
        pass->activation != conv::Activation::None || !pass->conv->stride.all(1))
        return {};
    const std::int64_t history = pass->conv->history(), group = extents[pass->output].frames;
    const conv::ConvProblem whole = nn::conv_problem(*pass, extents[pass->input], stored);
    if (history == 0 || group < 2 * history || whole.output.element != tensor::DType::F32 ||
        whole.output_frame_bytes() >= whole.input_frame_bytes())
        return {};
    for (const bool in_groups : {true, false}) {
        const std::vector<SummedRun> runs = summed_runs(group, group, history, in_groups);
        if (std::ranges::all_of(runs, [&](const SummedRun& run) {
                return method_of(summed_problem(whole, run, history)) == method_of(whole);
            }))
            return {pass->conv, in_groups};
    }
    return {};
}

}  // namespace kinetograph::vae
