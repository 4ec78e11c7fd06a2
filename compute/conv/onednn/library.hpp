// oneDNN in this process: its engine, and the instructions that it generates.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

namespace kinetograph::conv::onednn {

/// The engine of the CPU, for every use of the library. The first call makes KINETOGRAPH_CPU its limit too, unless the
/// application's own use of oneDNN has come before: a process sets it once.
dnnl::engine cpu_engine();

/// Whether its code is for AVX-512; the implementations for less lack some of what those for AVX-512 have.
bool generates_avx512();

/// "oneDNN 2.6.3 for avx2"
std::string library_text();

}  // namespace kinetograph::conv::onednn
