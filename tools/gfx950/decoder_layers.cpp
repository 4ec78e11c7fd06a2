#include <kinetograph/tools/gfx950/decoder_layers.hpp>

#include <kinetograph/kernels/hip/gfx950/gates.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/attention_launch.hpp>

#include <algorithm>

namespace kinetograph::gfx950 {
namespace {

/// The plan's steps on frames at made-up addresses.
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

std::string_view method_of(const conv::ConvProblem& problem) {
    return !problem.carried && launch_reasons(without_norm(problem)).empty() ? "four-wave-gfx950" : "another";
}

/// Sums of the passes that are not convolutions, by their kind.
class OtherSums {
  public:
    explicit OtherSums(const conv::Chip& chip) : chip_(chip) {}

    void add(const vae::StepMove& move) {
        OtherPasses& all = of_kind(move.kind, move.name);
        all.launches += move.launches;
        all.bytes += move.bytes;
        all.seconds += move_seconds(move);
    }

    void add(const vae::StepAttention& attention) {
        const AttentionProblem problem{.tokens = attention.tokens,
                                       .channels = attention.channels,
                                       .compute_units = chip_.compute_units,
                                       .lds_read_bytes = lds_read_bytes(chip_)};
        if (refusal(problem)) return;
        const AttentionPlan made = plan(problem);
        OtherPasses& all = of_kind("attention", attention.key);
        all.launches += attention.frames * (made.join ? 3 : 2);
        all.bytes += static_cast<std::uint64_t>(attention.frames) * attention_bytes(problem, made.splits);
        all.key_tiles += attention.frames * attention_key_tiles(problem, made.splits);
        all.kernel = made.attend.kernel;
        all.seconds += static_cast<double>(attention.frames) * attention_seconds(problem, chip_);
        if (!attention.adds) return;
        const vae::StepMove after = attention.sum_and_norm();
        all.launches += after.launches;
        all.bytes += after.bytes;
        all.seconds += move_seconds(after);
    }

    std::vector<OtherPasses> take() { return std::move(sums_); }

  private:
    double move_seconds(const vae::StepMove& move) const {
        return static_cast<double>(move.launches) * conv::kLaunchSeconds +
               streaming_seconds(static_cast<double>(move.bytes), chip_);
    }
    OtherPasses& of_kind(const std::string& kind, const std::string& name) {
        const auto known = std::ranges::find(sums_, kind, &OtherPasses::kind);
        return known != sums_.end() ? *known : sums_.emplace_back(OtherPasses{.kind = kind, .first = name});
    }

    const conv::Chip& chip_;
    std::vector<OtherPasses> sums_;
};

}  // namespace

DecoderLayer layer_of(std::string key, const conv::ConvProblem& problem, std::int64_t launches,
                      const conv::Chip& chip) {
    const conv::ConvPlan plan = plan_four_wave(problem, chip);
    const auto steps = steps_of(plan, problem);
    DecoderLayer layer{.key = std::move(key),
                       .problem = problem,
                       .launches = launches,
                       .kernels = {},
                       .params = std::get<conv::ConvLaunch>(steps.front()).arguments.as<FourWaveConvParams>(),
                       .seconds = plan.seconds};
    for (const conv::KernelName& name : plan.kernels) {
        layer.kernels += layer.kernels.empty() ? "" : ", then ";
        layer.kernels += without(without(name.kernel, "kg_conv_bf16_"), "kinetograph_");
        if (&name == &plan.kernels.front() && layer.params.splits > 1)
            layer.kernels += " / " + std::to_string(layer.params.splits);
    }
    return layer;
}

double DecoderStep::seconds() const {
    double seconds = 0;
    for (const DecoderLayer& layer : layers) seconds += static_cast<double>(layer.launches) * layer.seconds;
    for (const OtherPasses& other : others) seconds += other.seconds;
    return seconds;
}

DecoderStep decoder_step(const families::Family& family, std::int64_t height, std::int64_t width,
                         const conv::Chip& chip) {
    const vae::NetworkDesc network{.network = families::decoder_of(family, family.published),
                                   .one_step = family.one_latent_frame};
    const vae::LatentSize size{height / family.rates.space.out, width / family.rates.space.out};
    vae::StepPasses passes = vae::step_passes(network, size, method_of).value();
    DecoderStep step;
    for (const vae::StepConvolution& convolution : passes.convolutions())
        step.layers.push_back(layer_of(convolution.key, convolution.problem, convolution.launches, chip));
    OtherSums others(chip);
    for (const auto& other : passes.others) std::visit([&](const auto& each) { others.add(each); }, other);
    step.others = others.take();
    step.passes = std::move(passes.passes);
    return step;
}

}  // namespace kinetograph::gfx950
