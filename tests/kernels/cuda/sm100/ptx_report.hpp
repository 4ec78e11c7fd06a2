#pragma once

#include <cstdint>
#include <kinetograph/kernels/cuda/sm100/halo_config.hpp>
#include <map>
#include <string>
#include <vector>

/// Reports of nvcc and ptxas about kernels, parsed from text.
namespace kinetograph::sm100 {

struct KernelResources {
    uint32_t registers = 0;                                 ///< a thread
    uint32_t stack = 0, spill_stores = 0, spill_loads = 0;  ///< bytes: local memory
};

/// By kernel name, from the output of `-Xptxas -v`.
std::map<std::string, KernelResources> read_resources(const std::string& report);

/// The text of each entry point of a PTX module, by name.
std::map<std::string, std::string> split_entries(const std::string& ptx);

/// Instructions that a config promises but `ptx`, the text of its entry, lacks, or that it must not contain: one
/// sentence each.
std::vector<std::string> broken_promises(const Conv2dConfig& config, const std::string& ptx);
std::vector<std::string> broken_promises(const HaloConfig& config, const std::string& ptx);
std::vector<std::string> broken_promises_of_attention(const std::string& ptx);

/// Whether every tcgen05.ld is followed by tcgen05.wait::ld with no instruction between them.
bool waits_after_every_load(const std::string& ptx);

}  // namespace kinetograph::sm100
