// OnStandinCuda: tests of the program on the CUDA lane, with a stand-in driver that runs the kernels in the host model.
#pragma once

#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/fat_binaries.hpp>

#include "program.hpp"

namespace kinetograph::test {

class OnStandinCuda : public testing::Test {
  protected:
    void SetUp() override {
        if (cuda::fat_binaries().empty()) GTEST_SKIP() << cuda::fat_binary_compiler();
        if (std::string_view(KINETOGRAPH_STANDIN_CUDA_LIBRARY).empty())
            GTEST_SKIP() << "this build has no stand-in driver that runs kernels";
        options_.environment = {"KINETOGRAPH_CUDA_LIBRARY=" KINETOGRAPH_STANDIN_CUDA_LIBRARY};
    }
    ProgramOptions options_;
};

}  // namespace kinetograph::test
