#include <algorithm>
#include <kinetograph/kernels/host_model/machine.hpp>

namespace kinetograph::host_model {
namespace {

bool overlap(const Access& a, const Access& b) {
    return a.space == b.space && a.begin < b.end && b.begin < a.end && (a.quarters & b.quarters) != 0;
}

std::string range(const Access& access) {
    return access.space == Space::Shared
               ? "shared memory [" + std::to_string(access.begin) + ", " + std::to_string(access.end) + ")"
               : "tensor memory columns [" + std::to_string(access.begin) + ", " + std::to_string(access.end) + ")";
}

}  // namespace

void check_access(const Access& access) {
    auto& accesses = access.cta->accesses;
    bool any_settled = false;
    for (const auto& other : accesses) {
        any_settled |= other->settled;
        if (other->settled) continue;
        if ((!access.writes && !other->writes) || !overlap(access, *other)) continue;
        if (access.stream != nullptr && access.stream == other->stream) continue;
        access.cta->machine.fail(access.who, access.at,
                                 std::string(access.writes ? "writes " : "reads ") + range(access) + " of which " +
                                     range(*other) + " is " +
                                     (other->landed ? (other->writes ? "written" : "read")
                                                    : (other->writes ? "still being written" : "still being read")) +
                                     " by " + describe(other->at) + " (" + describe(other->who) + ")" +
                                     (other->landed ? ", which has not been waited for" : ""));
    }
    if (any_settled) std::erase_if(accesses, [](const AccessPtr& other) { return other->settled; });
}

AccessPtr track(const Access& access) {
    check_access(access);
    auto kept = std::make_shared<Access>(access);
    access.cta->accesses.push_back(kept);
    return kept;
}

void settle(const AccessPtr& access) {
    if (access->settled) return;
    access->settled = true;
    if (access->space != Space::Tensor || !access->writes) return;
    auto& settled = access->cta->tensor.settled;
    std::fill(settled.begin() + access->begin, settled.begin() + access->end, access->cta->machine.time());
}

}  // namespace kinetograph::host_model
