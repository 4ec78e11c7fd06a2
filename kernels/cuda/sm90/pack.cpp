#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/sm90/pack.hpp>

namespace kinetograph::sm90 {
namespace {

constexpr size_t kWidestTile = 256;  // filters

std::vector<float> padded(std::vector<float> values) {
    if (!values.empty()) values.resize(values.size() + kWidestTile, 0.0F);
    return values;
}

}  // namespace

conv::PackedParameters pack_parameters(const conv::ConvProblem& problem, const conv::ConvParameters& parameters) {
    return pack_with_filter(cuda::pack_filter(problem, parameters.filter), parameters);
}

conv::PackedParameters pack_with_filter(std::vector<std::byte> filter, const conv::ConvParameters& parameters) {
    conv::PackedParameters packed = conv::packed_with(std::move(filter), parameters);
    packed.bias = padded(std::move(packed.bias));
    packed.gamma = padded(std::move(packed.gamma));
    return packed;
}

std::string packing_layout(const conv::ConvProblem& problem) {
    return std::string(problem.upsample ? "sub-pixel KQRSC " : "KQRSC ") + element_name(problem.dtype) +
           ", channels padded";
}

}  // namespace kinetograph::sm90
