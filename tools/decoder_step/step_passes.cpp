#include <kinetograph/tools/decoder_step/step_passes.hpp>

#include <kinetograph/compute/nn/fusion.hpp>
#include <kinetograph/compute/vae/kept_sums.hpp>
#include <kinetograph/compute/vae/network_end.hpp>
#include <kinetograph/compute/vae/step_graph.hpp>

#include <algorithm>

namespace kinetograph::vae {
namespace {

using MethodOf = std::function<std::string_view(const conv::ConvProblem&)>;

/// Walks the passes as StepDeclaration declares them.
class StepWalk {
  public:
    StepWalk(const NetworkDesc& network, LatentSize size, const MethodOf& method_of, StepKind kind,
             std::vector<nn::Pass> passes)
        : network_(network),
          bytes_(tensor::bytes_per_element(network.dtype)),
          extents_(extents(size, kind)),
          stored_(nn::storages(network.network, network.dtype)),
          passes_(std::move(passes)),
          end_{.first = passes_.size()},
          last_bytes_(bytes_) {
        if (network.one_step) return;
        const auto later = extents(size, {.first = false});
        frames_a_latent_ = later.back().frames;
        summed_ = find_summed(passes_, later, stored_, method_of);
        end_ = find_end(passes_, extents_, 0, summed_.conv);
    }

    StepPasses run() {
        const nn::Extent in = extents_[nn::stored_input(network_.network)], out = extents_.back();
        move("latents in", "unpack_latents", in.frames,
             static_cast<std::uint64_t>(in.elements()) * (sizeof(float) + bytes_));
        for (std::size_t i = 0; i < end_.first; ++i) std::visit([this](const auto& pass) { add(pass); }, passes_[i]);
        for (std::size_t i = end_.first; i < passes_.size(); ++i) {
            if (i == end_.first) add_part(i, false);
            if (i + 1 < passes_.size()) add_part(i + 1, false);
            add_part(i, true);
        }
        move("frames out", "write_frames", out.frames,
             static_cast<std::uint64_t>(out.elements()) * (sizeof(float) + last_bytes_));
        return std::move(step_);
    }

  private:
    std::vector<nn::Extent> extents(LatentSize size, StepKind kind) const {
        const nn::Network& network = network_.network;
        return nn::extents(network, {kind.frames, size.height, size.width, network.input_channels()}, kind.first);
    }
    void move(const char* kind, const std::string& name, std::int64_t launches, std::uint64_t bytes) {
        step_.others.emplace_back(StepMove{kind, name, launches, bytes});
        step_.passes.push_back({name});
    }
    std::uint64_t bytes_of(nn::Value value) const {
        return static_cast<std::uint64_t>(extents_[value].elements()) * bytes_;
    }

    void add(const nn::NormPass& pass) { move("norms", pass.norm.norm->key, 1, 2 * bytes_of(pass.input)); }
    void add(const nn::OperatorPass& pass) {
        move("moved pixels", pass.key(), 1, bytes_of(pass.input) + bytes_of(pass.output));
    }
    void add(const nn::DropPass&) {}

    void add(const nn::AttentionPass& pass) {
        const nn::Extent qkv = extents_[pass.input], out = extents_[pass.output];
        const StepAttention attention{pass.attention->key, out.frames, qkv.height * qkv.width, out.channels,
                                      pass.norm.has_value()};
        step_.passes.push_back({attention.key, attention.operations()});
        step_.others.emplace_back(attention);
    }

    void add(const nn::ConvPass& pass) {
        const std::string& key = pass.conv->key;
        const nn::Extent x = extents_[pass.input];
        if (pass.conv == summed_.conv) return add_summed(pass);
        convolve(pass, key, x.frames);
        const std::int64_t history = pass.conv->history();
        if (history == 0 || network_.one_step) return;
        const std::int64_t copies = x.frames < history ? 2 : 1;  // the frames that stay move up, then the new ones
        move("kept frames", key + ".keep", copies,
             2 * static_cast<std::uint64_t>(history) * bytes_of(pass.input) / static_cast<std::uint64_t>(x.frames));
    }

