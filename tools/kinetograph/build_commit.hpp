// The commit this program was built from; the source is written by cmake/WriteBuildCommit.cmake at every build.
#pragma once

#include <string_view>

namespace kinetograph::cli {

/// 40 hex digits, followed by "-dirty" if the tree had changes; "unknown" outside a git checkout.
extern const std::string_view kBuildCommit;

}  // namespace kinetograph::cli
