// Tensor maps that no kernel reads: they contain their description, for tests to compare.
#include <kinetograph/tests/standin/cuda/tensor_map.hpp>

#include <algorithm>

namespace kinetograph::accel::cuda {

isa::TensorMap tensor_map(const isa::TensorMapDesc& desc) {
    isa::TensorMap map{};
    map.words[0] = reinterpret_cast<std::uintptr_t>(desc.address);
    map.words[1] = desc.rank;
    std::copy_n(desc.size.begin(), desc.rank, map.words + 2);
    return map;
}

}  // namespace kinetograph::accel::cuda
