#pragma once

#include "launch_shape.hpp"

/// The suite on both sides. nvcc compiles the device's, the host's compiler the model's.
namespace kinetograph::gpu_tests {

std::vector<CaseResult> run_on_model(uint64_t seed);
/// `device` receives the GPU's name and driver version, or why there is none.
std::vector<CaseResult> run_on_device(std::string& device);

/// FNV-1a of a case's bytes, as in committed results.
inline uint64_t digest(const std::vector<uint8_t>& bytes) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3ull;
    return hash;
}

}  // namespace kinetograph::gpu_tests
