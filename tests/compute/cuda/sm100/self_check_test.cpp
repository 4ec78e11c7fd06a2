// The check of a GPU's kernels before their first use, on a stand-in that poses as a B200: kernels that agree, one
// whose results are wrong, one that does not end.
#include <kinetograph/compute/conv/checked_kernels.hpp>
#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/self_check.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>

#include <fstream>

namespace kinetograph::conv {
namespace {

constexpr const char* kTile = "sm100_halo_bf16_n96_32x8_3_32";
constexpr std::uint8_t kAgrees = 1, kWrong = 2, kHangs = 3, kOff = 4;  // UUIDs: every test has a device of its own

ConvProblem small_layer() {
    ConvProblem p;
    p.d = 4;
    p.h = 5;
    p.w = 7;
    p.c_in = 32;
    p.filter = {64, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    p.input = p.weight = p.output = p.normed = Element::BF16;
    p.norm = Norm::Beside;
    return p;
}

class Sm100SelfCheck : public test::CudaLane {
  protected:
    void SetUp() override {
        ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
        ::setenv("KINETOGRAPH_SELF_CHECK", "on", 1);
    }
    void TearDown() override {
        CudaLane::TearDown();
        ::setenv("KINETOGRAPH_SELF_CHECK", "off", 1);
    }
    standin::Options pose() const override { return posed_; }
    bool is_little_work() const override { return true; }
    void open(std::uint8_t uuid, const char* idle = "", const char* hanging = "") {
        posed_ = {.name = "Stand-in B200", .architecture = "sm_100", .uuid_byte = uuid};
        posed_.idle_kernel = idle;
        posed_.hanging_kernel = hanging;
        CudaLane::SetUp();
        if (device_ != nullptr && on_gpu()) GTEST_SKIP() << "a GPU's kernels are as they are";
    }
    Result<std::unique_ptr<Convolution>> create() const {
        const ConvProblem p = small_layer();
        const std::vector<float> filter(static_cast<std::size_t>(p.filter_elements()), 0.1F), channels(64, 1.0F);
        return Convolution::create(*device_, p, {.filter = filter, .bias = channels, .gamma = channels, .scales = {}});
    }
    std::string file_text() const {
        std::ifstream text(CheckedKernels(device_->info()).file());
        return {std::istreambuf_iterator<char>(text), {}};
    }

    test::TemporaryFolder folder_;
    standin::Options posed_;
};

TEST_F(Sm100SelfCheck, OfAKernelThatAgreesIsMadeOnceForADeviceAndDriver) {
    open(kAgrees);
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE();
    const auto made = create();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->backend(), "implicit-gemm-sm100");
    const std::string begun = fmt::format("implicit-gemm-sm100:{}\t", kTile);
    EXPECT_NE(file_text().find(begun), std::string::npos) << file_text();
    EXPECT_TRUE(file_text().ends_with("\tagrees\n")) << file_text();
    const std::uint64_t launches = control_->calls("cuLaunchKernelEx");
    EXPECT_GE(launches, 1U);
    ASSERT_TRUE(create());
    EXPECT_EQ(control_->calls("cuLaunchKernelEx"), launches) << "it is known";
    EXPECT_EQ(self_check_text(device_->info()), "1 kernels agreed with fp64 in self-checks");
    accel::DeviceInfo updated = device_->info();
    updated.driver += ", updated";
    EXPECT_EQ(CheckedKernels(updated).agreeing(), 0U) << "of another driver nothing is known";
    EXPECT_EQ(CheckedKernels(device_->info()).agreeing(), 1U) << "another process reads it";
}

TEST_F(Sm100SelfCheck, ClosesAMethodWhoseKernelIsWrongAndSaysWhy) {
    open(kWrong, kTile);
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE();
    const auto made = create();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->backend(), "conv3d-sm100") << "the next";
    const std::string closed =
        fmt::format("its self-check on this device failed: implicit-gemm-sm100:{}: 1x4x5x7x32 bf16 * ", kTile);
    EXPECT_NE((*made)->reason().find(closed), std::string::npos) << (*made)->reason();
    const auto row = explain_named(device_->info(), small_layer(), "implicit-gemm-sm100");
    ASSERT_TRUE(row);
    EXPECT_FALSE(row->open);
    EXPECT_TRUE(row->reason.starts_with(closed)) << row->reason;
    EXPECT_NE(row->reason.find(" has a relative error of "), std::string::npos) << row->reason;
    const auto rows = explain_checked(*device_, small_layer(), Sums::Exact);
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->front().candidate, "conv3d-sm100");
    EXPECT_NE(to_string(*rows).find("closed: " + closed), std::string::npos) << to_string(*rows);
    EXPECT_NE(self_check_text(device_->info()).find(fmt::format("; closed: implicit-gemm-sm100:{}", kTile)),
              std::string::npos);
    EXPECT_TRUE(explain_named(chip_of(device_->info()), small_layer(), "implicit-gemm-sm100")->open)
        << "of a chip nothing is known";
}

