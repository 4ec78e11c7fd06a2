#include <fmt/core.h>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/nn/fusion.hpp>
#include <kinetograph/compute/vae/kept_sums.hpp>
#include <kinetograph/compute/vae/network_end.hpp>
#include <kinetograph/compute/vae/step_graph.hpp>
#include <kinetograph/tools/kinetograph/decoder_convolutions.hpp>

#include <algorithm>
#include <set>
#include <string_view>

namespace kinetograph::cli {

namespace {

constexpr std::string_view kTail = ".tail";  // of a pass's name

/// Walks a step's passes in the order in which vae::declare_step declares them.
class StepWalk {
  public:
    StepWalk(const DeclaredStep& step, std::vector<nn::Pass> passes, const accel::DeviceInfo& device)
        : step_(step),
          passes_(std::move(passes)),
          extents_(nn::extents(step.network, {1, step.size.height, step.size.width, step.network.input_channels()},
                               step.one_step)),
          end_{.first = passes_.size()} {
        if (step_.one_step) return;
        summed_ = vae::find_summed(passes_, extents_, step_.dtype, [&](const conv::ConvProblem& problem) {
            const conv::DispatchRow first = conv::explain(device, problem, step_.sums).front();
            return first.open ? first.candidate : "";
        });
        end_ = vae::find_end(passes_, extents_, 0, summed_);
    }

    std::vector<DeclaredConvolution> run() {
        for (std::size_t i = 0; i < end_.first; ++i)
            if (const auto* pass = std::get_if<nn::ConvPass>(&passes_[i]))
                add(*pass, {"", 0, extents_[pass->input].frames});
        for (std::size_t i = end_.first; i < passes_.size(); ++i) {
            if (i == end_.first) add_head(i);
            if (i + 1 < passes_.size()) add_head(i + 1);
            const auto& pass = std::get<nn::ConvPass>(passes_[i]);
            const std::int64_t frames = extents_[pass.input].frames;
            add(pass, {kTail, frames - end_.tail_frames, frames});
        }
        return std::move(launches_);
    }

  private:
    /// Frames [first, end) of a pass's input.
    struct Part {
        std::string_view suffix;
        std::int64_t first, end;
    };

    void add_head(std::size_t at) {
        const auto& pass = std::get<nn::ConvPass>(passes_[at]);
        add(pass, {"", 0, extents_[pass.input].frames - end_.tail_frames});
    }

    void add(const nn::ConvPass& pass, const Part& part) {
        nn::Extent x = extents_[pass.input];
        const conv::ConvProblem whole = nn::conv_problem(pass, x, step_.dtype);
        x.frames = part.end - part.first;
        DeclaredConvolution launch{.pass = pass.conv->key + std::string(part.suffix),
                                   .layer = convolution_name(whole),
                                   .problem = nn::conv_problem(pass, x, step_.dtype),
                                   .frame_step = pass.shuffle,
                                   .in_place = pass.residual.has_value(),
                                   .launches = 1,
                                   .layers = 1};
        launch.problem.residual = pass.residual.has_value();
        launch.problem.filter.k /= pass.shuffle;
        if (pass.norm) {
            launch.problem.norm = pass.stored;
            launch.problem.norm_activation = pass.norm->activation;
        }
        launch.epilogue = epilogue_text(launch.problem, launch.frame_step);
        if (pass.conv == summed_) return add_sums(std::move(launch), whole, pass.conv->history(), part);
        for (std::int64_t i = 0; i < pass.shuffle; ++i) launches_.push_back(launch);
    }

    /// The convolution that keeps sums, in its runs.
    void add_sums(DeclaredConvolution launch, const conv::ConvProblem& whole, std::int64_t history, const Part& part) {
        const std::int64_t frames = whole.d_out();
        for (vae::SummedRun run : vae::summed_runs(frames, frames, history)) {
            const std::int64_t first = std::max(run.first, part.first), end = std::min(run.first + run.count, part.end);
            if (first >= end) continue;
            run.first = first;
            run.count = end - first;
            launch.problem = vae::summed_problem(whole, run, history);
            launches_.push_back(launch);
        }
    }

