/* kinetograph.h compiles as C99 with every warning, and links. */
#include <kinetograph.h>

uint32_t version_by_c99(void) { return kg_version(); }
