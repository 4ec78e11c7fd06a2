// kinetograph info: its report with and without a Vulkan driver.
#include <gtest/gtest.h>

#include <set>

#include "program_json.hpp"

namespace kinetograph::test {
namespace {

TEST(InfoProgram, NamesTheProcessorEveryLaneAndWhyOneIsOff) {
    const auto json = run_json({"info"});
    EXPECT_FALSE(json.at("processor").at("name").get<std::string>().empty());
    ASSERT_EQ(json.at("lanes").size(), 4U);
    for (const auto& lane : json.at("lanes")) {
        if (!lane.at("name").get<std::string>().starts_with("vulkan")) {
            EXPECT_EQ(lane.at("decodes"), lane.at("name") == "cpu");
        }
        EXPECT_FALSE(lane.at("situation").get<std::string>().empty());
    }
    ASSERT_EQ(json.at("device_code").size(), 3U);
    for (const auto& code : json.at("device_code")) {
        const bool built_without = code.at("compiler").get<std::string>().starts_with("built without");
        EXPECT_EQ(code.at("images") == 0, built_without) << code;
    }
    EXPECT_EQ(json.at("convolution_backends").back().at("name"), "reference-cpu");
    const auto topology = json.at("topology").get<std::string>();
    EXPECT_TRUE(topology.rfind("staged: ", 0) == 0 || topology.rfind("headless: ", 0) == 0) << topology;
}

TEST(InfoProgram, SaysWhichInstructionsACapLeavesOutOfEveryLoopAndOfOneDnn) {
    const ProgramOptions capped{.environment = {"KINETOGRAPH_CPU=baseline"}};
    const auto json = run_json({"info"}, capped);
    const auto whole = run_json({"info"}, {.environment = {"KINETOGRAPH_CPU="}});
    EXPECT_EQ(json.at("processor").at("features"), "");
    EXPECT_EQ(json.at("processor").at("cap"), "baseline");
    EXPECT_EQ(json.at("processor").at("left_out"), whole.at("processor").at("features"));
    EXPECT_TRUE(json.at("processor").at("onednn").get<std::string>().ends_with(" for sse41")) << json;
    EXPECT_TRUE(whole.at("processor").at("cap").is_null());
    const auto situation = json.at("lanes").front().at("situation").get<std::string>();
    EXPECT_NE(situation.find("capped by KINETOGRAPH_CPU=baseline"), std::string::npos) << situation;
    const auto text = run_program({"info"}, capped).out;
    EXPECT_NE(text.find("KINETOGRAPH_CPU=baseline leaves out "), std::string::npos) << text;
}

TEST(InfoProgram, RefusesACapThatNamesNoInstructions) {
    const ProgramOptions unknown{.environment = {"KINETOGRAPH_CPU=avx3"}};
    const auto result = run_program({"info"}, unknown);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("KINETOGRAPH_CPU: \"avx3\" is no set of instructions; there are baseline, avx2, "),
              std::string::npos)
        << result.messages;
}

TEST(InfoProgram, SaysWithoutAVulkanDriverWhyThereIsNoDevice) {
    const ProgramOptions no_driver{.environment = {"VK_DRIVER_FILES=/nowhere.json", "VK_ICD_FILENAMES=/nowhere.json"}};
    const auto result = run_program({"info"}, no_driver);
    EXPECT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_NE(result.out.find("none: "), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("headless"), std::string::npos) << result.out;
}

/// The sentence of `info` about a lane.
std::string situation_of(std::string_view name, std::vector<std::string> environment = {}) {
    const auto json = run_json({"info"}, {.environment = std::move(environment)});
    for (const auto& lane : json.at("lanes"))
        if (lane.at("name") == name) return lane.at("situation");
    return "the lane is not listed";
}

/// Its sentence about the HIP lane when the stand-in replaces the runtime.
std::string hip_situation(std::vector<std::string> environment) {
    environment.push_back("KINETOGRAPH_HIP_LIBRARY=" KINETOGRAPH_STANDIN_HIP_LIBRARY);
    return situation_of("hip", std::move(environment));
}

TEST(InfoProgram, NamesTheHipDeviceItsRuntimeAndWhoRelaysTimelines) {
    const std::string expected = "Stand-in MI355X; " KINETOGRAPH_STANDIN_HIP_LIBRARY
                                 ", HIP 7.0.51831; gfx950:sramecc+:xnack-; a thread of the host relays Vulkan's "
                                 "timelines (the device reports timelineSemaphoreInteropSupported 0)";
    EXPECT_TRUE(hip_situation({}).starts_with(expected)) << hip_situation({});
}

TEST(InfoProgram, ListsEveryAcceleratorUnderTheNameThatOpensIt) {
    const ProgramOptions two_devices{.environment = {"KINETOGRAPH_HIP_LIBRARY=" KINETOGRAPH_STANDIN_HIP_LIBRARY,
                                                     "KINETOGRAPH_STANDIN=devices=2", "VK_DRIVER_FILES=/nowhere.json",
                                                     "VK_ICD_FILENAMES=/nowhere.json"}};
    const auto json = run_json({"info"}, two_devices);
    std::vector<std::string> names;
    for (const auto& one : json.at("accelerators")) names.push_back(one.at("name"));
    EXPECT_EQ(names, (std::vector<std::string>{"cpu:0", "hip:0", "hip:1"}));
    EXPECT_EQ(json.at("accelerators").back().at("uuid"), "GPU-5b5b5b5b-5b5b-5b5b-5b5b-5b5b5b5b5b5b");
    const auto text = run_program({"info"}, two_devices).out;
    EXPECT_NE(text.find("\n  hip:1     Stand-in MI355X, "), std::string::npos) << text;
}

TEST(InfoProgram, SaysWhyTheCudaLaneIsOff) {
    EXPECT_EQ(situation_of("cuda"), "/nowhere/libcuda.so.1 not found: CUDA lane off");
}

TEST(InfoProgram, KeepsTheNamesOfBackEndsApartFromWhatTheyDo) {
    const auto json = run_json({"info"});
    const auto text = run_program({"info"}).out;
    std::set<std::size_t> columns;
    for (const auto& backend : json.at("convolution_backends")) {
        const auto name = "\n  " + backend.at("name").get<std::string>() + "  ";
        const auto line = text.find(name);
        ASSERT_NE(line, std::string::npos) << name;
        columns.insert(text.find(backend.at("summary").get<std::string>(), line) - line);
    }
    EXPECT_EQ(columns.size(), 1U) << text;
}

TEST(InfoProgram, SaysWhyTheHipLaneIsOff) {
    EXPECT_EQ(hip_situation({"KINETOGRAPH_STANDIN=devices=0"}), KINETOGRAPH_STANDIN_HIP_LIBRARY
              " finds no device (hipGetDeviceCount: hipErrorNoDevice (100)): HIP lane off");
}

}  // namespace
}  // namespace kinetograph::test
