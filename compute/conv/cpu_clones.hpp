// One loop, compiled for several instruction sets: the release build runs on any x86-64 and uses what processor() says.
#pragma once

#include <kinetograph/engine/base/processor.hpp>

namespace kinetograph::conv {

#if defined(__x86_64__)
#define KINETOGRAPH_FOR_AVX2 [[gnu::target("avx2,fma,bmi,bmi2")]]
#define KINETOGRAPH_FOR_AVX512 [[gnu::target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]]
#else
#define KINETOGRAPH_FOR_AVX2
#define KINETOGRAPH_FOR_AVX512
#endif

/// Calls kLoop, a function of plain loops, as it is compiled for the largest set in use. kLoop is always_inline, so
/// that its loops become those of each clone.
template <auto kLoop>
struct CpuClones;

template <class Result, class... Arguments, Result (*kLoop)(Arguments...)>
struct CpuClones<kLoop> {
    Result operator()(Arguments... arguments) const {
        const InstructionSet set = processor().uses;
        if (set >= InstructionSet::Avx512) return for_avx512(arguments...);
        if (set >= InstructionSet::Avx2) return for_avx2(arguments...);
        return kLoop(arguments...);
    }

  private:
    KINETOGRAPH_FOR_AVX512 static Result for_avx512(Arguments... arguments) { return kLoop(arguments...); }
    KINETOGRAPH_FOR_AVX2 static Result for_avx2(Arguments... arguments) { return kLoop(arguments...); }
};

}  // namespace kinetograph::conv
