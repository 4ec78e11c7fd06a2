#include <algorithm>
#include <kinetograph/kernels/hip/gfx950/passes/frame_moves_launch.hpp>
#include <numeric>

namespace kinetograph::gfx950 {
namespace {

constexpr int64_t kMostGridY = 65535;

/// The largest unit that divides them: 16, 4, 2 bytes or, of im2col, 1.
int64_t unit_of(int64_t bytes) { return bytes % 16 == 0 ? 16 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1; }

LaunchShape shape(const char* pass, int64_t unit, int64_t units, int64_t grid_y, int64_t grid_z = 1) {
    return {"frame_moves", std::string("kinetograph_") + pass + "_" + std::to_string(unit),
            workgroups(static_cast<uint64_t>(units)), static_cast<uint32_t>(grid_y), static_cast<uint32_t>(grid_z)};
}

int64_t pixel_bytes(const UpsampleProblem& problem) { return problem.channels * element_bytes(problem.storage); }
int64_t pixel_bytes(const Im2colProblem& problem) { return problem.channels * element_bytes(problem.storage); }
int64_t row_bytes(const Im2colProblem& problem) { return problem.columns * element_bytes(problem.storage); }

Refusal refuse_axis(const char* name, const Im2colProblem::Axis& axis) {
    if (axis.size >= 1 && axis.taps >= 1 && axis.stride >= 1 && axis.dilation >= 1 && axis.pad_before >= 0 &&
        axis.pad_after >= 0 && axis.size + axis.pad_before + axis.pad_after > axis.dilation * (axis.taps - 1)) {
        return std::nullopt;
    }
    return std::string("im2col: no output along the ") + name + ": size " + std::to_string(axis.size) + ", padding " +
           std::to_string(axis.pad_before) + " and " + std::to_string(axis.pad_after) + ", " +
           std::to_string(axis.taps) + " taps, dilation " + std::to_string(axis.dilation) + ", stride " +
           std::to_string(axis.stride);
}

}  // namespace

Refusal refusal(const UpsampleProblem& problem) {
    const std::string pass = "upsampling";
    if (auto refused = refuse_frames(pass, problem.frames)) return refused;
    if (problem.height < 1 || problem.height > kMostGridY) {
        return pass + " of " + std::to_string(problem.height) + " rows: a grid has 1 to " + std::to_string(kMostGridY);
    }
    return refuse_bytes(pass, "two output rows", 4 * problem.width * pixel_bytes(problem));
}

LaunchShape launch_shape(const UpsampleProblem& problem) {
    const int64_t unit = unit_of(pixel_bytes(problem));
    return shape("upsample_nearest2x", unit, problem.width * pixel_bytes(problem) / unit, problem.height,
                 problem.frames);
}

UpsampleParams make_params(const UpsampleProblem& problem, const FrameTable& frames) {
    return {frames, static_cast<uint32_t>(problem.width * pixel_bytes(problem)),
            static_cast<uint32_t>(pixel_bytes(problem))};
}

Refusal refusal(const DepthToSpaceProblem& problem) {
    const std::string pass = "channels to pixels";
    if (auto refused = refuse_frames(pass, problem.frames)) return refused;
    if (problem.height < 1 || 2 * problem.height > kMostGridY) {
        return pass + " of " + std::to_string(problem.height) + " rows: a grid has 1 to " + std::to_string(kMostGridY) +
               " of the output's";
    }
    if (problem.channels_in < 1 || problem.channels_out < 1 || 4 * problem.channels_out % problem.channels_in != 0) {
        return pass + ": " + std::to_string(problem.channels_in) + " channels to " +
               std::to_string(problem.channels_out) + " in blocks of 2x2";
    }
    const int64_t widest = std::max(problem.channels_in, 2 * problem.channels_out);
    return refuse_bytes(pass, "a row", problem.width * widest * element_bytes(problem.storage));
}

LaunchShape launch_shape(const DepthToSpaceProblem& problem) {
    return shape("depth_to_space", element_bytes(problem.storage), 2 * problem.width * problem.channels_out,
                 2 * problem.height, problem.frames);
}

DepthToSpaceParams make_params(const DepthToSpaceProblem& problem, const FrameTable& frames) {
    const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
    return {frames,
            u32(problem.width * problem.channels_in),
            u32(2 * problem.width * problem.channels_out),
            u32(problem.channels_in),
            u32(problem.channels_out),
            u32(4 * problem.channels_out / problem.channels_in),
            problem.order};
}

Refusal refusal(const Im2colProblem& problem) {
    const std::string pass = "im2col";
    if (auto refused = refuse_frames(pass, problem.frames.size)) return refused;
    if (auto refused = refuse_axis("frames", problem.frames)) return refused;
    if (auto refused = refuse_axis("height", problem.height)) return refused;
    if (auto refused = refuse_axis("width", problem.width)) return refused;
    const int64_t output = problem.height.output() * problem.width.output();
    if (problem.first_pixel < 0 || problem.pixels < 1 || problem.first_pixel + problem.pixels > output) {
        return pass + " of pixels " + std::to_string(problem.first_pixel) + " to " +
               std::to_string(problem.first_pixel + problem.pixels) + " of an output frame of " +
               std::to_string(output);
    }
    if (problem.channels < 1 || problem.columns < problem.taps()) {
        return pass + " of " + std::to_string(problem.taps()) + " taps and channels into " +
               std::to_string(problem.columns) + " columns";
    }
    if (auto refused =
            refuse_bytes(pass, "an input frame", problem.height.size * problem.width.size * pixel_bytes(problem))) {
        return refused;
    }
    return refuse_bytes(pass, "an output frame's rows", problem.pixels * row_bytes(problem));
}

LaunchShape launch_shape(const Im2colProblem& problem) {
    const int64_t unit = unit_of(std::gcd(pixel_bytes(problem), row_bytes(problem)));
    const int64_t of_tap = problem.height.taps * problem.width.taps * pixel_bytes(problem);
    const int64_t beyond = (problem.columns - problem.taps()) * element_bytes(problem.storage);
    return shape("im2col", unit, problem.pixels * std::max(of_tap, beyond) / unit,
                 problem.frames.taps + (beyond > 0 ? 1 : 0), problem.frames.output());
}

Im2colParams make_params(const Im2colProblem& problem, std::span<const std::byte* const> input, std::byte* matrix) {
    const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
    const Im2colProblem::Axis &d = problem.frames, &h = problem.height, &w = problem.width;
    return {frame_table(input, std::span(&matrix, 1)),
            u32(d.size),
            u32(h.size),
            u32(w.size),
            u32(pixel_bytes(problem)),
            u32(w.output()),
            u32(problem.first_pixel),
            u32(problem.pixels),
            u32(d.taps),
            u32(h.taps),
            u32(w.taps),
            u32(d.stride),
            u32(h.stride),
            u32(w.stride),
            u32(d.dilation),
            u32(h.dilation),
            u32(w.dilation),
            u32(d.pad_before),
            u32(h.pad_before),
            u32(w.pad_before),
            u32(row_bytes(problem))};
}

}  // namespace kinetograph::gfx950
