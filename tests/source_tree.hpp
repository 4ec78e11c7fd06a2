// Where tests find files that they only read: assets, documents, reference data.
#pragma once

#include <filesystem>

namespace kinetograph::test {

/// The project's folder: KINETOGRAPH_SOURCE_DIR of the environment, for programs that do not run where they
/// were built; otherwise the folder at build time.
std::filesystem::path source_tree();

}  // namespace kinetograph::test
