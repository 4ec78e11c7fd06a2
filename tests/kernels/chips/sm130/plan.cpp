#include <kinetograph/tests/kernels/chips/sm130/plan.hpp>

namespace kinetograph::sm130 {
namespace {

constexpr conv::Gate<conv::Subject> kGates[] = {
    {"an sm_130 device", [](const conv::Subject& s) { return s.chip.cuda_architecture() == 130; },
     [](const conv::Subject& s) { return s.chip.architecture; }},
};

conv::ConvPlan plan_implicit_gemm(const conv::ConvProblem&, const conv::Chip&) {
    conv::ConvPlan plan;
    plan.seconds = 1e-9;  // less than any launch of the others
    return plan;
}

}  // namespace

std::span<const conv::ConvMethod> methods() {
    static const conv::ConvMethod kMethods[] = {
        {"implicit-gemm-sm130", "implicit GEMM of a chip that is not built yet", kGates, plan_implicit_gemm},
    };
    return kMethods;
}

std::span<const conv::ConvModel> models() { return {}; }

std::span<const conv::OpMethod> operators() {
    static const conv::OpMethod kMethods[] = {
        conv::OpMethodOf<conv::AttentionProblem>{
            "tiles-sm130",
            [](const conv::Chip& chip) { return chip.cuda_architecture() == 130; },
            {},
            [](const conv::AttentionProblem&, const conv::Chip&) { return conv::OpPlan{}; }},
    };
    return kMethods;
}

std::span<const conv::KnownDevice> devices() {
    static constexpr conv::KnownDevice kDevices[] = {
        {"cuda", "sm_130", "Test GPU", 1ULL << 40U, 200, 227 << 10U, 2e9, 2e13},
    };
    return kDevices;
}

}  // namespace kinetograph::sm130
