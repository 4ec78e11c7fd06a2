#include <kinetograph/engine/graph/compilation.hpp>
#include <kinetograph/engine/graph/fingerprint.hpp>

#include <fmt/ranges.h>

namespace kinetograph::graph {

Result<Plan> compile(const FrameGraph& frame, const CompileOptions& options) {
    Compilation c(frame, options);
    collect_uses(c);
    validate(c);
    link(c);
    if (!c.errors.empty()) return fail(ErrorCode::InvalidArgument, "{}", fmt::join(c.errors, "\n"));

    cull(c);
    order(c);
    cut_batches(c);
    find_lifetimes(c);
    alias(c);
    carry_over(c);
    place_barriers(c);
    return describe(c);
}

Fingerprint fingerprint(const FrameGraph& frame, const CompileOptions& options) {
    Fingerprint result = frame.topology();
    mix(result, static_cast<std::uint64_t>(options.aliasing));
    const LaneTopology& topology = options.topology;
    std::uint64_t bits = 0;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        bits = bits << 1U | static_cast<std::uint64_t>(topology.present[lane]);
        for (bool reaches : topology.reaches[lane]) bits = bits << 1U | static_cast<std::uint64_t>(reaches);
        for (const LaneTopology::Pair& pair : topology.waits[lane])
            bits = bits << 1U | static_cast<std::uint64_t>(pair.can_wait);
    }
    mix(result, bits);  // 50 bits
    for (const auto& waiting : topology.waits)
        for (const LaneTopology::Pair& pair : waiting) mix(result, static_cast<std::uint64_t>(pair.hand_over.count()));
    return result;
}

}  // namespace kinetograph::graph
