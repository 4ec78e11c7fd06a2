// Part of every test program: kernels of stand-ins are not checked against fp64 before their first use, which takes the
// host model seconds, and nothing is written to the user's cache. Tests of the checks turn them on.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kTurnedOff = ::setenv("KINETOGRAPH_SELF_CHECK", "off", 0);

}  // namespace
