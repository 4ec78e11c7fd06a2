#include <kinetograph/tools/gfx950/decoder_layers.hpp>

#include <kinetograph/compute/vae/kept_sums.hpp>
#include <kinetograph/compute/vae/network_end.hpp>
#include <kinetograph/compute/vae/step_graph.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/attention_launch.hpp>

#include <algorithm>

namespace kinetograph::gfx950 {
namespace {

constexpr std::uint64_t kBytes = 2;  // of a value: bf16

/// Its launches on frames at made-up addresses.
std::vector<conv::ConvStep> steps_of(const conv::ConvPlan& plan, const conv::ConvProblem& problem) {
    static std::byte memory[64];
    const std::vector<const std::byte*> input(static_cast<std::size_t>(problem.frames_in()), memory);
    const std::vector<const std::byte*> residual(static_cast<std::size_t>(problem.frames_out()), memory);
    const std::vector<std::byte*> output(residual.size(), memory);
    conv::ConvTensors tensors{input, output, residual, memory, output};
    if (!problem.residual) tensors.residual = {};
    if (problem.norm == conv::Norm::Instead) tensors.output = {};
    return plan.steps(tensors, {}, {});
}

std::string without(const std::string& name, std::string_view prefix) {
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

void describe(DecoderLayer& layer, const conv::ConvPlan& plan) {
    const auto steps = steps_of(plan, layer.problem);
    layer.params = std::get<conv::ConvLaunch>(steps.front()).arguments.as<FourWaveConvParams>();
    layer.seconds = plan.seconds;
    for (const conv::KernelName& name : plan.kernels) {
        layer.kernels += layer.kernels.empty() ? "" : ", then ";
        layer.kernels += without(without(name.kernel, "kg_conv_bf16_"), "kinetograph_");
        if (&name == &plan.kernels.front() && layer.params.splits > 1)
            layer.kernels += " / " + std::to_string(layer.params.splits);
    }
}

/// Walks a step's passes as vae::declare_step declares them.
class StepWalk {
  public:
    StepWalk(const families::Family& family, std::int64_t height, std::int64_t width, const conv::Chip& chip)
        : chip_(chip),
          network_(family.decoder(family.published)),
          extents_(nn::extents(
              network_, {1, height / family.factors.space, width / family.factors.space, network_.input_channels()},
              false)),
          passes_(vae::fused_passes(network_, accel::Kind::Hip, false).value()) {
        const auto* summed = vae::find_summed(passes_, extents_, tensor::DType::BF16, method_of);
        end_ = vae::find_end(passes_, extents_, 0, summed);
    }

    DecoderStep run() {
        const nn::Extent in = extents_[nn::stored_input(network_)], out = extents_.back();
        moves("latents in", "unpack_latents", 1, static_cast<std::uint64_t>(in.elements()) * (4 + kBytes));
        for (std::size_t i = 0; i < end_.first; ++i) std::visit([this](const auto& pass) { add(pass); }, passes_[i]);
        for (std::size_t i = end_.first; i < passes_.size(); ++i) {
            if (i == end_.first) add_part(i, false);
            if (i + 1 < passes_.size()) add_part(i + 1, false);
            add_part(i, true);
        }
        moves("frames out", "write_frames", out.frames, static_cast<std::uint64_t>(out.elements()) * (4 + last_bytes_));
        return std::move(step_);
    }

  private:
    static std::string_view method_of(const conv::ConvProblem& problem) {
        return declined(four_wave_problem(problem)).empty() ? "four-wave-gfx950" : "another";
    }

    /// A pass that reads and writes `bytes` in `launches` launches or copies.
    void moves(const char* kind, const std::string& name, std::int64_t launches, std::uint64_t bytes) {
        OtherPasses& all = of_kind(kind, name);
        all.launches += launches;
        all.bytes += bytes;
        all.seconds +=
            static_cast<double>(launches) * conv::kLaunchSeconds + streaming_seconds(static_cast<double>(bytes), chip_);
        step_.passes.push_back({name});
    }
    OtherPasses& of_kind(const char* kind, const std::string& name) {
        const auto known = std::ranges::find(step_.others, kind, &OtherPasses::kind);
        return known != step_.others.end() ? *known
                                           : step_.others.emplace_back(OtherPasses{.kind = kind, .first = name});
    }
    std::uint64_t bytes_of(nn::Value value) const {
        return static_cast<std::uint64_t>(extents_[value].elements()) * kBytes;
    }

    void add(const nn::NormPass& pass) { moves("norms", pass.norm.norm->key, 1, 2 * bytes_of(pass.input)); }
    void add(const nn::UpsamplePass& pass) {
        moves("moved pixels", pass.upsample->key, 1, bytes_of(pass.input) + bytes_of(pass.output));
    }
    void add(const nn::DepthToSpacePass& pass) {
        moves("moved pixels", pass.depth_to_space->key, 1, bytes_of(pass.input) + bytes_of(pass.output));
    }
    void add(const nn::DropPass&) {}

    void add(const nn::AttentionPass& pass) {
        const nn::Extent qkv = extents_[pass.input], out = extents_[pass.output];
        const AttentionProblem problem{.tokens = qkv.height * qkv.width,
                                       .channels = out.channels,
                                       .compute_units = chip_.compute_units,
                                       .lds_read_bytes = lds_read_bytes(chip_)};
        const auto tokens = static_cast<double>(problem.tokens);
        step_.passes.push_back(
            {pass.attention->key, 4.0 * tokens * tokens * static_cast<double>(problem.channels * out.frames)});
        if (refusal(problem)) return;
        const AttentionPlan made = plan(problem);
        OtherPasses& all = of_kind("attention", pass.attention->key);
        all.launches += out.frames * (made.join ? 3 : 2);
        all.bytes += static_cast<std::uint64_t>(out.frames) * attention_bytes(problem, made.splits);
        all.key_tiles += out.frames * attention_key_tiles(problem, made.splits);
        all.kernel = made.attend.kernel;
        all.seconds += static_cast<double>(out.frames) * attention_seconds(problem, chip_);
    }

    void add(const nn::ConvPass& pass) {
        const std::string& key = pass.conv->key;
        convolve(pass, key, extents_[pass.input].frames);
        const std::int64_t history = pass.conv->history();
        if (history == 0) return;
        const nn::Extent x = extents_[pass.input];
        const std::int64_t copies = x.frames < history ? 2 : 1;
        moves("kept frames", key + ".keep", copies,
              2 * static_cast<std::uint64_t>(history) * bytes_of(pass.input) / static_cast<std::uint64_t>(x.frames));
    }
    /// Of the network's end: all frames but the last ones, or these.
    void add_part(std::size_t at, bool tail) {
        const auto& pass = std::get<nn::ConvPass>(passes_[at]);
        const std::int64_t frames = extents_[pass.input].frames;
        convolve(pass, pass.conv->key + (tail ? ".tail" : ""), tail ? end_.tail_frames : frames - end_.tail_frames);
    }

    /// With what the pass takes along; of a time shuffle one launch a part.
    void convolve(const nn::ConvPass& pass, const std::string& name, std::int64_t frames) {
        nn::Extent x = extents_[pass.input];
        x.frames = frames;
        conv::ConvProblem problem = nn::conv_problem(pass, x, tensor::DType::BF16);
        problem.residual = pass.residual.has_value();
        problem.filter.k /= pass.shuffle;
        if (pass.norm) {
            problem.norm = pass.stored;
            problem.norm_activation = pass.norm->activation;
        }
        last_bytes_ = static_cast<std::uint64_t>(element_bytes(problem.output_dtype));
        step_.passes.push_back({name, static_cast<double>(pass.shuffle) * problem.flops()});
        const auto same = std::ranges::find(step_.layers, problem, &DecoderLayer::problem);
        if (same != step_.layers.end()) {
            same->launches += pass.shuffle;
            return;
        }
        DecoderLayer& layer = step_.layers.emplace_back();
        layer.key = pass.conv->key;
        layer.problem = problem;
        layer.launches = pass.shuffle;
        describe(layer, plan_four_wave(problem, chip_));
    }

    const conv::Chip& chip_;
    nn::Network network_;
    std::vector<nn::Extent> extents_;
    std::vector<nn::Pass> passes_;
    vae::NetworkEnd end_;
    std::uint64_t last_bytes_ = kBytes;  ///< of a value of the last convolution's output
    DecoderStep step_;
};

}  // namespace

double DecoderStep::seconds() const {
    double seconds = 0;
    for (const DecoderLayer& layer : layers) seconds += static_cast<double>(layer.launches) * layer.seconds;
    for (const OtherPasses& other : others) seconds += other.seconds;
    return seconds;
}

DecoderStep decoder_step(const families::Family& family, std::int64_t height, std::int64_t width,
                         const conv::Chip& chip) {
    return StepWalk(family, height, width, chip).run();
}

}  // namespace kinetograph::gfx950
