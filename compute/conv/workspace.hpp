// How a back end divides its workspace.
#pragma once

#include <cstdint>

namespace kinetograph::conv {

/// Parts of a workspace begin at multiples of this: what accelerators align their own allocations to.
inline constexpr std::uint64_t kWorkspaceAlignment = 256;

/// `bytes` and what follows them up to the next part.
constexpr std::uint64_t workspace_part(std::uint64_t bytes) {
    return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

}  // namespace kinetograph::conv
