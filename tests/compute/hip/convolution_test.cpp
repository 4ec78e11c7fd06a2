// Convolution's gfx950 back ends, from a ConvProblem to numbers, against the fp64 reference on the host.
#include <kinetograph/compute/conv/conv_run.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_params.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>
#include <kinetograph/tests/compute/hip/hip_lane.hpp>

#include <algorithm>
#include <regex>

namespace kinetograph::conv {
namespace {

using tensor::DType;

class HipConvolution : public test::HipLane {
  protected:
    /// Runs on `backend` (the best open one if empty) and holds the result to the rounding of its output.
    void expect_agrees(const ConvProblem& problem, std::string_view wanted_backend, std::string_view backend = {}) {
        const auto run = run_problem(*device_, problem, {.backend = backend, .repeats = 1});
        ASSERT_TRUE(run) << run.error().message;
        EXPECT_EQ(run->backend, wanted_backend) << problem.to_string();
        const double limit =
            problem.output.element == DType::F32 ? 2e-6 : (problem.output.element == DType::F16 ? 3e-4 : 2.5e-3);
        EXPECT_LE(run->relative_l2, limit) << problem.to_string();
        EXPECT_LE(run->max_abs_error, 4 * limit * run->max_abs_reference) << problem.to_string();
        EXPECT_EQ(run->normed_relative_l2.has_value(), problem.norm != Norm::None);
        EXPECT_LE(run->normed_relative_l2.value_or(0), 2 * limit) << problem.to_string();
    }
};

ConvProblem causal(std::int64_t c_in, std::int64_t k) {
    ConvProblem p;
    p.d = 4;
    p.h = 9;
    p.w = 13;
    p.c_in = c_in;
    p.filter = {k, 3, 3, 3};
    p.pad = {0, 0, 1, 1, 1, 1};
    return p;
}

TEST_F(HipConvolution, OfEveryElementTypeAgrees) {
    ConvProblem p = causal(64, 96);
    p.residual = true;
    p.activation = Activation::Silu;
    expect_agrees(p, "four-wave-gfx950");
    p.input = p.weight = p.output = p.normed = DType::F16;
    expect_agrees(p, "four-wave-gfx950");
    p.input = p.weight = DType::F8E4M3;
    p.output = p.normed = DType::BF16;
    expect_agrees(p, "four-wave-gfx950");
}

TEST_F(HipConvolution, PacksAFilterOnTheDeviceToTheSameBits) {
    ConvProblem p = causal(40, 96), doubled = causal(64, 96), bytes = causal(64, 96);
    doubled.upsample = true;
    bytes.input = bytes.weight = DType::F8E4M3;
    bytes.channel_scales = true;
    for (const ConvProblem& problem : {p, doubled, bytes}) {
        const auto run = [&](bool on_device) {
            return run_problem(*device_, problem,
                               {.backend = "four-wave-gfx950", .repeats = 1, .filter_on_device = on_device})
                .value();
        };
        const ConvRun host = run(false), device = run(true);
        EXPECT_EQ(device.relative_l2, host.relative_l2) << problem.to_string();
        EXPECT_EQ(device.max_abs_error, host.max_abs_error) << problem.to_string();
    }
    p.groups = 2;
    const auto refused = run_problem(*device_, p, {.repeats = 1, .filter_on_device = true});
    ASSERT_FALSE(refused);
    const std::string reason = "im2col-gfx950 packs filters on the host: give it the filter in host memory";
    EXPECT_NE(refused.error().message.find(reason), std::string::npos) << refused.error().message;
}

/// "conv", "conv + join", ...: whether K is split and a norm is a pass of its own.
std::string course_of(const accel::Device& device, const ConvProblem& problem) {
    std::string course = "conv";
    for (const KernelName& kernel : gfx950::plan_four_wave(problem, chip_of(device.info())).kernels) {
        if (kernel.kernel.find("join_sums") != std::string::npos) course += " + join";
        if (kernel.kernel.find("rms_norm") != std::string::npos) course += " + norm";
    }
    return course;
}

/// alpha and the channels' factors, with K whole and in parts, with a norm and without.
TEST_F(HipConvolution, ScalesTheSumsOfEveryElementType) {
    struct Form {
        const char* course;  ///< on the whole chip
        std::int64_t c_in, taps;
        Norm norm;
    };
    constexpr Form kForms[] = {{"conv", 64, 1, Norm::None},
                               {"conv", 64, 1, Norm::Beside},
                               {"conv + join", 192, 3, Norm::None},
                               {"conv + join + norm", 384, 3, Norm::Beside},
                               {"conv + join + norm", 384, 3, Norm::Instead}};
    for (const DType dtype : {DType::BF16, DType::F16, DType::F8E4M3}) {
        for (const Form& form : kForms) {
            ConvProblem p = causal(dtype == DType::F8E4M3 ? 2 * form.c_in : form.c_in, 96);
            p.h = 5;
            p.w = 6;
            p.d = form.taps + 1;  // two frames
            p.filter = {96, form.taps, form.taps, form.taps};
            if (form.taps == 1) p.pad = {};
            p.input = p.weight = dtype;
            p.output = p.normed = dtype == DType::F16 ? DType::F16 : DType::BF16;
            p.norm = form.norm;
            p.residual = true;
            p.weight.scale = 0.375F;
            p.channel_scales = true;
            if (control_ != nullptr) {
                EXPECT_EQ(course_of(*device_, p), form.course) << p.to_string();
            }
            expect_agrees(p, "four-wave-gfx950", "four-wave-gfx950");
            p.channel_scales = false;
            if (form.norm == Norm::None) expect_agrees(p, "four-wave-gfx950", "four-wave-gfx950");
        }
    }
}

TEST_F(HipConvolution, StoresFloat32WhereTheProblemWantsIt) {
    for (const std::int64_t k : {3, 8}) {  // one by one, and four at a time
        ConvProblem p = causal(32, k);
        p.output = p.normed = DType::F32;
        expect_agrees(p, "four-wave-gfx950");
    }
}

TEST_F(HipConvolution, PadsInTimeByFramesThatDoNotExist) {
    ConvProblem p = causal(16, 24);
    p.n = 2;
    p.pad.front = 2;
    p.pad.back = 1;
    expect_agrees(p, "four-wave-gfx950");
}

TEST_F(HipConvolution, OfStridesDilationsAndOddChannelsAgrees) {
    ConvProblem p = causal(20, 33);
    p.d = 7;
    p.stride = {2, 2, 1};
    p.dilation = {2, 1, 2};
    p.pad = {1, 0, 0, 2, 3, 1};
    expect_agrees(p, "four-wave-gfx950", "four-wave-gfx950");
}

TEST_F(HipConvolution, UpsamplesItsInputOnTheWay) {
    ConvProblem p = causal(32, 24);
    p.upsample = true;
    expect_agrees(p, "four-wave-gfx950");
    p.c_in = 5;
    p.stride = {1, 1, 2};
    expect_agrees(p, "four-wave-gfx950");
}

TEST_F(HipConvolution, OfMoreFramesThanALaunchNamesAgrees) {
    ConvProblem p = causal(8, 8);
    p.d = 37;
    p.h = p.w = 3;
    expect_agrees(p, "four-wave-gfx950", "four-wave-gfx950");
    expect_agrees(p, "im2col-gfx950", "im2col-gfx950");
}

TEST_F(HipConvolution, OfGroupsFallsToIm2colAndSaysWhy) {
    ConvProblem p = causal(32, 48);
    p.groups = 4;
    p.residual = true;
    p.stride.h = 2;
    expect_agrees(p, "im2col-gfx950");
    const auto rows = explain(device_->info(), p);
    const auto declined = std::ranges::find(rows, "four-wave-gfx950", &DispatchRow::candidate);
    ASSERT_NE(declined, rows.end());
    EXPECT_EQ(declined->reason, "wants what one launch of the kernel holds, met one that wants groups 1, met 4");
}

/// Their zeros in a filter over all channels, of bytes too, and the factors of the sums.
TEST_F(HipConvolution, OfGroupsInFp8AndWithScalesAgrees) {
    ConvProblem p = causal(32, 48);
    p.groups = 4;
    p.weight.scale = 0.375F;
    p.channel_scales = true;
    expect_agrees(p, "im2col-gfx950");
    p.input = p.weight = DType::F8E4M3;
    p.output = p.normed = DType::BF16;
    p.weight.scale = 0.375F;
    expect_agrees(p, "im2col-gfx950");
    p.c_in = 20;  // 4 bytes of each of 5 channels
    expect_agrees(p, "im2col-gfx950");
    p.c_in = 9;  // single bytes
    p.groups = 3;
    expect_agrees(p, "im2col-gfx950");
    p.groups = 1;
    expect_agrees(p, "im2col-gfx950", "im2col-gfx950");
}

/// The parts of K of a plan's convolution.
std::uint32_t parts_of(const ConvPlan& plan, const ConvProblem& problem) {
    static std::byte memory[64];
    const std::vector<const std::byte*> input(static_cast<std::size_t>(problem.frames_in()), memory);
    const std::vector<std::byte*> output(static_cast<std::size_t>(problem.frames_out()), memory);
    const auto steps = plan.steps({input, output, {}, memory, {}}, {}, {});
    return std::get<ConvLaunch>(steps.front()).arguments.as<gfx950::FourWaveConvParams>().splits;
}

TEST_F(HipConvolution, TakesATileAndANumberOfPartsOfKByName) {
    const ConvProblem p = causal(64, 96);
    const std::pair<std::string, std::uint32_t> kNamed[] = {{"256x192", 1}, {"128x256", 1},      {"64x64x32", 1},
                                                            {"64x64@1", 1}, {"128x128x64@3", 3}, {"64x64@99", 14}};
    for (const auto& [name, parts] : kNamed) {
        const std::string backend = "four-wave-gfx950:" + name;
        const auto row = explain_named(device_->info(), p, backend);
        ASSERT_TRUE(row && row->plan) << backend;
        EXPECT_NE(row->plan->kernels.front().kernel.find("_" + name.substr(0, name.find('@'))), std::string::npos)
            << row->plan->kernels.front().kernel;
        EXPECT_EQ(parts_of(*row->plan, p), parts) << backend;
        expect_agrees(p, "four-wave-gfx950", backend);
    }
    ConvProblem normed = p;
    normed.norm = Norm::Beside;
    expect_agrees(normed, "four-wave-gfx950", "four-wave-gfx950:128x128@2");
    expect_agrees(normed, "four-wave-gfx950", "four-wave-gfx950:64x64");  // its tiles do not hold a pixel
    const auto refused = explain_named(device_->info(), p, "four-wave-gfx950:256x512");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("four-wave-gfx950 has no kernel \"256x512\" for it; it has "),
              std::string::npos)
        << refused.error().message;
    ConvProblem odd = p;
    odd.filter.k = 33;  // the pass that adds parts reads eight channels at a time
    EXPECT_FALSE(explain_named(device_->info(), odd, "four-wave-gfx950:64x64@2"));
    EXPECT_TRUE(explain_named(device_->info(), odd, "four-wave-gfx950:64x64"));
}

TEST_F(HipConvolution, ByIm2colAgreesForAnyShape) {
    ConvProblem p = causal(10, 20);
    p.n = 2;
    p.pad.front = 2;
    p.dilation = {1, 2, 1};
    expect_agrees(p, "im2col-gfx950", "im2col-gfx950");
    p.input = p.weight = p.output = p.normed = DType::F16;
    expect_agrees(p, "im2col-gfx950", "im2col-gfx950");
    p.d = 33;
    p.stride.d = 2;
    expect_agrees(p, "im2col-gfx950", "im2col-gfx950");
}

/// A partition of the chip, by its compute units.
class HipPartitions : public HipConvolution, public testing::WithParamInterface<std::uint32_t> {
  protected:
    standin::Options posed() const override { return {.compute_units = GetParam()}; }
};

TEST_P(HipPartitions, Agree) {
    if (control_ != nullptr) {
        EXPECT_EQ(device_->info().compute_units, GetParam());
    }
    ConvProblem p = causal(64, 96);
    p.residual = true;
    expect_agrees(p, "four-wave-gfx950");  // in parts of K, or not
    p.d = 24;
    p.h = p.w = 60;
    p.c_in = 32;
    p.filter = {32, 1, 1, 1};
    p.pad = {};
    expect_agrees(p, "four-wave-gfx950");  // enough workgroups to be dealt out to XCDs
}
INSTANTIATE_TEST_SUITE_P(, HipPartitions, testing::Values(32, 128));

TEST_F(HipConvolution, OfFloat32IsDeclinedWithEveryReason) {
    ConvProblem p = causal(32, 32);
    p.input = p.weight = p.output = p.normed = DType::F32;
    const auto run = run_problem(*device_, p);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, ErrorCode::Unsupported);
    // Candidates' names and reasons stand in columns.
    const std::string& message = run.error().message;
    for (const char* line : {"\n  four-wave-gfx950 +closed: wants bf16, fp16 or fp8, met F32\n",
                             "\n  im2col-gfx950 +closed: wants bf16, fp16 or fp8, met F32\n"})
        EXPECT_TRUE(std::regex_search(message, std::regex(line))) << message;
}

TEST_F(HipConvolution, OverAnotherNumberOfFramesReadsTheSamePackedFilter) {
    ConvProblem p = causal(64, 96);
    Weights weights(HostParameters{
        std::vector<float>(static_cast<std::size_t>(p.filter_elements())), std::vector<float>(96), {}, {}});
    const auto first = Convolution::create(*device_, p, weights).value();
    const auto before = device_->bytes_allocated();
    for (const std::int64_t frames : {3, 5, 40}) {
        p.d = frames;
        const auto other = Convolution::create(*device_, p, weights).value();
        EXPECT_EQ(device_->bytes_allocated(), before);
    }
}

TEST_F(HipConvolution, LeavesTheDeviceAsItWas) {
    const auto before = device_->bytes_allocated();
    expect_agrees(causal(16, 16), "four-wave-gfx950", "four-wave-gfx950");
    EXPECT_EQ(device_->bytes_allocated(), before);
}

}  // namespace
}  // namespace kinetograph::conv
