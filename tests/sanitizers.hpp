// Whether the address sanitizer watches: it makes arithmetic several times slower, and finds in a part of it what it
// would find in all.
#pragma once

namespace kinetograph::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitized = true;
#else
inline constexpr bool kAddressSanitized = false;
#endif

}  // namespace kinetograph::test