    /// One part of a pass at the network's end: its last frames if `tail`, otherwise those before them.
    void add_part(std::size_t at, bool tail) {
        const auto& pass = std::get<nn::ConvPass>(passes_[at]);
        const std::string name = pass.conv->key + (tail ? ".tail" : "");
        const std::int64_t frames = extents_[pass.input].frames, head = frames - end_.tail_frames;
        if (pass.conv == summed_.conv) return tail ? add_summed(pass) : void();
        convolve(pass, name, tail ? end_.tail_frames : head);
    }

    /// Adds one pass with all its runs.
    void add_summed(const nn::ConvPass& pass) {
        const std::string& name = pass.conv->key;
        const std::int64_t history = pass.conv->history(), frames = extents_[pass.output].frames;
        const conv::ConvProblem whole = problem_of(pass, frames);
        double operations = 0;
        for (const SummedRun& run : summed_runs(frames, frames_a_latent_, history, summed_.in_groups))
            operations += launch(pass, name, summed_problem(whole, run, history));
        step_.passes.push_back({name, operations});
    }

    void convolve(const nn::ConvPass& pass, const std::string& name, std::int64_t frames) {
        conv::ConvProblem problem = problem_of(pass, frames);
        problem.filter.k /= pass.shuffle;
        double operations = 0;
        for (std::int64_t i = 0; i < pass.shuffle; ++i) operations += launch(pass, name, problem);
        step_.passes.push_back({name, operations});
    }

    /// The pass's problem on `frames` frames, with all that is fused into it.
    conv::ConvProblem problem_of(const nn::ConvPass& pass, std::int64_t frames) const {
        nn::Extent x = extents_[pass.input];
        x.frames = frames;
        conv::ConvProblem problem = nn::conv_problem(pass, x, stored_);
        problem.residual = pass.residual.has_value();
        if (pass.norm) {
            problem.norm = pass.stored;
            problem.norm_activation = pass.norm->activation;
        }
        return problem;
    }

    /// Adds a launch to the step; returns its operations.
    double launch(const nn::ConvPass& pass, const std::string& name, const conv::ConvProblem& problem) {
        last_bytes_ = static_cast<std::uint64_t>(element_bytes(problem.output.element));
        step_.launches.push_back({.pass = name,
                                  .key = pass.conv->key,
                                  .layer = problem_of(pass, extents_[pass.input].frames),
                                  .problem = problem,
                                  .frame_step = pass.shuffle});
        return problem.flops();
    }

    const NetworkDesc& network_;
    std::uint64_t bytes_;  ///< of a value
    std::vector<nn::Extent> extents_;
    std::vector<conv::Storage> stored_;
    std::vector<nn::Pass> passes_;
    Summed summed_;
    std::int64_t frames_a_latent_ = 1;  ///< of each latent frame but a clip's first
    NetworkEnd end_;
    std::uint64_t last_bytes_;  ///< of a value of the last convolution's output
    StepPasses step_;
};

}  // namespace

double StepAttention::operations() const {
    return 4.0 * static_cast<double>(tokens) * static_cast<double>(tokens) * static_cast<double>(channels * frames);
}

StepMove StepAttention::sum_and_norm() const {
    constexpr std::int64_t kElementBytes = 2;
    return {"norms", key, frames, static_cast<std::uint64_t>(4 * frames * tokens * channels * kElementBytes)};
}

std::vector<StepConvolution> StepPasses::convolutions() const {
    std::vector<StepConvolution> found;
    for (const StepLaunch& launch : launches) {
        const auto same = std::ranges::find(found, launch.problem, &StepConvolution::problem);
        if (same != found.end())
            ++same->launches;
        else
            found.push_back({launch.key, launch.problem, 1});
    }
    return found;
}

Result<StepPasses> step_passes(const NetworkDesc& network, LatentSize size, const MethodOf& method_of, StepKind kind) {
    kind.first = kind.first || network.one_step;
    KG_TRY(auto passes, nn::fuse(network.network, {.first_step = kind.first}));
    return StepWalk(network, size, method_of, kind, std::move(passes)).run();
}

}  // namespace kinetograph::vae
