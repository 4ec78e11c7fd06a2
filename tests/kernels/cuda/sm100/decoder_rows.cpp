#include <kinetograph/tests/kernels/cuda/sm100/decoder_rows.hpp>

#include <algorithm>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/families/wan21.hpp>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>
#include <kinetograph/kernels/cuda/sm100/plan.hpp>

namespace kinetograph::sm100 {
namespace {

const accel::DeviceInfo& b200() {
    static const accel::DeviceInfo kDevice = conv::describe_known_device("sm_100").value();
    return kDevice;
}

std::string_view method_of(const conv::ConvProblem& problem) {
    const conv::DispatchRow first = conv::explain(conv::chip_of(b200()), problem).front();
    return first.open ? first.candidate : "";
}

/// Bound by shared memory: by the bytes of a clock, and by the clock.
double attention_seconds(const vae::StepAttention& attention, const ChipRates& rates) {
    const ChipRates assumed;
    const double slower = assumed.clocks_per_second * assumed.shared_bytes_per_clock /
                          (rates.clocks_per_second * rates.shared_bytes_per_clock);
    const conv::OpPlan plan = std::get<conv::OpMethodOf<conv::AttentionProblem>>(operators().front())
                                  .plan({attention.tokens, attention.channels}, conv::chip_of(b200()));
    const auto frames = static_cast<double>(attention.frames);
    return frames * (conv::kLaunchSeconds + (plan.seconds - conv::kLaunchSeconds) * slower);
}

double move_seconds(const vae::StepMove& move, const ChipRates& rates) {
    return static_cast<double>(move.launches) * conv::kLaunchSeconds +
           static_cast<double>(move.bytes) / rates.hbm_bytes_per_second;
}

}  // namespace

vae::StepPasses step_of_wan21(vae::LatentSize latents, StepOfClip step) {
    return vae::step_passes({.network = families::wan::decoder({.dim = 96, .z_dim = 16})}, latents, method_of,
                            {.first = step == StepOfClip::First})
        .value();
}

Conv2dEstimate DecoderRow::parts(const ChipRates& rates) const {
    const std::string& kernel = plan.kernels.front().kernel;
    const auto tiles = halo_configs();
    conv::ConvProblem problem = layer.problem;
    if (const auto tile = std::ranges::find(tiles, kernel, &NamedHaloConfig::kernel); tile != tiles.end()) {
        if (plan.kernels.size() > 1) problem.norm = conv::Norm::None;
        return estimate(tile->config, problem, rates);
    }
    const Conv2dEntry* entry = find_entry(kernel);
    return entry == nullptr ? Conv2dEstimate{} : estimate(entry->config, problem, rates);
}

double DecoderRow::seconds(const ChipRates& rates) const {
    return plan.seconds + parts(rates).seconds - parts(planned).seconds;
}

std::vector<DecoderRow> decoder_rows(vae::LatentSize latents, StepOfClip step, const conv::ResidentClusters& clusters) {
    conv::Chip chip = conv::chip_of(b200());
    chip.clusters = clusters;
    std::vector<DecoderRow> rows;
    for (vae::StepConvolution& layer : step_of_wan21(latents, step).convolutions()) {
        DecoderRow row;
        row.planned.clusters = clusters;
        row.method = conv::explain(chip, layer.problem).front().candidate;
        const auto candidate = std::ranges::find(conv::candidates(), row.method, &conv::Candidate::name);
        row.plan = candidate->plan(layer.problem, chip);
        row.layer = std::move(layer);
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string kernel_names(const DecoderRow& row) {
    constexpr std::string_view kHalo = "sm100_halo_bf16_";
    std::string names = row.plan.kernels.front().kernel;
    if (names.starts_with(kHalo)) names.erase(0, kHalo.size());
    return row.layer.problem.norm != conv::Norm::None && row.plan.kernels.back().image == "frame_passes"
               ? names + ", norm pass"
               : names;
}

std::string short_key(const vae::StepConvolution& layer) {
    return layer.key.substr(layer.key.starts_with("decoder.") ? 8 : 0);
}

StepTime step_time(vae::LatentSize latents, const ChipRates& rates) {
    StepTime step;
    for (const DecoderRow& row : decoder_rows(latents, StepOfClip::Later, rates.clusters)) {
        step.convolutions += 1e3 * static_cast<double>(row.layer.launches) * row.seconds(rates);
        step.launches += row.layer.launches * static_cast<int64_t>(row.plan.kernels.size());
    }
    for (const auto& other : step_of_wan21(latents).others) {
        if (const auto* attention = std::get_if<vae::StepAttention>(&other)) {
            step.attention += 1e3 * attention_seconds(*attention, rates);
            step.launches += attention->frames;
            if (!attention->adds) continue;
            step.attention += 1e3 * move_seconds(attention->sum_and_norm(), rates);
            step.launches += attention->frames;
            continue;
        }
        const auto& move = std::get<vae::StepMove>(other);
        (move.kind == "kept frames" ? step.kept : step.ends) += 1e3 * move_seconds(move, rates);
        step.launches += move.launches;
    }
    return step;
}

}  // namespace kinetograph::sm100
