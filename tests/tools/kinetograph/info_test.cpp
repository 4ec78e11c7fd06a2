// kinetograph info: what it reports with and without a Vulkan driver.
#include <gtest/gtest.h>

#include "program_json.hpp"

namespace kinetograph::test {
namespace {

TEST(InfoProgram, NamesTheProcessorEveryLaneAndWhyOneIsOff) {
    const auto json = run_json({"info"});
    EXPECT_FALSE(json.at("processor").at("name").get<std::string>().empty());
    ASSERT_EQ(json.at("lanes").size(), 4U);
    for (const auto& lane : json.at("lanes")) {
        EXPECT_EQ(lane.at("decodes"), lane.at("name") == "cpu");
        EXPECT_FALSE(lane.at("situation").get<std::string>().empty());
    }
    EXPECT_EQ(json.at("convolution_backends").back().at("name"), "reference");
    const auto topology = json.at("topology").get<std::string>();
    EXPECT_TRUE(topology.rfind("staged: ", 0) == 0 || topology.rfind("headless: ", 0) == 0) << topology;
}

TEST(InfoProgram, SaysWithoutAVulkanDriverWhyThereIsNoDevice) {
    const ProgramOptions no_driver{.environment = {"VK_DRIVER_FILES=/nowhere.json", "VK_ICD_FILENAMES=/nowhere.json"}};
    const auto result = run_program({"info"}, no_driver);
    EXPECT_EQ(result.exit_code, 0) << result.messages;
    EXPECT_NE(result.out.find("none: "), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("headless"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace kinetograph::test
