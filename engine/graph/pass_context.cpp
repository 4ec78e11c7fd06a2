#include <kinetograph/engine/graph/pass_context.hpp>

#include <cassert>
#include <cstdlib>

namespace kinetograph::graph {

const PassContext::Entry& PassContext::entry(std::uint32_t resource, [[maybe_unused]] std::uint32_t version) const {
    for (const Entry& entry : entries_) {
        if (entry.resource != resource) continue;
        assert((version == entry.read_version || version == entry.written_version) &&
               "the pass did not declare this version");
        return entry;
    }
    assert(false && "the pass did not declare this resource");
    std::abort();  // in a release build too: there is no storage to hand out
}

}  // namespace kinetograph::graph
