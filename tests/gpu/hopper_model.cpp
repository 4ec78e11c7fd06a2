#include "hopper_cases.hpp"
#include "hopper_suite.hpp"
#include "model_backend.hpp"

namespace kinetograph::gpu_tests {

std::vector<CaseResult> run_on_model(uint64_t seed) {
    ModelBackend backend(seed);
    return HopperCases<ModelBackend>(backend).run();
}

}  // namespace kinetograph::gpu_tests
