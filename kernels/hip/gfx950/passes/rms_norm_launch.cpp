#include <algorithm>
#include <bit>
#include <cmath>
#include <kinetograph/kernels/hip/gfx950/passes/rms_norm_launch.hpp>

namespace kinetograph::gfx950 {
namespace {

constexpr uint32_t kWaveLanes = 64;
constexpr uint32_t kMostUnits = 4;  // 16-byte units that a lane holds

}  // namespace

RmsNormLanes rms_norm_lanes(int64_t channels, Element storage) {
    const auto bytes = static_cast<uint32_t>(channels) * element_bytes(storage);
    if (bytes % 16 != 0) {
        const uint32_t lanes = std::min(kWaveLanes, std::bit_ceil(static_cast<uint32_t>(channels)));
        const uint32_t elements = workgroups(static_cast<uint64_t>(channels), lanes);
        return {element_bytes(storage), lanes, elements == 1 ? 1u : elements <= 4 ? 4u : 16u};
    }
    const uint32_t units = bytes / 16;
    RmsNormLanes best{16, kWaveLanes, workgroups(units, kWaveLanes)};
    for (uint32_t lanes = kWaveLanes / 2; lanes >= 1; lanes /= 2) {
        const uint32_t per_lane = workgroups(units, lanes);
        if (per_lane <= kMostUnits && lanes * per_lane < best.lanes * best.units_per_lane) best = {16, lanes, per_lane};
    }
    return best;
}

Refusal refusal(const RmsNormProblem& problem) {
    const std::string pass = "RMS norm";
    if (auto refused = refuse_frames(pass, problem.frames)) return refused;
    if (problem.channels < 1 || problem.channels > kRmsNormMostChannels) {
        return pass + " of " + std::to_string(problem.channels) + " channels: the lanes of a wave hold 1 to " +
               std::to_string(kRmsNormMostChannels);
    }
    return refuse_bytes(pass, "a frame", problem.pixels * problem.channels * element_bytes(problem.storage));
}

LaunchShape launch_shape(const RmsNormProblem& problem) {
    const RmsNormLanes split = rms_norm_lanes(problem.channels, problem.storage);
    const uint32_t pixels = kRmsNormWaves * kRmsNormRounds * (kWaveLanes / split.lanes);  // of a workgroup
    std::string kernel = std::string("kinetograph_rms_norm_") + element_name(problem.storage);
    if (split.unit_bytes != 16) kernel += "_any";
    return {"rms_norm", std::move(kernel), workgroups(static_cast<uint64_t>(problem.pixels), pixels),
            static_cast<uint32_t>(problem.frames)};
}

RmsNormParams make_params(const RmsNormProblem& problem, const FrameTable& frames, const float* gamma, void* sum) {
    const RmsNormLanes split = rms_norm_lanes(problem.channels, problem.storage);
    return {frames,
            gamma,
            static_cast<uint32_t>(problem.pixels),
            static_cast<uint32_t>(problem.channels),
            split.lanes,
            split.units_per_lane,
            std::sqrt(static_cast<float>(problem.channels)),
            problem.silu ? 1u : 0u,
            sum};
}

}  // namespace kinetograph::gfx950
