#pragma once

#include <deque>
#include <kinetograph/kernels/host_model/launch.hpp>

#include "launch_shape.hpp"

namespace kinetograph::gpu_tests {

/// Kernels on the host model: memory is host memory.
class ModelBackend {
  public:
    explicit ModelBackend(uint64_t seed) : seed_(seed) {}

    void* place(std::vector<uint8_t>& bytes) { return bytes.data(); }
    void fetch(std::vector<uint8_t>&) {}
    isa::TensorMap encode(const isa::TensorMapDesc& desc) { return host_model::model_map(descs_.emplace_back(desc)); }

    template <class Kernel>
    std::string run(const LaunchShape& shape, const typename Kernel::Params& params) {
        const host_model::Launch launch{.grid = {shape.grid[0], shape.grid[1], shape.grid[2]},
                                        .cluster = {shape.cluster[0], shape.cluster[1], shape.cluster[2]},
                                        .threads = shape.threads,
                                        .shared_bytes = shape.shared_bytes,
                                        .registers = shape.registers,
                                        .seed = seed_};
        return host_model::run(launch, [&params] { Kernel::run(params); }).fault.value_or("");
    }

  private:
    uint64_t seed_;
    std::deque<isa::TensorMapDesc> descs_;  // encoded maps point into it
};

}  // namespace kinetograph::gpu_tests
