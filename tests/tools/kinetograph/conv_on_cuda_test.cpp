// kinetograph conv on the CUDA lane: a stand-in driver runs the kernels in the host model.
#include "program_json.hpp"
#include "standin_cuda.hpp"

namespace kinetograph::test {
namespace {

class ConvProgramOnCuda : public OnStandinCuda {
  protected:
    std::vector<std::string> problem(const std::string& backend) const {
        return {"conv",      "--lane", "cuda:0", "--input",     "1,4,5,7,32", "--filter", "16,3,3,3",
                "--repeats", "1",      "--pad",  "0,0,1,1,1,1", "--backend",  backend};
    }
};

TEST_F(ConvProgramOnCuda, RunsEveryBackEndByNameAndComparesItWithTheReference) {
    for (const std::string backend : {"implicit-gemm-sm80", "q-slice-sm80", "q-slice-rounded-sm80", "im2col-sm80"}) {
        const auto json = run_json(problem(backend), options_);
        EXPECT_EQ(json.at("backend"), backend);
        EXPECT_EQ(json.at("lane"), "cuda");
        EXPECT_LT(json.at("relative_l2").get<double>(), backend == "q-slice-rounded-sm80" ? 4e-3 : 2.5e-3) << backend;
        EXPECT_GT(json.at("relative_l2").get<double>(), 0) << backend;
    }
}

TEST_F(ConvProgramOnCuda, NormsTheOutput) {
    for (const std::string norm : {"beside", "instead"}) {
        auto arguments = problem("implicit-gemm-sm80");
        arguments.insert(arguments.end(), {"--norm", norm, "--norm-activation", "silu"});
        const auto json = run_json(arguments, options_);
        EXPECT_LT(json.at("normed_relative_l2").get<double>(), 5e-3) << norm;
        EXPECT_GT(json.at("normed_relative_l2").get<double>(), 1e-4) << norm;
    }
}

TEST_F(ConvProgramOnCuda, NamesTheDeviceAndCountsItsUnits) {
    const auto result = run_program(problem("implicit-gemm-sm80"), options_);
    EXPECT_NE(result.out.find("implicit-gemm-sm80 (Stand-in H200, 132 compute units)"), std::string::npos)
        << result.out;
}

TEST_F(ConvProgramOnCuda, SaysWhyQSliceDeclines) {
    auto arguments = problem("q-slice-sm80");
    for (std::string& argument : arguments)
        if (argument == "0,0,1,1,1,1") argument = "2,0,1,1,1,1";
    const auto result = run_program(arguments, options_);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_TRUE(result.messages.ends_with(
        "no back end is open:\n      q-slice-sm80  closed: wants no temporal padding, met 2 before and 0 after\n"))
        << result.messages;
}

}  // namespace
}  // namespace kinetograph::test
