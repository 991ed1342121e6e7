// Whether a sanitizer watches this build. What a test counts in the millions, it counts in fewer there: the
// code that runs is the same, ten to a hundred times as slow.
#pragma once

namespace bigbird::testing {

#if defined(BIGBIRD_ADDRESS_SANITIZER) || defined(BIGBIRD_THREAD_SANITIZER)
inline constexpr bool under_sanitizer = true;
#else
inline constexpr bool under_sanitizer = false;
#endif

}  // namespace bigbird::testing