TEST_F(Sm100SelfCheck, IsNotMadeWhereTheUserTurnsItOff) {
    open(kOff, kTile);
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE();
    ::setenv("KINETOGRAPH_SELF_CHECK", "off", 1);
    const auto made = create();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->backend(), "implicit-gemm-sm100");
    EXPECT_EQ(control_->calls("cuLaunchKernelEx"), 0U);
    EXPECT_EQ(self_check_text(device_->info()), "self-checks are off (KINETOGRAPH_SELF_CHECK)");
}

class Sm100HangingCheck : public Sm100SelfCheck {
  protected:
    /// Ends the process: with 0 if the check of the kernel that hangs ends with a sentence.
    void check_a_kernel_that_hangs() {
        const auto ends = [](const std::string& why) {
            std::fprintf(stderr, "%s\n", why.c_str());
            std::_Exit(why.empty() ? 0 : 1);
        };
        open(kHangs, "", kTile);
        const ConvProblem p = small_layer();
        const Candidate& method = *find_candidate("implicit-gemm-sm100").value();
        const ConvPlan plan = method.plan(p, chip_of(device_->info()));
        const auto checked = self_check(*device_, method, p, plan, std::chrono::seconds(1));
        if (checked) return ends("it ended");
        const std::string wanted = fmt::format(
            "the self-check of implicit-gemm-sm100:{} failed: Stand-in B200 did not end a small problem within 1 s; "
            "later processes take another kernel, this one cannot use the device any further "
            "(KINETOGRAPH_SELF_CHECK=off leaves checks out)",
            kTile);
        if (checked.error().code != ErrorCode::DeviceLost || checked.error().message != wanted)
            return ends(checked.error().message);
        ends("");
    }
};

TEST_F(Sm100HangingCheck, EndsWithASentenceAndLaterProcessesDoNotRunTheKernel) {
    GTEST_FLAG_SET(death_test_style, "fast");
    EXPECT_EXIT(check_a_kernel_that_hangs(), testing::ExitedWithCode(0), "");
    open(kHangs);
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE();
    const auto made = create();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->backend(), "conv3d-sm100");
    const auto row = explain_named(device_->info(), small_layer(), "implicit-gemm-sm100");
    ASSERT_TRUE(row);
    EXPECT_TRUE(row->reason.ends_with("did not end a small problem within 1 s")) << row->reason;
}

TEST_F(Sm100HangingCheck, OfTwoProcessesThatEndedBeforeItClosesTheKernelToo) {
    open(kHangs + 10);
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE();
    const auto begin_and_end = [&] {
        EXPECT_EXIT((CheckedKernels(device_->info()).begin("a:b", 7), std::_Exit(0)), testing::ExitedWithCode(0), "");
    };
    begin_and_end();
    EXPECT_EQ(CheckedKernels(device_->info()).find("a:b", 7), std::nullopt) << "one may have been interrupted";
    begin_and_end();
    CheckedKernels known(device_->info());
    EXPECT_EQ(known.find("a:b", 7), "2 checks of it began in processes that ended before they did");
    EXPECT_EQ(known.find("a:b", 8), std::nullopt) << "of other code";
    known.begin("a:c", 7);
    known.begin("a:c", 7);
    EXPECT_EQ(CheckedKernels(device_->info()).find("a:c", 7), std::nullopt) << "a process that still runs";
    known.end("a:b", 7, "");
    known.withdraw("a:c", 7);
    EXPECT_EQ(CheckedKernels(device_->info()).find("a:b", 7), "");
    EXPECT_EQ(CheckedKernels(device_->info()).find("a:c", 7), std::nullopt);
}

}  // namespace
}  // namespace kinetograph::conv
