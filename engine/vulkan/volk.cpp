// The packaged volk, compiled with its globals renamed; see cmake/KinetographVolk.cmake.
#include <volk.c>  // NOLINT(bugprone-suspicious-include): the whole of volk, see cmake/KinetographVolk.cmake