    const DeclaredStep& step_;
    std::vector<nn::Pass> passes_;
    std::vector<nn::Extent> extents_;
    const nn::primitive::Conv* summed_ = nullptr;
    vae::NetworkEnd end_;
    std::vector<DeclaredConvolution> launches_;
};

/// How many layers of the step have that shape and epilogue: as many as there are keys.
std::int64_t count_layers(const std::vector<DeclaredConvolution>& launches, const DeclaredConvolution& of) {
    std::set<std::string> keys;
    for (const DeclaredConvolution& one : launches)
        if (one.layer == of.layer && one.epilogue == of.epilogue)
            keys.insert(one.pass.ends_with(kTail) ? one.pass.substr(0, one.pass.size() - kTail.size()) : one.pass);
    return static_cast<std::int64_t>(keys.size());
}

}  // namespace

std::string convolution_name(const conv::ConvProblem& problem) {
    const conv::Filter& filter = problem.filter;
    return fmt::format("{}>{} {}x{}x{}, {}x{}x{}", problem.c_in, filter.k, filter.q, filter.r, filter.s,
                       problem.n * problem.d_out(), problem.h_out(), problem.w_out());
}

std::string epilogue_text(const conv::ConvProblem& problem, std::int64_t frame_step) {
    std::string text;
    const auto add = [&](std::string_view part) { text.append(text.empty() ? "" : ", ").append(part); };
    if (!problem.bias) add("without bias");
    if (problem.activation != conv::Activation::None) add(conv::to_string(problem.activation));
    if (problem.residual) add("residual");
    if (problem.norm == conv::Norm::Beside) add("norm beside");
    if (problem.norm == conv::Norm::Instead) add("norm instead");
    if (frame_step > 1) add(fmt::format("one frame of {}", frame_step));
    return text;
}

Result<std::vector<DecoderConvolution>> decoder_convolutions(const nn::Network& network, bool first_step,
                                                             vae::LatentSize size, tensor::DType dtype) {
    KG_TRY(const auto passes, nn::fuse(network, {.first_step = first_step}));
    const auto extents = nn::extents(network, {1, size.height, size.width, network.input_channels()}, first_step);
    std::vector<DecoderConvolution> found;
    for (const nn::Pass& pass : passes) {
        const auto* conv = std::get_if<nn::ConvPass>(&pass);
        if (conv == nullptr) continue;
        const conv::ConvProblem problem = nn::conv_problem(*conv, extents[conv->input], dtype);
        const auto same = std::ranges::find(found, problem, &DecoderConvolution::problem);
        if (same != found.end())
            ++same->launches;
        else
            found.push_back({convolution_name(problem), problem, 1});
    }
    return found;
}

Result<std::vector<DeclaredConvolution>> declared_launches(const DeclaredStep& step, const accel::DeviceInfo& device) {
    KG_TRY(auto passes, nn::fuse(step.network, {.first_step = step.one_step}));
    return StepWalk(step, std::move(passes), device).run();
}

Result<std::vector<DeclaredConvolution>> declared_convolutions(const DeclaredStep& step,
                                                               const accel::DeviceInfo& device) {
    KG_TRY(const auto launches, declared_launches(step, device));
    std::vector<DeclaredConvolution> found;
    for (const DeclaredConvolution& launch : launches) {
        const auto same = std::ranges::find_if(found, [&](const DeclaredConvolution& one) {
            return one.layer == launch.layer && one.epilogue == launch.epilogue && one.problem == launch.problem;
        });
        if (same != found.end()) {
            ++same->launches;
            continue;
        }
        found.push_back(launch);
        found.back().layers = count_layers(launches, launch);
    }
    return found;
}

}  // namespace kinetograph::cli
