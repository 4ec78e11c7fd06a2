#include <kinetograph/engine/graph/pass_context.hpp>

#include <stdexcept>

namespace kinetograph::graph {

const PassContext::Entry& PassContext::entry(std::uint32_t resource, std::uint32_t version) const {
    for (const Entry& entry : entries_) {
        if (entry.resource != resource) continue;
        if (version == entry.read_version || version == entry.written_version) return entry;
        throw std::logic_error("it asks for a version that it did not declare");
    }
    throw std::logic_error("it asks for a resource that it did not declare");
}

}  // namespace kinetograph::graph
