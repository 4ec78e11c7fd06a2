#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace kinetograph::conv {
namespace {

using tensor::DType;

accel::DeviceInfo capable_cpu() {
    accel::DeviceInfo info;
    info.kind = accel::Kind::Cpu;
    info.features = "avx2 avx512f avx512_bf16";
    return info;
}

accel::DeviceInfo gfx950() {
    accel::DeviceInfo info;
    info.kind = accel::Kind::Hip;
    info.architecture = "gfx950";
    return info;
}

accel::DeviceInfo h200() {
    accel::DeviceInfo info;
    info.kind = accel::Kind::Cuda;
    info.architecture = "sm_90";
    return info;
}

constexpr std::array kForCuda =
    std::to_array<std::string_view>({"implicit-gemm", "q-slice", "q-slice-rounded", "im2col-cuda"});

bool is_for_cuda(std::string_view candidate) { return std::ranges::find(kForCuda, candidate) != kForCuda.end(); }
bool is_for_gfx950(std::string_view candidate) { return candidate == "four-wave" || candidate == "im2col"; }

/// The kind of device that a candidate is for.
accel::Kind kind_of(std::string_view candidate) {
    if (is_for_cuda(candidate)) return accel::Kind::Cuda;
    return is_for_gfx950(candidate) ? accel::Kind::Hip : accel::Kind::Cpu;
}

/// A device to which every candidate for its kind is open.
accel::DeviceInfo capable(accel::Kind kind) {
    if (kind == accel::Kind::Cuda) return h200();
    return kind == accel::Kind::Hip ? gfx950() : capable_cpu();
}

/// Open to every candidate of a capable device.
ConvProblem easy_problem() {
    ConvProblem p;
    p.d = 3;
    p.h = p.w = 8;
    p.c_in = 32;
    p.filter = {32, 3, 3, 3};
    return p;
}

DispatchRow row_of(std::string_view candidate, const accel::DeviceInfo& device, const ConvProblem& problem) {
    const auto rows = explain(device, problem);
    const auto found = std::ranges::find(rows, candidate, &DispatchRow::candidate);
    EXPECT_NE(found, rows.end()) << candidate;
    return found == rows.end() ? DispatchRow{} : *found;
}

/// A problem and a device that one gate alone declines, and the sentence it gives.
struct Decline {
    std::string_view candidate, sentence;
    void (*spoil)(ConvProblem&, accel::DeviceInfo&);
};

void upsample(ConvProblem& p, accel::DeviceInfo&) { p.upsample = true; }

const Decline kDeclines[] = {
    {"implicit-gemm", "wants a CUDA device since sm_80, met sm_75",
     [](ConvProblem&, accel::DeviceInfo& d) { d.architecture = "sm_75"; }},
    {"implicit-gemm", "wants bf16 or fp16, met F8_E4M3",
     [](ConvProblem& p, accel::DeviceInfo&) { p.dtype = DType::F8E4M3; }},
    {"implicit-gemm", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"implicit-gemm", "wants what one launch of the kernel holds, met 65 temporal taps; a launch has room for 64",
     [](ConvProblem& p, accel::DeviceInfo&) { p.d = p.filter.q = 65; }},
    {"four-wave", "wants a gfx950 device, met gfx942",
     [](ConvProblem&, accel::DeviceInfo& d) { d.architecture = "gfx942"; }},
    {"four-wave", "wants bf16, fp16 or fp8, met F32",
     [](ConvProblem& p, accel::DeviceInfo&) { p.dtype = p.output_dtype = DType::F32; }},
    {"four-wave", "wants what one launch of the kernel holds, met 65 temporal taps: a launch names at most 64 frames",
     [](ConvProblem& p, accel::DeviceInfo&) { p.d = p.filter.q = 65; }},
    {"q-slice", "wants a CUDA device since sm_80, met hip",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = accel::Kind::Hip; }},
    {"q-slice", "wants an input as it lies in memory, met one to upsample", upsample},
    {"q-slice", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"q-slice", "wants bf16, met F16",
     [](ConvProblem& p, accel::DeviceInfo&) { p.dtype = p.output_dtype = DType::F16; }},
    {"q-slice", "wants stride 1, met 1,2,1", [](ConvProblem& p, accel::DeviceInfo&) { p.stride.h = 2; }},
    {"q-slice", "wants dilation 1, met 1,1,2", [](ConvProblem& p, accel::DeviceInfo&) { p.dilation.w = 2; }},
    {"q-slice", "wants more than one temporal tap, met 1", [](ConvProblem& p, accel::DeviceInfo&) { p.filter.q = 1; }},
    {"q-slice", "wants more than one tap in a frame, met 1x1",
     [](ConvProblem& p, accel::DeviceInfo&) { p.filter.r = p.filter.s = 1; }},
    {"q-slice", "wants no temporal padding, met 2 in front and 0 behind",
     [](ConvProblem& p, accel::DeviceInfo&) { p.pad.front = 2; }},
    {"q-slice", "wants input channels a multiple of 32, met 48",
     [](ConvProblem& p, accel::DeviceInfo&) { p.c_in = 48; }},
    {"q-slice", "wants output channels a multiple of 8, met 3",
     [](ConvProblem& p, accel::DeviceInfo&) { p.filter.k = 3; }},
    {"im2col-cuda", "wants a CUDA device since sm_80, met sm_75",
     [](ConvProblem&, accel::DeviceInfo& d) { d.architecture = "sm_75"; }},
    {"im2col-cuda", "wants bf16 or fp16, met F32",
     [](ConvProblem& p, accel::DeviceInfo&) { p.dtype = p.output_dtype = DType::F32; }},
    {"im2col", "wants an input as it lies in memory, met one to upsample", upsample},
    {"im2col", "wants a gfx950 device, met cuda",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = accel::Kind::Cuda; }},
    {"im2col", "wants bf16 or fp16, met F8_E4M3", [](ConvProblem& p, accel::DeviceInfo&) { p.dtype = DType::F8E4M3; }},
    {"im2col", "wants no norm, met one", [](ConvProblem& p, accel::DeviceInfo&) { p.norm = Norm::Beside; }},
    {"direct", "wants an input as it lies in memory, met one to upsample", upsample},
    {"direct", "wants a CPU device, met cuda", [](ConvProblem&, accel::DeviceInfo& d) { d.kind = accel::Kind::Cuda; }},
    {"direct", "wants fp32 or bf16, met F16",
     [](ConvProblem& p, accel::DeviceInfo&) { p.dtype = p.output_dtype = DType::F16; }},
    {"direct", "wants AVX-512, met avx2",
     [](ConvProblem& p, accel::DeviceInfo& d) {
         p.dtype = p.output_dtype = DType::F32;
         d.features = "avx2";
     }},
    {"direct", "wants AVX512_BF16 for bf16, met avx2 avx512f",
     [](ConvProblem&, accel::DeviceInfo& d) { d.features = "avx2 avx512f"; }},
    {"direct", "wants an even number of input channels in a group for bf16, met 3",
     [](ConvProblem& p, accel::DeviceInfo&) { p.c_in = 3; }},
    {"direct", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"onednn", "wants an input as it lies in memory, met one to upsample", upsample},
    {"onednn", "wants a CPU device, met hip", [](ConvProblem&, accel::DeviceInfo& d) { d.kind = accel::Kind::Hip; }},
    {"onednn", "wants fp32 or bf16, met F8_E4M3", [](ConvProblem& p, accel::DeviceInfo&) { p.dtype = DType::F8E4M3; }},
    {"onednn", "wants every output frame to meet an input frame, met 1 frames, 1 taps, pad 1 in front and 0 behind",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.d = p.filter.q = 1;
         p.pad.front = 1;
     }},
    {"onednn", "wants a filter no larger than the image, met 3x5 on 8x4",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.w = 4;
         p.filter.s = 5;
         p.pad.left = 2;
     }},
    {"onednn", "wants AVX-512 for bf16, met none", [](ConvProblem&, accel::DeviceInfo& d) { d.features = ""; }},
    {"onednn", "wants an even number of input channels in a group for bf16, met 17",
     [](ConvProblem& p, accel::DeviceInfo&) { p.c_in = 17; }},
    {"onednn-f32", "wants an input as it lies in memory, met one to upsample", upsample},
    {"onednn-f32", "wants a CPU device, met hip",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = accel::Kind::Hip; }},
    {"onednn-f32", "wants every output frame to meet an input frame, met 1 frames, 1 taps, pad 1 in front and 0 behind",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.d = p.filter.q = 1;
         p.pad.front = 1;
     }},
    {"onednn-f32", "wants a filter no larger than the image, met 5x3 on 4x8",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.h = 4;
         p.filter.r = 3;
         p.dilation.h = 2;
         p.pad.top = 2;
     }},
    {"onednn-f32", "wants bf16 activations, met F32",
     [](ConvProblem& p, accel::DeviceInfo&) { p.dtype = p.output_dtype = DType::F32; }},
    {"reference", "wants a CPU device, met cuda",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = accel::Kind::Cuda; }},
    {"reference", "wants fp32 or bf16 frames to norm, met F16",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.dtype = p.output_dtype = DType::F16;
         p.norm = Norm::Beside;
     }},
};

