#include <kinetograph/engine/graph/compilation.hpp>

namespace kinetograph::graph {

namespace {

bool is_output(const Compilation& c, std::uint32_t pass) {
    if (c.pass(pass).side_effect) return true;
    for (const Use& use : c.uses_by(pass)) {
        const ResourceNode& resource = c.resource(use.resource);
        if (!use.writes()) continue;
        if (resource.exported && use.written_version <= resource.exported_version) return true;
    }
    return false;
}

}  // namespace

void cull(Compilation& c) {
    const auto passes = static_cast<std::uint32_t>(c.frame.passes().size());
    c.alive.assign(passes, 0);
    std::vector<std::uint32_t> reached;
    const auto reach = [&](std::uint32_t pass) {
        if (pass == kNoIndex || c.alive[pass] != 0) return;
        c.alive[pass] = 1;
        reached.push_back(pass);
    };
    for (std::uint32_t p = 0; p < passes; ++p)
        if (is_output(c, p)) reach(p);
    while (!reached.empty()) {
        const std::uint32_t pass = reached.back();
        reached.pop_back();
        for (const Use& use : c.uses_by(pass)) {
            const auto& writer_of = c.resource(use.resource).writer_of;
            if (use.read_version != kNoIndex) reach(writer_of[use.read_version]);
            if (use.writes()) reach(writer_of[use.written_version - 1]);
        }
    }
}

}  // namespace kinetograph::graph
