// The packaged volk, compiled with its globals renamed; see cmake/KinetographVolk.cmake.
#include <volk.c>
