#include <kinetograph/tests/kernels/chips/gfx1300/plan.hpp>

namespace kinetograph::gfx1300 {
namespace {

constexpr conv::Gate<conv::Subject> kGates[] = {
    {"a gfx1300 device", [](const conv::Subject& s) { return s.chip.architecture == "gfx1300"; },
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
        {"implicit-gemm-gfx1300", "implicit GEMM of a chip that is not built yet", kGates, plan_implicit_gemm},
    };
    return kMethods;
}

std::span<const conv::ConvModel> models() { return {}; }

std::span<const conv::OpMethod> operators() {
    static const conv::OpMethod kMethods[] = {
        conv::OpMethodOf<conv::AttentionProblem>{
            "tiles-gfx1300",
            [](const conv::Chip& chip) { return chip.architecture == "gfx1300"; },
            {},
            [](const conv::AttentionProblem&, const conv::Chip&) { return conv::OpPlan{}; }},
    };
    return kMethods;
}

std::span<const conv::KnownDevice> devices() {
    static constexpr conv::KnownDevice kDevices[] = {
        {"hip", "gfx1300", "Test GPU", 1ULL << 40U, 200, 227 << 10U, 2e9, 2e13},
    };
    return kDevices;
}

}  // namespace kinetograph::gfx1300
