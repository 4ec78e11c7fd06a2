// kinetograph conv on a B200 that a stand-in driver plays, in this process: every form of the kernels for SM100 is
// asked for by the command line, and its numbers agree with the fp64 reference.
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/engine/accel/device_fixture.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace kinetograph::cli {
namespace {

class ConvOnSm100 : public testing::Test {
  protected:
    void SetUp() override {
        ::setenv("KINETOGRAPH_CUDA_LIBRARY", KINETOGRAPH_STANDIN_CUDA_LIBRARY, 1);
        cuda_->reset({.name = "Stand-in B200", .architecture = "sm_100"});
    }
    void TearDown() override {
        EXPECT_EQ(cuda_->live(), standin::Live{});
        for (const std::string& complaint : cuda_->complaints()) ADD_FAILURE() << complaint;
        cuda_->reset({});
        ::unsetenv("KINETOGRAPH_CUDA_LIBRARY");
    }

    /// What `kinetograph conv` writes for these words; the test fails unless it succeeds.
    nlohmann::json conv(const std::string& words) {
        const auto file = folder_.path() / "conv.json";
        std::istringstream text("conv --lane cuda --repeats 1 --json " + file.string() + " " + words);
        std::vector<std::string> reversed;
        for (std::string word; text >> word;) reversed.insert(reversed.begin(), word);
        CLI::App app;
        Action action;
        add_commands(app, action, words);
        app.parse(reversed);
        testing::internal::CaptureStdout();
        const auto done = action();
        testing::internal::GetCapturedStdout();
        EXPECT_TRUE(done) << words << ": " << (done ? "" : done.error().message);
        return done ? nlohmann::json::parse(std::ifstream(file)) : nlohmann::json{{"relative_l2", 1}};
    }
    static void expect_close(const nlohmann::json& run, double limit, const std::string& words) {
        EXPECT_LE(run.at("relative_l2").get<double>(), limit) << words;
        EXPECT_GT(run.at("relative_l2").get<double>(), 1e-6) << words;
    }

    standin::Control* const cuda_ = accel::control_of(KINETOGRAPH_STANDIN_CUDA_LIBRARY);
    test::TemporaryFolder folder_;
};

const std::string kImage = "--input 1,2,5,7,32 --filter 64,1,3,3 --pad 0,0,1,1,1,1 ";
const std::string kWide = "--input 1,2,5,7,64 --filter 64,1,3,3 --pad 0,0,1,1,1,1 ";
const std::string kTall = "--input 1,4,5,7,96 --filter 200,1,3,3 --pad 0,0,1,1,1,1 ";
const std::string kClip = "--input 1,4,5,7,32 --filter 64,3,3,3 --pad 0,0,1,1,1,1 ";
const std::string kInTime = "--input 1,4,5,7,64 --filter 200,3,1,1 ";

struct Form {
    const char* what;
    std::string words;
    std::string backend;  ///< METHOD or METHOD:KERNEL
};
const Form kForms[] = {
    {"filters in RSCF", kImage + "--filter-layout rscf", "conv2d-sm100"},
    {"filters in QRSCF", kClip + "--filter-layout qrscf", "conv3d-sm100"},
    {"filters in QRSCF for halos", kClip + "--filter-layout qrscf", "implicit-gemm-sm100"},
    {"filters in KQRSC", kClip + "--filter-layout kqrsc", "q-slice-sm100"},
    {"alpha", kImage + "--alpha 0.375", "conv2d-sm100"},
    {"alpha and a scale for each channel", kClip + "--alpha 0.375 --channel-scales", "conv3d-sm100"},
    {"alpha of slices", kClip + "--alpha 0.375 --channel-scales", "q-slice-sm100"},
    {"a residual by its own warp", kImage + "--residual --beta 0.5",
     "conv2d-sm100:conv2d_small_Frames2d_2sm_64b_n64_residual"},
    {"a residual over frames", kClip + "--residual --beta 0.5", "conv3d-sm100:conv2d_Window3d_2sm_64b_n64_residual"},
    {"SiLU in registers", kImage + "--activation silu", "conv2d-sm100:conv2d_silu_Frames2d_2sm_64b"},
    {"SiLU on the staged tile", kWide + "--activation silu", "conv2d-sm100:conv2d_silu_staged_1sm_128b_None"},
    {"a void function after the store", kWide, "conv2d-sm100:conv2d_channel_sums_1sm_128b_None"},
    {"filters and pixels by multicast", kTall, "conv2d-sm100:conv2d_Frames2d_1sm_64b_n128_cluster_22"},
    {"multicast among pairs", kInTime, "conv3d-sm100:conv2d_Window3d_2sm_128b_n192_cluster_22"},
    {"an order of tiles", kTall, "conv2d-sm100:conv2d_Frames2d_1sm_64b_n96@3"},
    {"one CTA, k blocks of 128 bytes", kWide, "conv2d-sm100:conv2d_small_Frames2d_1sm_128b_n64"},
    {"one CTA, k-groups of two blocks", kImage, "conv2d-sm100:conv2d_Frames2d_1sm_64b_n96"},
    {"a pair of CTAs", kImage, "conv2d-sm100:conv2d_Frames2d_2sm_64b_n64"},
    {"a volume in one launch", kClip, "conv3d-sm100:conv2d_Volume3d_2sm_64b_n64"},
    {"two pairs that share filters of halos", "--input 1,4,5,7,64 --filter 64,3,3,3 --pad 0,0,1,1,1,1",
     "implicit-gemm-sm100:sm100_halo_bf16_n192_16x8_3_64_shared"},
    {"slices whose sums are joined in fp32", kClip, "q-slice-sm100:conv2d_first_sum_2sm_64b"},
    {"a matrix of taps", "--input 1,4,5,7,96 --filter 3,3,3,3", "im2col-sm100:conv2d_first_sum_2sm_64b"},
    {"fp16 images", kImage + "--dtype fp16", "conv2d-sm100"},
    {"fp16 over frames", kClip + "--dtype fp16 --stride 1,2,2", "conv3d-sm100"},
    {"fp8 images", kWide + "--dtype fp8 --alpha 0.25 --channel-scales", "conv2d-sm100"},
    {"fp8 over frames", kClip + "--dtype fp8 --alpha 0.25 --channel-scales", "conv3d-sm100"},
    {"fp8 of two formats", kWide + "--filter-dtype fp8-e5m2 --dtype fp8 --alpha 0.25", "conv2d-sm100"},
    {"fp8 e5m2 alone", kImage + "--dtype fp8-e5m2", "conv2d-sm100"},
    {"fp8 of two formats over frames", kClip + "--dtype fp8-e5m2 --filter-dtype fp8 --residual", "conv3d-sm100"},
    {"rows of 128 and of 64 bytes", kTall, "conv2d-sm100:conv2d_Frames2d_1sm_a128b_b64b"},
    {"rows of 32 and of 128 bytes over frames", kClip, "conv3d-sm100:conv2d_Window3d_2sm_a32b_b128b"},
    {"SiLU of fp16", kImage + "--dtype fp16 --activation silu", "conv2d-sm100"},
    {"SiLU of fp8 over frames", kClip + "--activation silu --dtype fp8", "conv3d-sm100"},
    {"a doubled input", kWide + "--upsample", "implicit-gemm-sm100"},
    {"a doubled input in fp8", kWide + "--upsample --dtype fp8 --channel-scales", "conv2d-sm100"},
};

TEST_F(ConvOnSm100, RunsEveryFormThatIsAskedFor) {
    for (const Form& form : kForms) {
        const nlohmann::json run = conv(form.words + " --backend " + form.backend);
        // Folded taps of a doubled input are rounded once more, and so is what a function finds on a staged tile.
        const bool twice =
            form.words.find("--upsample") != std::string::npos || form.backend.find("staged") != std::string::npos;
        expect_close(run, twice ? 4e-3 : 2.5e-3, form.what);
        EXPECT_EQ(run.value("backend", ""), form.backend.substr(0, form.backend.find(':'))) << form.what;
        EXPECT_EQ(run.value("device", ""), "Stand-in B200");
    }
}

TEST_F(ConvOnSm100, StoresFloat32IfAskedWhateverTheOrderOfTheOptions) {
    for (const char* words : {"--output-dtype fp32 --dtype fp16", "--dtype fp16 --output-dtype fp32"}) {
        const nlohmann::json run = conv(kClip + "--backend im2col-sm100 " + words);
        EXPECT_LE(run.at("relative_l2").get<double>(), 1e-5) << "fp32 sums, not rounded to fp16";
    }
}

TEST_F(ConvOnSm100, NormsBesideTheOutputAndInsteadOfIt) {
    for (const char* backend : {"implicit-gemm-sm100", "conv3d-sm100", "q-slice-sm100", "im2col-sm100"}) {
        for (const char* norm : {"beside", "instead --norm-activation none"}) {
            const std::string words = kClip + "--norm " + norm + " --backend " + backend;
            const nlohmann::json run = conv(words);
            expect_close(run, 5e-3, words);
            EXPECT_LE(run.at("normed_relative_l2").get<double>(), 5e-3) << words;
            EXPECT_GT(run.at("normed_relative_l2").get<double>(), 1e-4) << words;
        }
    }
    EXPECT_TRUE(conv(kClip).at("normed_relative_l2").is_null());
}

TEST_F(ConvOnSm100, ExplainsEveryMethod) {
    std::string open;
    const nlohmann::json run = conv(kClip);
    for (const nlohmann::json& row : run.at("dispatch"))
        if (row.at("open") && row.at("candidate").get<std::string>().ends_with("-sm100"))
            open += row.at("candidate").get<std::string>() + ' ';
    for (const char* method :
         {"implicit-gemm-sm100", "conv3d-sm100", "q-slice-sm100", "q-slice-rounded-sm100", "im2col-sm100"})
        EXPECT_NE(open.find(std::string(method) + ' '), std::string::npos) << open;
}

}  // namespace
}  // namespace kinetograph::cli
