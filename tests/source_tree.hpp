// Where tests find files that they only read: assets, documents, reference data.
#pragma once

#include <filesystem>

namespace kinetograph::test {

/// The project's folder: KINETOGRAPH_SOURCE_DIR of the environment, for programs that run elsewhere than they were
/// built; otherwise that of the build.
std::filesystem::path source_tree();

}  // namespace kinetograph::test