TEST(ConvDispatch, OpensEveryCandidateOfADeviceToAnEasyProblem) {
    for (const accel::Kind kind : {accel::Kind::Cpu, accel::Kind::Cuda, accel::Kind::Hip}) {
        for (const DispatchRow& row : explain(capable(kind), easy_problem())) {
            if (row.candidate.ends_with("-sm100")) continue;  // dispatch_sm100_test.cpp
            EXPECT_EQ(row.open, kind_of(row.candidate) == kind) << row.candidate << ": " << row.reason;
        }
    }
}

TEST(ConvDispatch, EveryGateAloneClosesItsCandidateAndSaysWhatItMet) {
    for (const Decline& decline : kDeclines) {
        ConvProblem problem = easy_problem();
        accel::DeviceInfo device = capable(kind_of(decline.candidate));
        decline.spoil(problem, device);
        ASSERT_TRUE(validate(problem)) << decline.sentence;
        const DispatchRow row = row_of(decline.candidate, device, problem);
        EXPECT_FALSE(row.open) << decline.candidate << ": " << decline.sentence;
        EXPECT_EQ(row.reason, decline.sentence) << decline.candidate;
    }
}

TEST(ConvDispatch, EveryGateIsInTheListOfDeclines) {
    std::set<const Gate<DispatchSubject>*> lists;  // forms of one back end share theirs
    std::size_t gates = 0;
    for (const Candidate& candidate : candidates()) {
        if (candidate.name.ends_with("-sm100")) continue;  // dispatch_sm100_test.cpp
        if (lists.insert(candidate.gates.data()).second) gates += candidate.gates.size();
    }
    EXPECT_EQ(gates, std::size(kDeclines));
}

