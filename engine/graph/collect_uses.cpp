#include <kinetograph/engine/graph/compilation.hpp>

namespace kinetograph::graph {

void collect_uses(Compilation& c) {
    const auto& passes = c.frame.passes();
    std::vector<std::uint32_t> latest_use(c.frame.resources().size(), kNoIndex);
    std::size_t accesses = 0;
    for (const PassNode& pass : passes) accesses += pass.accesses.size();
    c.uses.reserve(accesses);
    c.first_use.reserve(passes.size() + 1);

    for (std::uint32_t p = 0; p < passes.size(); ++p) {
        const auto first = static_cast<std::uint32_t>(c.uses.size());
        c.first_use.push_back(first);
        for (const AccessNode& access : passes[p].accesses) {
            std::uint32_t& latest = latest_use[access.resource];
            if (latest == kNoIndex || latest < first) {
                latest = static_cast<std::uint32_t>(c.uses.size());
                c.uses.push_back({.pass = p, .resource = access.resource});
            }
            Use& use = c.uses[latest];
            const bool writes = c.resource(access.resource).writer_of.size() > access.version &&
                                c.resource(access.resource).writer_of[access.version] == p && is_write(access.access);
            if (writes) {
                use.written_version = access.version;
                use.write = access.access;
                continue;
            }
            if (use.read_version != kNoIndex && use.read_version != access.version)
                use.other_read_version = use.read_version;
            use.read_version = access.version;
            use.reads |= bit(access.access);
        }
    }
    c.first_use.push_back(static_cast<std::uint32_t>(c.uses.size()));
}

}  // namespace kinetograph::graph
