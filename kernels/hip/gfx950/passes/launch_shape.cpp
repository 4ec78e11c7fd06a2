#include <algorithm>
#include <kinetograph/kernels/hip/gfx950/passes/launch_shape.hpp>

namespace kinetograph::gfx950 {

FrameTable frame_table(std::span<const std::byte* const> input, std::span<std::byte* const> output) {
    FrameTable table{};
    std::copy_n(input.begin(), std::min<size_t>(input.size(), kMostFrames), std::begin(table.input));
    std::copy_n(output.begin(), std::min<size_t>(output.size(), kMostFrames), std::begin(table.output));
    return table;
}

Refusal refuse_frames(const std::string& pass, int64_t frames) {
    if (frames >= 1 && frames <= kMostFrames) return std::nullopt;
    return pass + " of " + std::to_string(frames) + " frames in one launch, which takes 1 to " +
           std::to_string(kMostFrames);
}

Refusal refuse_bytes(const std::string& pass, const std::string& what, int64_t bytes) {
    if (bytes >= 1 && static_cast<uint64_t>(bytes) <= kMostFrameBytes) return std::nullopt;
    return pass + ": " + what + " of " + std::to_string(bytes) + " bytes; a buffer descriptor spans 1 to " +
           std::to_string(kMostFrameBytes);
}

}  // namespace kinetograph::gfx950