TEST(ConvDispatch, NamesAllClosedGatesOfACandidateAtOnce) {
    ConvProblem problem = easy_problem();
    problem.groups = 2;
    accel::DeviceInfo device = capable_cpu();
    device.features = "avx2";
    EXPECT_EQ(row_of("direct", device, problem).reason,
              "wants AVX-512, met avx2; wants AVX512_BF16 for bf16, met avx2; wants groups 1, met 2");
}

TEST(ConvDispatch, PrintsOneLineACandidate) {
    const DispatchRow rows[] = {{"direct", false, "wants groups 1, met 2"}, {"reference", true, ""}};
    EXPECT_EQ(to_string(rows),
              "  direct     closed: wants groups 1, met 2\n"
              "  reference  open\n");
}

TEST(ConvDispatch, TriesOneLaunchThenSlicesThenTheMatrixOfTaps) {
    ConvProblem problem = easy_problem();
    const auto first_open = [&] {
        for (const DispatchRow& row : explain(h200(), problem))
            if (row.open) return row.candidate;
        return std::string_view();
    };
    EXPECT_EQ(first_open(), "implicit-gemm");
    problem.filter.q = problem.d = 65;  // more temporal taps than one launch names frames
    EXPECT_EQ(first_open(), "q-slice");
    problem.groups = 4;
    EXPECT_EQ(first_open(), "im2col-cuda");
}

TEST(ConvDispatch, TakesTheFirstOpenCandidate) {
    const auto device = accel::cpu::create_device();
    ConvProblem problem = easy_problem();
    problem.groups = 2;  // closed to the direct back end on every machine
    problem.dtype = problem.output_dtype = DType::F32;
    const std::vector<float> filter(problem.filter_elements()), bias(problem.filter.k);
    const auto made = Convolution::create(*device, problem, {filter, bias});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->backend(), "onednn");
}

TEST(ConvDispatch, FallsToTheReferenceWhenTheLibraryDeclines) {
    const auto device = accel::cpu::create_device();
    ConvProblem problem = easy_problem();
    problem.groups = 2;
    problem.filter.r = 9;  // larger than the image
    problem.pad.top = 1;
    const std::vector<float> filter(problem.filter_elements()), bias(problem.filter.k);
    const auto made = Convolution::create(*device, problem, {filter, bias});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->backend(), "reference");
}

}  // namespace
}  // namespace kinetograph::conv
