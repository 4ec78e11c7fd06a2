// The SM100 back ends, whole: from a ConvProblem through dispatch, filter packing, tensor maps of the driver and
// launches by name to numbers, on a stand-in driver that poses as a B200 and runs the kernels in the host model, or on
// a B200.
#include <kinetograph/compute/conv/conv_run.hpp>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/cuda/context.hpp>
#include <kinetograph/engine/accel/gpu/device.hpp>
#include <kinetograph/engine/accel/gpu/module.hpp>
#include <kinetograph/kernels/cuda/sm100/entry_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>
#include <kinetograph/kernels/cuda/sm100/im2col_product.hpp>
#include <kinetograph/kernels/cuda/sm100/pack.hpp>
#include <kinetograph/kernels/cuda/sm100/plan.hpp>
#include <kinetograph/kernels/cuda/sm100/qslice_conv3d.hpp>
#include <kinetograph/kernels/cuda/sm100/sum_entries.hpp>
#include <kinetograph/tests/compute/conv/conv_properties.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>

#include <set>

namespace kinetograph::conv {
namespace {

using tensor::DType;

class Sm100Convolution : public test::CudaLane {
  protected:
    void SetUp() override {
        CudaLane::SetUp();
        if (device_ != nullptr && !device_->info().architecture.starts_with("sm_10"))
            GTEST_SKIP() << device_->info().name << " has no tcgen05";
    }
    standin::Options pose() const override { return {.name = "Stand-in B200", .architecture = "sm_100"}; }
    bool is_little_work() const override { return true; }

    int agree(std::string_view backend, std::span<const ConvShape> shapes) {
        return expect_agreement(*device_, {backend, DType::BF16, DType::BF16}, shapes);
    }
    int agree_exactly(std::string_view backend, std::span<const ConvShape> shapes) {
        const Combination combination{backend, DType::BF16, DType::BF16};
        const int exact = expect_exactness(*device_, combination, shapes);
        EXPECT_EQ(expect_places(*device_, combination, shapes), exact);
        return exact;
    }

