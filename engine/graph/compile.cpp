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

Fingerprint fingerprint(const CompileOptions& options) {
    Fingerprint result;
    mix(result, static_cast<std::uint64_t>(options.aliasing));
    const LaneTopology& topology = options.topology;
    mix(result, topology.accelerators);
    for (const Lane lane : topology.lanes()) {
        std::uint64_t bits = static_cast<std::uint64_t>(topology.present[lane.index()]);
        for (const bool reaches : topology.reaches[lane.index()])
            bits = bits << 1U | static_cast<std::uint64_t>(reaches);
        for (const Lane signalling : topology.lanes()) {
            const LaneTopology::Pair& pair = topology.waits[lane.index()][signalling.index()];
            bits = bits << 1U | static_cast<std::uint64_t>(pair.can_wait);
            mix(result, static_cast<std::uint64_t>(pair.hand_over.count()));
        }
        mix(result, bits);  // 31 bits at most
    }
    return result;
}

Fingerprint fingerprint(const FrameGraph& frame, const CompileOptions& options) {
    return combine(frame.topology(), fingerprint(options));
}

}  // namespace kinetograph::graph
