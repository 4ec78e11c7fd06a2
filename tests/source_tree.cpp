#include <kinetograph/tests/source_tree.hpp>

#include <cstdlib>

namespace kinetograph::test {

std::filesystem::path source_tree() {
    const char* elsewhere = std::getenv("KINETOGRAPH_SOURCE_DIR");
    return elsewhere != nullptr ? elsewhere : KINETOGRAPH_SOURCE_DIR;
}

}  // namespace kinetograph::test
