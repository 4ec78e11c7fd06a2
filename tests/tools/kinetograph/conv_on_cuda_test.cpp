// kinetograph conv on the CUDA lane: a stand-in driver runs the kernels in the host model.
#include <gtest/gtest.h>
#include <kinetograph/kernels/cuda/fat_binaries.hpp>

#include "program_json.hpp"

namespace kinetograph::test {
namespace {

class ConvProgramOnCuda : public testing::Test {
  protected:
    void SetUp() override {
        if (cuda::fat_binaries().empty()) GTEST_SKIP() << cuda::fat_binary_compiler();
        if (std::string_view(KINETOGRAPH_STANDIN_CUDA_LIBRARY).empty())
            GTEST_SKIP() << "this build has no stand-in driver that runs kernels";
        options_.environment = {"KINETOGRAPH_CUDA_LIBRARY=" KINETOGRAPH_STANDIN_CUDA_LIBRARY};
    }
    std::vector<std::string> problem(const std::string& backend) const {
        return {"conv",      "--lane", "cuda",  "--input",     "1,4,5,7,32", "--filter", "16,3,3,3",
                "--repeats", "1",      "--pad", "0,0,1,1,1,1", "--backend",  backend};
    }
    ProgramOptions options_;
};

TEST_F(ConvProgramOnCuda, RunsEveryBackEndByNameAndComparesItWithTheReference) {
    for (const std::string backend : {"implicit-gemm", "q-slice", "q-slice-rounded", "im2col-cuda"}) {
        const auto json = run_json(problem(backend), options_);
        EXPECT_EQ(json.at("backend"), backend);
        EXPECT_EQ(json.at("lane"), "cuda");
        EXPECT_LT(json.at("relative_l2").get<double>(), backend == "q-slice-rounded" ? 4e-3 : 2.5e-3) << backend;
        EXPECT_GT(json.at("relative_l2").get<double>(), 0) << backend;
    }
}

TEST_F(ConvProgramOnCuda, SaysWhyQSliceDeclines) {
    auto arguments = problem("q-slice");
    for (std::string& argument : arguments)
        if (argument == "0,0,1,1,1,1") argument = "2,0,1,1,1,1";
    const auto result = run_program(arguments, options_);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.messages.find("q-slice  closed: wants no temporal padding, met 2 in front and 0 behind"),
              std::string::npos)
        << result.messages;
}

}  // namespace
}  // namespace kinetograph::test
