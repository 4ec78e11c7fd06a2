// Whether the address sanitizer is on: it makes arithmetic several times slower, and finds its errors in a part of the
// work as well as in all of it.
#pragma once

namespace kinetograph::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitized = true;
#else
inline constexpr bool kAddressSanitized = false;
#endif

}  // namespace kinetograph::test
