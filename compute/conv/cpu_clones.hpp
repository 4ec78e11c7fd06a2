// One loop, compiled for several instruction sets: the release build runs on any x86-64 and uses what the CPU has.
#pragma once

/// For functions with plain loops: GCC and clang compile them for x86-64-v4 (AVX-512), v3 (AVX2) and the baseline, and
/// the loader picks one. Sanitizer builds have only the baseline: the loader picks before the sanitizer's runtime is
/// initialised.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KINETOGRAPH_CPU_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define KINETOGRAPH_CPU_CLONES
#endif
