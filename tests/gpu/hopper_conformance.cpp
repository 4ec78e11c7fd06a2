// hopper_conformance [results.json]: runs the conformance suite on the host model and on the first GPU, compares them
// byte for byte, and writes the results. 0: all cases agree; 1: some do not; 77: there is no Hopper GPU.
#include <cstdio>
#include <fstream>
#include <iostream>

#include <kinetograph/tools/kinetograph/build_commit.hpp>
#include "hopper_suite.hpp"

using namespace kinetograph::gpu_tests;

namespace {

std::string hex(uint64_t value) {
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
    return text;
}

/// Why the two sides of a case differ, or "".
std::string difference(const CaseResult& model, const CaseResult& device) {
    if (!model.trouble.empty()) return "model: " + model.trouble;
    if (!device.trouble.empty()) return "device: " + device.trouble;
    for (size_t i = 0; i < model.bytes.size(); ++i) {
        if (model.bytes[i] == device.bytes[i]) continue;
        return "byte " + std::to_string(i) + " of " + std::to_string(model.bytes.size()) + " is " +
               std::to_string(device.bytes[i]) + " on the device, " + std::to_string(model.bytes[i]) + " in the model";
    }
    return "";
}

}  // namespace

int main(int argc, char** argv) {
    std::string gpu;
    const std::vector<CaseResult> device = run_on_device(gpu);
    if (device.empty()) {
        std::cout << "SKIPPED: " << gpu << "\n";
        return 77;
    }
    const std::vector<CaseResult> model = run_on_model(0);
    std::ofstream json(argc > 1 ? argv[1] : "hopper_conformance.json");
    json << "{\n  \"suite\": \"tests/gpu/hopper_conformance\",\n  \"commit\": \"" << kinetograph::cli::kBuildCommit
         << "\",\n  \"command\": \"hopper_conformance RESULTS.json\",\n  \"device\": \"" << gpu
         << "\",\n  \"cases\": [\n";
    size_t agreeing = 0;
    for (size_t i = 0; i < model.size(); ++i) {
        const std::string why = difference(model[i], device[i]);
        agreeing += why.empty() ? 1 : 0;
        if (!why.empty()) std::cout << model[i].name << ": " << why << "\n";
        json << "    {\"name\": \"" << model[i].name << "\", \"bytes\": " << model[i].bytes.size() << ", \"model\": \""
             << hex(digest(model[i].bytes)) << "\", \"device\": \"" << hex(digest(device[i].bytes))
             << "\", \"agrees\": " << (why.empty() ? "true" : "false") << "}" << (i + 1 < model.size() ? "," : "")
             << "\n";
    }
    json << "  ],\n  \"agreeing\": " << agreeing << ",\n  \"all\": " << model.size() << "\n}\n";
    std::cout << gpu << ": " << agreeing << " of " << model.size() << " cases agree bit for bit\n";
    return agreeing == model.size() ? 0 : 1;
}
