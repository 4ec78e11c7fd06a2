#include <kinetograph/kernels/conv/plan.hpp>

namespace kinetograph::conv {

PackedParameters packed_with(std::vector<std::byte> filter, const ConvParameters& parameters) {
    return {std::move(filter),
            {parameters.bias.begin(), parameters.bias.end()},
            {parameters.gamma.begin(), parameters.gamma.end()},
            {parameters.scales.begin(), parameters.scales.end()}};
}

}  // namespace kinetograph::conv
