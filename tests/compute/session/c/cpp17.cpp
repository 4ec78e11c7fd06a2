// kinetograph.h compiles as C++17 with every warning, and links.
#include <kinetograph.h>

uint32_t version_by_cpp17() { return kg_version(); }
