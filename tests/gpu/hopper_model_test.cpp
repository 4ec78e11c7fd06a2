#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "hopper_suite.hpp"

#include <kinetograph/tests/kernels/cuda/model_schedules.hpp>
#include <kinetograph/tests/source_tree.hpp>

/// The model's side of the conformance suite, without a GPU: every schedule gives the same bytes, equal to those that
/// an H200 gave when hopper_conformance ran there.
namespace kinetograph::gpu_tests {
namespace {

std::string table(const std::vector<CaseResult>& results) {
    std::ostringstream text;
    text << "{\n  \"suite\": \"tests/gpu/hopper_conformance\",\n  \"device\": \"host model\",\n  \"cases\": [\n";
    for (size_t i = 0; i < results.size(); ++i) {
        text << "    {\"name\": \"" << results[i].name << "\", \"bytes\": " << results[i].bytes.size()
             << ", \"model\": \"" << std::hex << digest(results[i].bytes) << std::dec << "\"}"
             << (i + 1 < results.size() ? "," : "") << "\n";
    }
    text << "  ],\n  \"all\": " << results.size() << "\n}\n";
    return text.str();
}

/// The suite under the first schedule, run once.
const std::vector<CaseResult>& first_results() {
    static const std::vector<CaseResult> results = run_on_model(0);
    return results;
}

TEST(HopperConformance, GivesTheSameBytesUnderEverySchedule) {
    const auto& first = first_results();
    for (const CaseResult& result : first) EXPECT_EQ(result.trouble, "") << result.name;
    for (uint64_t seed = 1; seed < host_model::kSchedules; ++seed) {
        const auto again = run_on_model(seed);
        ASSERT_EQ(again.size(), first.size());
        for (size_t i = 0; i < first.size(); ++i) {
            EXPECT_EQ(again[i].trouble, "") << first[i].name;
            EXPECT_TRUE(again[i].bytes == first[i].bytes) << first[i].name << ", seed " << seed;
        }
    }
}

TEST(HopperConformance, GivesTheBytesThatAreCommitted) {
    const std::string found = table(first_results());
    std::ofstream(KINETOGRAPH_RESULTS_DIR "/hopper_conformance_model.json") << found;
    std::ifstream file(test::source_tree() / "bench/results/hopper_conformance_model.json");
    std::stringstream committed;
    committed << file.rdbuf();
    EXPECT_TRUE(committed.str() == found)
        << "bench/results/hopper_conformance_model.json is not what the model gives now, which lies in "
        << KINETOGRAPH_RESULTS_DIR;
}

TEST(HopperConformance, GivesTheBytesThatAnH200Gave) {
    std::ifstream file(test::source_tree() / "bench/results/hopper_conformance_h200.json");
    const auto recorded = nlohmann::json::parse(file, nullptr, false);
    ASSERT_FALSE(recorded.is_discarded());
    std::map<std::string, std::string> device;
    for (const auto& entry : recorded.at("cases")) device[entry.at("name")] = entry.at("device");
    for (const CaseResult& result : first_results()) {
        ASSERT_TRUE(device.contains(result.name)) << result.name << " has not run there";
        EXPECT_EQ(std::stoull(device[result.name], nullptr, 16), digest(result.bytes)) << result.name;
    }
    EXPECT_EQ(device.size(), first_results().size());
}

TEST(HopperConformance, HasNoTwoCasesOfOneNameAndNoneThatLeavesNothing) {
    std::map<std::string, size_t> names;
    for (const CaseResult& result : first_results()) {
        EXPECT_EQ(names[result.name]++, 0u) << result.name;
        EXPECT_GT(result.bytes.size(), 0u) << result.name;
    }
    EXPECT_GE(names.size(), 300u);
}

}  // namespace
}  // namespace kinetograph::gpu_tests
