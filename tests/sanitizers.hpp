// What a test does otherwise under the address sanitizer, which makes arithmetic several times slower, and finds its
// errors in a part of the work as well as in all of it.
#pragma once

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace kinetograph::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitized = true;
/// What is allocated while one lives may stay: no leak is reported of what is kept because a device may write there.
using KeptOnPurpose = __lsan::ScopedDisabler;
#else
inline constexpr bool kAddressSanitized = false;
struct KeptOnPurpose {
    KeptOnPurpose() {}  // not trivial: a variable of it is not unused
};
#endif

}  // namespace kinetograph::test