    /// That a stand-in has run.
    std::uint64_t kernels_run() const { return control_ != nullptr ? control_->kernels_run() : 0; }
    std::uint64_t one_kernel() const { return control_ != nullptr ? 1 : 0; }
};

/// The problems whose kernels the stand-in has: 32 or 96 channels.
ConvShape causal(std::int64_t c_in, std::int64_t k, FrameLayout input = FrameLayout::Dense) {
    ConvShape shape;
    shape.problem.d = 4;
    shape.problem.h = 5;
    shape.problem.w = 7;
    shape.problem.c_in = c_in;
    shape.problem.filter = {k, 3, 3, 3};
    shape.problem.pad = {0, 0, 1, 1, 1, 1};
    shape.input = input;
    shape.seam = input == FrameLayout::Ring ? 2 : 0;
    return shape;
}

ConvShape image(std::int64_t c_in, std::int64_t k, FrameLayout input = FrameLayout::Dense) {
    ConvShape shape = causal(c_in, k, input);
    shape.problem.filter.q = 1;
    return shape;
}

ConvShape with_residual(ConvShape shape) {
    shape.problem.residual = true;
    shape.problem.beta = 0.5F;
    return shape;
}

TEST_F(Sm100Convolution, ImagesAgreeWhereverTheirFramesLie) {
    ConvShape strided = image(32, 40);
    strided.problem.stride = {1, 2, 2};
    strided.problem.dilation = {1, 1, 2};
    ConvShape normed = image(32, 72);
    normed.problem.norm = Norm::Beside;
    ConvShape interleaved = image(32, 64);
    interleaved.output = FrameLayout::EveryOther;
    const std::vector<ConvShape> shapes{image(32, 64),
                                        with_residual(image(96, 72, FrameLayout::Ring)),
                                        image(32, 8, FrameLayout::Scattered),
                                        interleaved,
                                        strided,
                                        normed};
    EXPECT_EQ(agree("conv2d-sm100", shapes), 6);
    EXPECT_EQ(agree_exactly("conv2d-sm100", std::span(shapes).first(5)), 5);
}

TEST_F(Sm100Convolution, HalosAgreeWhereverTheirFramesLie) {
    ConvShape upsampled = image(64, 40, FrameLayout::Scattered), normed = with_residual(causal(96, 96));
    upsampled.problem.upsample = true;
    normed.problem.norm = Norm::Beside;
    normed.output = FrameLayout::EveryOther;
    ConvShape wide = causal(16, 200, FrameLayout::Ring);
    wide.problem.norm = Norm::Instead;
    const std::vector<ConvShape> shapes{
        causal(32, 64, FrameLayout::Ring), with_residual(image(40, 72)), upsampled, causal(96, 3), normed, wide};
    EXPECT_EQ(agree("implicit-gemm-sm100", shapes), 6);
    EXPECT_EQ(agree_exactly("implicit-gemm-sm100", std::span(shapes).first(4)), 4);
    EXPECT_EQ(expect_agreement(*device_, {"implicit-gemm-sm100", DType::F16, DType::F16}, std::span(shapes).first(4)),
              4);
}

TEST_F(Sm100Convolution, ImagesOfTheNarrowerFormatsAgree) {
    const std::vector<ConvShape> shapes{image(32, 64), with_residual(image(96, 40, FrameLayout::Ring))};
    EXPECT_EQ(expect_agreement(*device_, {"conv2d-sm100", DType::F16, DType::F16}, shapes), 2);
    ConvProblem eighth = image(64, 64).problem;
    eighth.input = eighth.weight = DType::F8E4M3;
    const auto run = run_problem(*device_, eighth, {.backend = "conv2d-sm100", .repeats = 1});
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_LE(run->relative_l2, 2.5e-3);  // of the bf16 output: both sides start from the same fp8 numbers
}

TEST_F(Sm100Convolution, TakesSiluInTheNarrowerFormatsToo) {
    for (const DType dtype : {DType::F16, DType::F8E4M3})
        for (const std::string_view backend : {"conv2d-sm100", "conv3d-sm100"}) {
            ConvProblem p = backend == "conv2d-sm100" ? image(32, 64).problem : causal(32, 64).problem;
            p.input = p.weight = dtype;
            p.output = p.normed = dtype == DType::F16 ? DType::F16 : DType::BF16;
            p.activation = Activation::Silu;
            const auto run = run_problem(*device_, p, {.backend = backend, .repeats = 1});
            ASSERT_TRUE(run) << run.error().message;
            EXPECT_LE(run->relative_l2, dtype == DType::F16 ? 5e-4 : 2.5e-3) << p.to_string();
        }
}

TEST_F(Sm100Convolution, ScalesItsSumsByAlpha) {
    for (const std::string_view backend :
         {"conv2d-sm100", "conv3d-sm100", "q-slice-sm100", "q-slice-rounded-sm100", "im2col-sm100"}) {
        ConvProblem p = backend == "conv2d-sm100" ? image(32, 64).problem : causal(32, 64).problem;
        p.weight.scale = 0.375F;
        for (const bool scales : {false, true}) {
            p.channel_scales = scales;
            const auto run = run_problem(*device_, p, {.backend = backend, .repeats = 1});
            ASSERT_TRUE(run) << run.error().message;
            EXPECT_LE(run->relative_l2, 5e-3) << backend << (scales ? ", scales" : "");
        }
    }
}

TEST_F(Sm100Convolution, EighthsOfAFloat32AgreeInThreeDimensionsToo) {
    ConvShape ring = with_residual(causal(32, 72, FrameLayout::Ring)), padded = causal(64, 40);
    padded.problem.pad.front = 2;
    for (ConvShape shape : {causal(32, 64), ring, padded}) {
        shape.problem.input = shape.problem.weight = DType::F8E4M3;
        shape.problem.channel_scales = true;
        shape.problem.weight.scale = 0.25F;
        const auto run = run_problem(*device_, shape.problem, {.backend = "conv3d-sm100", .repeats = 1});
        ASSERT_TRUE(run) << run.error().message;
        EXPECT_LE(run->relative_l2, 2.5e-3) << shape.problem.to_string();
    }
}

/// Strides and taps that the halo kernel does not have.
TEST_F(Sm100Convolution, HalvesAgreeInThreeDimensionsToo) {
    ConvShape strided = causal(32, 64), ring = with_residual(causal(96, 72, FrameLayout::Ring)), tall = causal(32, 8);
    strided.problem.stride = {1, 2, 2};
    strided.problem.pad.front = 2;
    tall.problem.filter.s = 1;
    tall.problem.pad.left = tall.problem.pad.right = 0;
    const std::vector<ConvShape> shapes{strided, ring, tall};
    EXPECT_EQ(expect_agreement(*device_, {"conv3d-sm100", DType::F16, DType::F16}, shapes), 3);
    EXPECT_EQ(expect_exactness(*device_, {"conv3d-sm100", DType::F16, DType::F16}, shapes), 3);
}

/// By a pass that doubles the frames, in the elements and taps that the halo kernel does not take.
TEST_F(Sm100Convolution, DoublesItsInputInEveryMethod) {
    ConvShape ring = with_residual(causal(32, 40, FrameLayout::Ring)), few = image(10, 12);
    ConvShape whole = image(32, 64, FrameLayout::Scattered);
    whole.problem.norm = Norm::Beside;
    for (ConvShape* shape : {&ring, &few, &whole}) {
        shape->problem.h = 3;
        shape->problem.w = 4;
        shape->problem.upsample = true;
    }
    EXPECT_EQ(agree("conv2d-sm100", {{whole}}), 1);
    EXPECT_EQ(agree("conv3d-sm100", {{ring}}), 1);
    EXPECT_EQ(agree("q-slice-sm100", {{ring}}), 1);
    EXPECT_EQ(agree("im2col-sm100", {{few}}), 1);
    for (const auto& [backend, shape] :
         {std::pair("conv2d-sm100", whole), {"conv3d-sm100", ring}, {"im2col-sm100", few}}) {
        ConvProblem eighth = shape.problem;
        eighth.input = eighth.weight = DType::F8E4M3;
        eighth.norm = Norm::None;
        eighth.channel_scales = true;
        eighth.weight.scale = 0.25F;
        const auto run = run_problem(*device_, eighth, {.backend = backend, .repeats = 1});
        ASSERT_TRUE(run) << run.error().message;
        EXPECT_LE(run->relative_l2, 2.5e-3) << eighth.to_string();
    }
}

TEST_F(Sm100Convolution, RunsTheKernelThatIsNamed) {
    ConvProblem silu = image(64, 64).problem;
    silu.activation = Activation::Silu;
    ConvProblem in_time = causal(64, 200).problem;
    in_time.filter.r = in_time.filter.s = 1;
    in_time.pad = {};
    const std::pair<std::string_view, ConvProblem> named[] = {
        {"conv2d-sm100:conv2d_silu_staged_1sm_128b_None", silu},
        {"conv2d-sm100:conv2d_channel_sums_1sm_128b_None", image(64, 64).problem},
        {"conv3d-sm100:conv2d_Window3d_2sm_128b_n192_cluster_22", in_time},
        {"conv3d-sm100:conv2d_Volume3d_2sm_64b_n64", causal(96, 64).problem},
        {"implicit-gemm-sm100:sm100_halo_bf16_n192_16x8_3_64_shared", causal(64, 64).problem},
        {"conv2d-sm100:conv2d_Frames2d_2sm_64b_n64", image(32, 64).problem},
        {"conv2d-sm100:conv2d_Frames2d_1sm_64b_n128_cluster_22", image(96, 200).problem},
        {"conv2d-sm100:conv2d_Frames2d_1sm_64b_n96@3", image(96, 200).problem},
        {"conv2d-sm100:conv2d_small_Frames2d_1sm_128b_n64@1", image(64, 200).problem},
        {"conv2d-sm100:conv2d_small_Frames2d_2sm_64b_n64_residual", with_residual(image(32, 72)).problem},
        {"conv3d-sm100:conv2d_small_Window3d_2sm_64b_n64@2", causal(32, 72).problem},
        {"conv3d-sm100:conv2d_small_Volume3d_2sm_64b_n64", causal(32, 64).problem},
        {"q-slice-sm100:conv2d_first_sum_2sm_64b", causal(32, 64).problem},
        {"q-slice-rounded-sm100:conv2d_Frames2d_2sm_64b_n192", causal(32, 64).problem},
        {"im2col-sm100:conv2d_first_sum_2sm_64b", causal(96, 3).problem},
    };
    for (const auto& [backend, problem] : named) {
        const auto run = run_problem(*device_, problem, {.backend = backend, .repeats = 1});
        ASSERT_TRUE(run) << run.error().message;
        EXPECT_LE(run->relative_l2, 5e-3) << backend;
        EXPECT_EQ(run->backend, backend.substr(0, backend.find(':')));
    }
}

/// Filters in the layouts that other programs use, in bf16's own numbers, by the interface and to the same bits.
TEST_F(Sm100Convolution, TakesFiltersInOtherLayouts) {
    for (const auto& [layout, problem] :
         {std::pair(FilterLayout::RSCF, image(32, 64).problem), std::pair(FilterLayout::QRSCF, causal(32, 64).problem),
          std::pair(FilterLayout::KQRSC, causal(32, 64).problem)}) {
        const std::string_view backend = problem.filter.q == 1 ? "conv2d-sm100" : "conv3d-sm100";
        const auto run = run_problem(*device_, problem, {.backend = backend, .repeats = 1, .filter_layout = layout});
        ASSERT_TRUE(run) << run.error().message;
        EXPECT_LE(run->relative_l2, 2.5e-3) << problem.to_string();
    }
}

TEST_F(Sm100Convolution, SumsItsChannelsInTheWorkspaceWhenTheKernelThatDoesIsNamed) {
    TestConvolution test(image(64, 64));
    for (std::size_t i = 0; i < test.filter.size(); ++i) test.filter[i] = static_cast<float>(i % 5) - 2;
    test.input.fill([](std::int64_t frame, std::int64_t i) { return static_cast<float>((frame + i) % 7) - 3; });
    const auto stream = device_->create_stream("test").value();
    const ConvProblem& p = test.shape.problem;
    const auto made = Convolution::create(*device_, p, {test.filter, test.bias},
                                          {.backend = "conv2d-sm100:conv2d_channel_sums_1sm_128b_None"})
                          .value();
    ASSERT_EQ(made->workspace_bytes(), 64 * sizeof(float));
    const auto frames = device_->allocate("frames", 4 * (p.input_frame_bytes() + p.output_frame_bytes())).value();
    const auto sums = device_->allocate("sums", made->workspace_bytes()).value();
    std::vector<const std::byte*> input;
    std::vector<std::byte*> output;
    std::vector<float> zeros(64), found(64), wanted(64);
    std::vector<std::uint16_t> ones(static_cast<std::size_t>(p.input_frame_bytes()) * 2, 0x3f80);
    ASSERT_TRUE(stream->upload(frames->data(), std::as_bytes(std::span(ones))));
    ASSERT_TRUE(stream->upload(sums->data(), std::as_bytes(std::span(zeros))));
    for (std::uint64_t i = 0; i < 4; ++i) {
        input.push_back(frames->data() + i * p.input_frame_bytes());
        output.push_back(frames->data() + 4 * p.input_frame_bytes() + i * p.output_frame_bytes());
    }
    ASSERT_TRUE(
        made->enqueue(*stream, "sums", {.input = input, .output = output, .residual = {}, .workspace = sums->data()}));
    std::vector<std::uint16_t> stored(static_cast<std::size_t>(p.output_frame_bytes()) * 2);
    ASSERT_TRUE(stream->read_back(std::as_writable_bytes(std::span(stored)), output.front()));
    ASSERT_TRUE(stream->read_back(std::as_writable_bytes(std::span(found)), sums->data()));
    for (std::size_t i = 0; i < stored.size(); ++i) wanted[i % 64] += tensor::from_bf16(stored[i]);
    for (std::size_t k = 0; k < 64; ++k) EXPECT_FLOAT_EQ(found[k], wanted[k]) << k;
}

TEST_F(Sm100Convolution, SaysWhichKernelsThereAreWhenTheOneThatIsNamedIsNone) {
    const ConvProblem p = causal(32, 64).problem;
    const auto refusal = [&](std::string_view backend) {
        return run_problem(*device_, p, {.backend = backend, .repeats = 1}).error();
    };
    EXPECT_EQ(refusal("conv3d-sm100:conv2d_Frames2d_1sm_64b_n96").code, ErrorCode::InvalidArgument);
    const std::string other = refusal("conv3d-sm100:nothing").message;
    EXPECT_NE(other.find("conv3d-sm100 has no kernel \"nothing\" for it; it has conv2d_"), std::string::npos) << other;
    EXPECT_NE(other.find("conv2d_Volume3d_2sm_64b_n64"), std::string::npos);
    const std::string slices = refusal("q-slice-sm100:conv2d_next_sum_1sm_64b").message;
    EXPECT_NE(slices.find("it has conv2d_first_sum_"), std::string::npos) << slices;
    for (const std::string_view walk : {"@", "@0", "@N", "@-1", "@2x", "@99999999999"})
        EXPECT_EQ(refusal(fmt::format("conv3d-sm100:conv2d_small_Window3d_2sm_64b_n64{}", walk)).code,
                  ErrorCode::InvalidArgument)
            << walk;
    // One row of tiles has one order.
    EXPECT_EQ(refusal("conv3d-sm100:conv2d_Window3d_2sm_64b_n64@2").code, ErrorCode::InvalidArgument);
}

/// Dispatch and names together reach all that is built: what is asked for by no name is a step that a named kernel
/// brings along.
TEST(Sm100Entries, CanAllBeAskedForByName) {
    Chip chip = chip_of(describe_known_device("sm_100").value());
    std::set<std::string_view> named;
    const auto add = [&](const std::vector<std::string_view>& names) { named.insert(names.begin(), names.end()); };
    for (const DType dtype : {DType::BF16, DType::F16, DType::F8E4M3})
        for (const Activation activation : {Activation::None, Activation::Silu})
            for (const bool residual : {false, true}) {
                ConvProblem p = image(128, 1024).problem;
                p.input = p.weight = dtype;
                p.output = p.normed = dtype == DType::F8E4M3 ? DType::BF16 : dtype;
                p.activation = activation;
                p.residual = residual;
                ConvProblem volume = p;
                volume.filter.q = 3;
                add(sm100::conv2d_kernels(p, chip));
                add(sm100::conv3d_kernels(volume, chip));
                if (dtype == DType::BF16) {
                    add(sm100::q_slice_kernels(volume, chip));
                    add(sm100::rounded_q_slice_kernels(volume, chip));
                }
                add(sm100::im2col_kernels(p, chip));
            }
    for (const DType input : {DType::F8E4M3, DType::F8E5M2})
        for (const bool residual : {false, true}) {
            ConvProblem p = image(128, 1024).problem;
            p.input = input;
            p.residual = residual;
            for (const DType filter : {DType::F8E4M3, DType::F8E5M2}) {
                p.weight = filter;
                add(sm100::conv2d_kernels(p, chip));
                ConvProblem volume = p;
                volume.filter.q = 3;
                add(sm100::conv3d_kernels(volume, chip));
            }
        }
    for (const sm100::Conv2dEntry& entry : sm100::kConv2dEntries) {
        const std::string_view name = entry.name;
        const bool follows = name.starts_with("conv2d_next_sum") || name.starts_with("conv2d_last_sum");
        EXPECT_EQ(named.contains(name), !follows) << name;
        const bool walked = !follows && name.find("_sum_") == std::string_view::npos;
        EXPECT_EQ(named.contains(entry.walked), walked) << entry.walked;
    }
}

TEST_F(Sm100Convolution, VolumesAgreeInOneLaunchWhereverTheirFramesLie) {
    ConvShape padded = causal(32, 64);
    padded.problem.pad.front = 2;
    ConvShape normed = causal(32, 72, FrameLayout::Ring);
    normed.problem.norm = Norm::Instead;
    const std::vector<ConvShape> shapes{causal(32, 64),
                                        with_residual(causal(96, 72)),
                                        with_residual(causal(32, 64, FrameLayout::Ring)),
                                        causal(32, 8, FrameLayout::Scattered),
                                        padded,
                                        normed};
    EXPECT_EQ(agree("conv3d-sm100", shapes), 6);
    EXPECT_EQ(agree_exactly("conv3d-sm100", std::span(shapes).first(5)), 5);
    for (const ConvShape& shape : std::span(shapes).first(5)) {
        const std::uint64_t before = kernels_run();
        const auto stream = device_->create_stream("test").value();
        ASSERT_TRUE(TestConvolution(shape).run(*device_, *stream, "conv3d-sm100"));
        EXPECT_EQ(kernels_run(), before + one_kernel()) << shape.problem.to_string();
    }
}

TEST_F(Sm100Convolution, AnActivationGoesBetweenTheSumAndTheResidualInOneLaunch) {
    ConvShape normed = with_residual(causal(32, 72, FrameLayout::Ring));
    normed.problem.norm = Norm::Beside;
    const std::vector<ConvShape> images{image(32, 64), with_residual(image(96, 72, FrameLayout::Ring))};
    const std::vector<ConvShape> volumes{causal(32, 64), with_residual(causal(96, 136)), normed,
                                         causal(32, 8, FrameLayout::Scattered)};
    const auto with_silu = [](std::vector<ConvShape> shapes) {
        for (ConvShape& shape : shapes) shape.problem.activation = Activation::Silu;
        return shapes;
    };
    EXPECT_EQ(agree("conv2d-sm100", with_silu(images)), 2);
    EXPECT_EQ(agree("conv3d-sm100", with_silu(volumes)), 4);
    for (const ConvShape& shape : with_silu({volumes[0], volumes[3]})) {
        const std::uint64_t before = kernels_run();
        const auto stream = device_->create_stream("test").value();
        ASSERT_TRUE(TestConvolution(shape).run(*device_, *stream, "conv3d-sm100"));
        EXPECT_EQ(kernels_run(), before + one_kernel()) << shape.problem.to_string();
    }
}

TEST_F(Sm100Convolution, FusedQSlicesAgreeAndAreExact) {
    ConvShape two = causal(32, 40, FrameLayout::Scattered);
    two.problem.n = 2;
    two.problem.d = 3;
    two.problem.filter.q = 2;
    two.output = FrameLayout::EveryOther;
    ConvShape finished = with_residual(causal(32, 64));
    finished.problem.activation = Activation::Silu;
    finished.problem.norm = Norm::Beside;
    ConvShape silu = causal(32, 64);
    silu.problem.activation = Activation::Silu;
    const std::vector<ConvShape> shapes{causal(32, 96), with_residual(causal(96, 64, FrameLayout::Ring)), two, finished,
                                        silu};
    EXPECT_EQ(agree("q-slice-sm100", shapes), 5);
    EXPECT_EQ(agree_exactly("q-slice-sm100", std::span(shapes).first(3)), 3);
}

/// u = 2^-8 for each slice and for the whole, against a sum of slices of which none is larger than the whole's norm:
/// (1 + sqrt(q)) times one rounding is generous.
TEST_F(Sm100Convolution, RoundedQSlicesAgreeWithinTheirRoundings) {
    const auto cpu = accel::cpu::create_device();
    const auto host = cpu->create_stream("reference").value();
    for (ConvShape shape : {causal(32, 64), with_residual(causal(96, 72, FrameLayout::Ring))}) {
        shape.problem.activation = shape.problem.residual ? Activation::Silu : Activation::None;
        TestConvolution test(shape);
        for (std::size_t i = 0; i < test.filter.size(); ++i)
            test.filter[i] = (static_cast<float>(i * 7919 % 255) - 127) / 1024;
        test.input.fill([](std::int64_t frame, std::int64_t i) {
            return (static_cast<float>((frame * 131 + i * 37) % 251) - 125) / 128;
        });
        test.residual.fill([](auto, std::int64_t i) { return static_cast<float>(i % 17) / 16; });
        const auto stream = device_->create_stream("test").value();
        const auto output = test.run(*device_, *stream, "q-slice-rounded-sm100");
        ASSERT_TRUE(output) << output.error().message;
        const Difference d = difference(output->values, test.reference(*cpu, *host));
        EXPECT_LE(d.relative_l2, 2.75 * 1.66e-3);
        EXPECT_GE(d.relative_l2, 1e-4);
        EXPECT_TRUE(output->gaps_untouched);
    }
}

TEST_F(Sm100Convolution, TheMatrixOfTapsAgreesForWhatGatesDecline) {
    ConvShape head = causal(96, 3), groups = causal(12, 24, FrameLayout::Ring), strided = causal(10, 20);
    groups.problem.groups = 4;
    groups.problem.pad.front = 2;
    groups.output = FrameLayout::EveryOther;
    strided.problem.d = 5;
    strided.problem.stride = {2, 1, 2};
    strided.problem.dilation = {1, 2, 1};
    strided.problem.norm = Norm::Instead;
    const std::vector<ConvShape> shapes{head, with_residual(groups), strided};
    EXPECT_EQ(agree("im2col-sm100", shapes), 3);
    EXPECT_EQ(agree_exactly("im2col-sm100", shapes), 3);
    EXPECT_EQ(expect_agreement(*device_, {"im2col-sm100", DType::BF16, DType::F32}, std::span(shapes).first(2)), 2);
}

TEST_F(Sm100Convolution, TheMatrixOfTapsAgreesInTheNarrowerFormatsToo) {
    ConvShape head = causal(96, 3), groups = with_residual(causal(12, 24, FrameLayout::Ring)), silu = causal(20, 24);
    groups.problem.groups = 4;
    groups.problem.norm = Norm::Beside;
    silu.problem.activation = Activation::Silu;
    const std::vector<ConvShape> shapes{head, groups, silu};
    EXPECT_EQ(expect_agreement(*device_, {"im2col-sm100", DType::F16, DType::F16}, shapes), 3);
    EXPECT_EQ(expect_agreement(*device_, {"im2col-sm100", DType::F16, DType::F32}, std::span(shapes).first(1)), 1);
    for (const ConvShape& shape : shapes)
        for (const DType output : {DType::BF16, DType::F32}) {
            ConvProblem eighth = shape.problem;
            eighth.input = eighth.weight = DType::F8E4M3;
            eighth.output = eighth.normed = output;
            eighth.norm = Norm::None;
            if (output == DType::F32) eighth.activation = Activation::None;
            const auto run = run_problem(*device_, eighth, {.backend = "im2col-sm100", .repeats = 1});
            ASSERT_TRUE(run) << run.error().message;
            EXPECT_LE(run->relative_l2, output == DType::F32 ? 1e-5 : 2.5e-3) << eighth.to_string();
        }
}

TEST_F(Sm100Convolution, LeavesAResidualInPlaceWhenItIsTheOutput) {
    const auto stream = device_->create_stream("test").value();
    for (const std::string_view backend :
         {"conv2d-sm100", "conv3d-sm100", "q-slice-sm100", "q-slice-rounded-sm100", "im2col-sm100"}) {
        TestConvolution test(with_residual(backend == "conv2d-sm100" ? image(32, 64) : causal(32, 64)));
        for (std::size_t i = 0; i < test.filter.size(); ++i) test.filter[i] = static_cast<float>(i % 13) - 6;
        test.input.fill(
            [](std::int64_t frame, std::int64_t i) { return static_cast<float>((7 * frame + i) % 11) - 5; });
        test.residual.fill([](std::int64_t frame, std::int64_t i) { return static_cast<float>((frame + i) % 17); });
        const auto apart = test.run(*device_, *stream, backend).value();
        test.shape.in_place = true;
        const auto in_place = test.run(*device_, *stream, backend);
        ASSERT_TRUE(in_place) << in_place.error().message;
        EXPECT_EQ(in_place->values, apart.values) << backend;
    }
}

TEST_F(Sm100Convolution, OverAnotherNumberOfFramesSharesThePackedFilterAndAgrees) {
    const auto stream = device_->create_stream("test").value();
    for (const std::string_view backend : {"conv2d-sm100", "conv3d-sm100", "q-slice-sm100", "im2col-sm100"}) {
        ConvShape shape = backend == "conv2d-sm100" ? image(32, 64) : causal(32, 64);
        shape.problem.d = 3;
        TestConvolution test(shape);
        for (std::size_t i = 0; i < test.filter.size(); ++i) test.filter[i] = static_cast<float>(i % 13) - 6;
        test.input.fill(
            [](std::int64_t frame, std::int64_t i) { return static_cast<float>((7 * frame + i) % 11) - 5; });
        ConvProblem longer = shape.problem;
        longer.d = 5;
        Weights weights(HostParameters{test.filter, test.bias, {}, {}});
        auto made = Convolution::create(*device_, longer, weights, {.backend = backend});
        ASSERT_TRUE(made) << made.error().message;
        const auto before = device_->bytes_allocated();
        const auto other = Convolution::create(*device_, shape.problem, weights, {.backend = backend}).value();
        EXPECT_EQ(device_->bytes_allocated(), before);
        EXPECT_EQ(other->problem(), shape.problem);
        made->reset();
        EXPECT_EQ(test.run(*device_, *stream, *other).value().values,
                  test.run(*device_, *stream, backend).value().values)
            << backend;
    }
}

/// Frames that no window holds go to another method, on the same packed filter.
TEST_F(Sm100Convolution, OverMoreFramesThanAWindowHoldsSharesThePackedFilterToo) {
    ConvProblem p = causal(32, 64).problem;
    Weights weights(HostParameters{
        std::vector<float>(static_cast<std::size_t>(p.filter_elements())), std::vector<float>(64), {}, {}});
    p.d = 8;
    const auto window = Convolution::create(*device_, p, weights, {.backend = "conv3d-sm100"});
    EXPECT_TRUE(window);
    p.d = 9;
    EXPECT_FALSE(Convolution::create(*device_, p, weights, {.backend = "conv3d-sm100"}));
    EXPECT_TRUE(Convolution::create(*device_, p, weights, {.backend = "q-slice-sm100"}));
    EXPECT_EQ(weights.packings(), 1);
}

TEST_F(Sm100Convolution, IsWhatAB200IsGivenFirst) {
    const auto first_open = [&](ConvProblem problem) {
        problem.h = 352;
        problem.w = 640;
        return explain(device_->info(), problem).front().candidate;
    };
    EXPECT_EQ(first_open(image(96, 96).problem), "implicit-gemm-sm100");
    EXPECT_EQ(first_open(causal(96, 3).problem), "implicit-gemm-sm100");
    ConvProblem flat = image(384, 1152).problem;  // no taps to share a halo
    flat.filter.r = flat.filter.s = 1;
    flat.pad = {};
    EXPECT_EQ(first_open(flat), "conv2d-sm100");
    ConvProblem strided = causal(96, 96).problem;
    strided.stride.h = 2;
    EXPECT_EQ(first_open(strided), "conv3d-sm100");
    strided.stride.h = 1;
    strided.filter.s = 1;
    strided.pad.left = strided.pad.right = 0;
    strided.d = 9;
    EXPECT_EQ(first_open(strided), "q-slice-sm100");
    ConvProblem groups = causal(96, 96).problem;
    groups.groups = 2;
    EXPECT_EQ(first_open(groups), "im2col-sm100");
}

TEST_F(Sm100Convolution, RefusesAFrameThatNoTensorMapCanDescribe) {
    const TestConvolution test(causal(32, 64));
    const ConvProblem& p = test.shape.problem;
    const auto stream = device_->create_stream("test").value();
    const auto made = Convolution::create(*device_, p, {test.filter, test.bias}, {.backend = "conv3d-sm100"}).value();
    const auto memory = device_->allocate("frames", 8 * p.output_frame_bytes() + 16).value();
    std::vector<const std::byte*> input;
    std::vector<std::byte*> output;
    for (std::uint64_t i = 0; i < 4; ++i) input.push_back(memory->data() + 8 + i * p.input_frame_bytes());
    for (std::uint64_t i = 0; i < 2; ++i) output.push_back(memory->data() + (4 + i) * p.output_frame_bytes());
    const auto enqueued = made->enqueue(*stream, "up2.conv1", {.input = input, .output = output, .residual = {}});
    ASSERT_FALSE(enqueued);
    EXPECT_EQ(enqueued.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(enqueued.error().message, "tensor map of \"up2.conv1\": the tensor's address is not 16-byte aligned");
}

TEST(Sm100Filters, ArePackedChannelsFastestAndRoundedOnce) {
    ConvProblem p = causal(32, 8).problem;
    p.filter = {2, 2, 1, 3};
    std::vector<float> filter(static_cast<std::size_t>(p.filter_elements()));
    for (std::size_t i = 0; i < filter.size(); ++i) filter[i] = static_cast<float>(i) + 0.25F;
    const auto packed = sm100::pack_filter(p, filter);
    ASSERT_EQ(packed.size(), filter.size() * 2);
    for (std::size_t k = 0; k < 2; ++k)
        for (std::size_t c = 0; c < 32; ++c)
            for (std::size_t tap = 0; tap < 6; ++tap) {
                std::uint16_t bits = 0;
                std::memcpy(&bits, packed.data() + ((k * 6 + tap) * 32 + c) * 2, 2);
                ASSERT_EQ(bits, tensor::to_bf16(filter[(k * 32 + c) * 6 + tap])) << k << ' ' << c << ' ' << tap;
            }
    p.input = p.weight = DType::F8E4M3;
    EXPECT_EQ(sm100::pack_filter(p, filter).size(), filter.size());
}

/// GPCs of which six leave two SMs idle in clusters of four: 34 clusters of them are resident, not 37.
class Sm100OddGpcs : public Sm100Convolution {
  protected:
    standin::Options pose() const override {
        return {.name = "Stand-in B200", .architecture = "sm_100", .gpcs = {20, 18, 18, 18, 20, 18, 18, 18}};
    }
};

TEST_F(Sm100OddGpcs, GetNoMoreClustersThanRunAtOnce) {
    if (on_gpu()) GTEST_SKIP() << "a GPU has the GPCs that it has";
    ConvProblem p = causal(384, 384).problem;  // of which pairs of pairs compute each tile
    p.h = 176;
    p.w = 320;
    for (const std::uint32_t resident : {34U, 0U}) {
        accel::DeviceInfo info = device_->info();
        if (resident == 0) info.resident_clusters = {};
        const auto row = explain_named(chip_of(info), p, "implicit-gemm-sm100:sm100_halo_bf16_n384_16x8_3_64");
        ASSERT_TRUE(row && row->open);
        const std::uint32_t wanted = resident != 0 ? resident : 37;
        EXPECT_EQ(row->plan->cluster, 4U);
        EXPECT_EQ(row->plan->clusters_at_once, wanted);
        EXPECT_NE(to_string(std::span(&*row, 1)).find(fmt::format("{} clusters of 4 CTAs at once", wanted)),
                  std::string::npos);
        std::vector<std::byte*> frames(static_cast<std::size_t>(p.frames_in()), nullptr);
        const std::vector<const std::byte*> input(frames.begin(), frames.end());
        const auto steps = row->plan->steps({.input = input, .output = std::span(frames).first(2), .residual = {}}, {},
                                            [](const isa::TensorMapDesc&) { return isa::TensorMap{}; });
        EXPECT_EQ(std::get<ConvLaunch>(steps.front()).grid[0], 4 * wanted);
    }
}

/// The numbers that plans count on are asked for a kernel that fills an SM. Every clustered kernel's own answer is the
/// same, on a GPU too.
TEST_F(Sm100OddGpcs, AreTheSameForEveryClusteredKernel) {
    const Kernels kernels(*device_);
    const auto context = accel::gpu::context_of<accel::cuda::Context>(*device_);
    const accel::cuda::CurrentUncaptured current(*context);
    int asked = 0;
    const auto expect_same = [&](const KernelName& name, sm100::ClusterShape cluster, std::uint32_t shared) {
        const auto kernel = kernels.get(name.image, name.kernel);
        if (cluster.size() == 1 || !kernel) return;  // the stand-in has some of them
        accel::cuda::LaunchAttribute attribute{};
        attribute.id = accel::cuda::LaunchAttributeId::ClusterDimension;
        attribute.cluster = {cluster.x, cluster.y, 1};
        const accel::cuda::LaunchConfig config{cluster.x, cluster.y, 1,       sm100::kThreads, 1,
                                               1,         shared,    nullptr, &attribute,      1};
        const auto& function = dynamic_cast<const accel::gpu::GpuKernel&>(**kernel);
        int clusters = 0;
        ASSERT_EQ(context->cuda().cuOccupancyMaxActiveClusters(&clusters, function.function(), &config),
                  accel::cuda::Status::Success)
            << name.kernel;
        EXPECT_EQ(static_cast<std::uint32_t>(clusters),
                  chip_of(device_->info()).clusters.at_once(cluster.size(), device_->info().compute_units))
            << name.kernel;
        ++asked;
    };
    for (const sm100::NamedHaloConfig& tile : sm100::halo_configs())
        expect_same(
            {std::string(tile.kernel), tile.config.element == Element::BF16 ? "halo_conv_bf16" : "halo_conv_f16"},
            {tile.config.cluster, 1}, sm100::shared_bytes(tile.config));
    for (const sm100::Conv2dEntry& entry : sm100::kConv2dEntries)
        expect_same(sm100::kernel_name(entry), entry.config.cluster, sm100::shared_bytes(entry.config));
    EXPECT_GE(asked, 30);
}

TEST_F(Sm100OddGpcs, GetATileOfPairsWhereThoseOfFourWouldTakeAnotherRound) {
    if (on_gpu()) GTEST_SKIP() << "a GPU has the GPCs that it has";
    ConvProblem p = causal(192, 192).problem;
    p.h = 16 * 37;  // a round of 37 clusters of four tiles; 34 of them take two
    p.w = 32;
    p.d = 3;
    const auto kernel = [&](const accel::DeviceInfo& info) {
        return explain_named(chip_of(info), p, "implicit-gemm-sm100")->plan->kernels.front().kernel;
    };
    accel::DeviceInfo even = device_->info();
    even.resident_clusters = {};
    EXPECT_EQ(kernel(even), "sm100_halo_bf16_n192_16x8_3_64_shared");
    EXPECT_EQ(kernel(device_->info()), "sm100_halo_bf16_n192_16x8_3_64");
}

/// The launches of sums are planned with configs that follow from the image kernel's, and run kernels that are built
/// from configs of their own: both have to say the same.
TEST(Sm100Sums, ArePlannedAsTheirKernelsAreBuilt) {
    for (const std::int64_t channels : {32, 64, 96, 384})
        for (const std::int64_t pixels : {35, 10'000, 900'000}) {
            const sm100::SumEntries entries =
                sm100::choose_sums(sm100::matrix_product(pixels, channels, channels, DType::BF16), {});
            const sm100::QsliceConfigs planned = sm100::qslice_configs(entries.image->config);
            const auto expect_same = [](const sm100::Conv2dConfig& a, const sm100::Conv2dConfig& b) {
                EXPECT_EQ(a.stages, b.stages);
                EXPECT_EQ(a.cta_group, b.cta_group);
                EXPECT_EQ(a.block.n, b.block.n);
                EXPECT_EQ(a.block.k, b.block.k);
                EXPECT_EQ(a.output, b.output);
                EXPECT_EQ(a.source, b.source);
                if (a.source != sm100::Source::None) {
                    EXPECT_EQ(a.source_value, b.source_value);
                }
                EXPECT_EQ(a.swizzle_a, b.swizzle_a);
                EXPECT_EQ(a.swizzle_c, b.swizzle_c);
                EXPECT_EQ(sm100::shared_bytes(a), sm100::shared_bytes(b));
            };
            expect_same(planned.first_sum, entries.first_sum->config);
            expect_same(planned.next_sum, entries.next_sum->config);
            expect_same(planned.last_sum, entries.last_sum->config);
        }
}

TEST(Sm100Entries, OfProductsAreWhatAPlanMakesOfThem) {
    for (const std::string_view sums : {"first", "fp16", "e4m3"})
        for (const std::string_view form : {"1sm_128b", "1sm_64b", "2sm_128b", "2sm_64b"}) {
            const auto* const entry = sm100::find_entry(fmt::format("conv2d_{}_sum_{}", sums, form));
            ASSERT_NE(entry, nullptr) << sums << form;
            const sm100::Conv2dConfig planned = sm100::im2col_config(entry->config);
            EXPECT_EQ(planned.output, entry->config.output);
            EXPECT_EQ(planned.swizzle_c, entry->config.swizzle_c);
            EXPECT_EQ(planned.stages, entry->config.stages);
            EXPECT_EQ(sm100::shared_bytes(planned), sm100::shared_bytes(entry->config));
        }
}

TEST(Sm100Entries, LieInTheFatBinaryOfTheirSource) {
    EXPECT_EQ(sm100::kernel_name(*sm100::find_entry("conv2d_Frames2d_1sm_128b_n64")).image, "conv2d_frames");
    EXPECT_EQ(sm100::kernel_name(*sm100::find_entry("conv2d_Volume3d_2sm_64b_n96_residual")).image, "conv2d_volumes");
    EXPECT_EQ(sm100::kernel_name(*sm100::find_entry("conv2d_Window3d_2sm_128b_n256")).image, "conv2d_windows");
    EXPECT_EQ(sm100::kernel_name(*sm100::find_entry("conv2d_silu_Volume3d_1sm_128b_residual")).image, "conv2d_silu");
    EXPECT_EQ(sm100::kernel_name(*sm100::find_entry("conv2d_small_Window3d_2sm_64b_n64")).image, "conv2d_small");
    EXPECT_EQ(sm100::kernel_name(*sm100::find_entry("conv2d_fp16_Volume3d_2sm_128b")).image, "conv2d_halves");
    EXPECT_EQ(sm100::kernel_name(*sm100::find_entry("conv2d_e4m3_e5m2_Frames2d_1sm_64b")).image, "conv2d_mixed");
    EXPECT_EQ(sm100::kernel_name(*sm100::find_entry("conv2d_Window3d_2sm_a32b_b128b")).image, "conv2d_swizzles");
    EXPECT_EQ(sm100::kernel_name(*sm100::find_entry("conv2d_next_sum_1sm_64b")).image, "conv2d_variants");
    EXPECT_EQ(sm100::find_entry("conv2d_of_nobody"), nullptr);
}

}  // namespace
}  // namespace kinetograph::conv
