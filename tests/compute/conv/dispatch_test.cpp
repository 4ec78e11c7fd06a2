#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/validate.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/base/processor.hpp>
#include <kinetograph/tests/compute/conv/conv_shapes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace kinetograph::conv {
namespace {

using tensor::DType;

accel::DeviceInfo capable_cpu() {
    accel::DeviceInfo info;
    info.kind = "cpu";
    info.features = "avx2 avx512f avx512_bf16";
    return info;
}

accel::DeviceInfo gfx950() {
    accel::DeviceInfo info;
    info.kind = "hip";
    info.architecture = "gfx950";
    return info;
}

accel::DeviceInfo h200() {
    accel::DeviceInfo info;
    info.kind = "cuda";
    info.architecture = "sm_90";
    return info;
}

accel::DeviceInfo vulkan_gpu() {
    accel::DeviceInfo info;
    info.kind = "vulkan";
    info.architecture = "vulkan1.3";
    info.features = "subgroup-32 matrix-bf16 matrix-f16";
    info.shared_bytes_per_block = 48 << 10;
    return info;
}

/// The kind of device of a method, from the chip in its name.
std::string_view kind_of(std::string_view candidate) {
    if (candidate.ends_with("-sm80")) return "cuda";
    if (candidate.ends_with("-vulkan13")) return "vulkan";
    return candidate.ends_with("-gfx950") ? "hip" : "cpu";
}

/// A device to which every method of its kind is open.
accel::DeviceInfo capable(std::string_view kind) {
    if (kind == "cuda") return h200();
    if (kind == "vulkan") return vulkan_gpu();
    return kind == "hip" ? gfx950() : capable_cpu();
}

/// Open to every method of a capable device, but to those that are there for inputs to upsample.
ConvProblem easy_problem() {
    ConvProblem p;
    p.d = 4;
    p.h = p.w = 8;
    p.c_in = 32;
    p.filter = {32, 3, 3, 3};
    return p;
}

ConvProblem easy_problem_for(std::string_view candidate) {
    ConvProblem p = easy_problem();
    p.upsample = candidate == "doubled-direct-cpu";
    if (candidate == "winograd-planes-cpu") p.input = p.weight = p.output = p.normed = DType::F32;
    if (candidate == "direct-bytes-cpu") {
        p.input = DType::U8;
        p.weight = DType::I8;
    }
    return p;
}

DispatchRow row_of(std::string_view candidate, const accel::DeviceInfo& device, const ConvProblem& problem) {
    const auto rows = explain(chip_of(device), problem);
    const auto found = std::ranges::find(rows, candidate, &DispatchRow::candidate);
    EXPECT_NE(found, rows.end()) << candidate;
    return found == rows.end() ? DispatchRow{} : *found;
}

/// A problem and a device that exactly one gate declines, and its sentence.
struct Decline {
    std::string_view candidate, sentence;
    void (*spoil)(ConvProblem&, accel::DeviceInfo&);
};

void upsample(ConvProblem& p, accel::DeviceInfo&) { p.upsample = true; }
void halve(ConvProblem& p, accel::DeviceInfo&) { p.weight.scale = 0.5F; }
void mix_formats(ConvProblem& p, accel::DeviceInfo&) {
    p.input = DType::F8E4M3;
    p.weight = DType::F8E5M2;
}

const Decline kDeclines[] = {
    {"slab-vulkan13", "wants a Vulkan device, met cuda", [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "cuda"; }},
    {"slab-vulkan13",
     "wants bf16 or fp16 matrices of 16x16x16 with float32 sums, by subgroups of 16, 32 or 64, met BF16 and subgroup-8 "
     "matrix-bf16",
     [](ConvProblem&, accel::DeviceInfo& d) { d.features = "subgroup-8 matrix-bf16"; }},
    {"slab-vulkan13", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"slab-vulkan13", "wants stride and dilation 1 in a frame, met 1,1,1 and 1,1,2",
     [](ConvProblem& p, accel::DeviceInfo&) { p.dilation.w = 2; }},
    {"slab-vulkan13", "wants an input to upsample padded by 1 under 3x3 taps, met another", upsample},
    {"slab-vulkan13", "wants input channels a multiple of 16, met 20",
     [](ConvProblem& p, accel::DeviceInfo&) { p.c_in = 20; }},
    {"slab-vulkan13", "wants shared memory for a tile and its taps, met 8192 bytes",
     [](ConvProblem&, accel::DeviceInfo& d) { d.shared_bytes_per_block = 8192; }},
    {"slab-vulkan13", "wants temporal taps that one launch has room for, met 193; there is room for 192",
     [](ConvProblem& p, accel::DeviceInfo&) { p.d = p.filter.q = 193; }},
    {"tiles-vulkan13", "wants a Vulkan device, met cuda", [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "cuda"; }},
    {"tiles-vulkan13", "wants fp32, bf16 or fp16, met F8_E4M3",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = DType::F8E4M3; }},
    {"tiles-vulkan13", "wants temporal taps that one launch has room for, met 193; there is room for 192",
     [](ConvProblem& p, accel::DeviceInfo&) { p.d = p.filter.q = 193; }},
    {"implicit-gemm-sm80", "wants a CUDA device since sm_80, met sm_75",
     [](ConvProblem&, accel::DeviceInfo& d) { d.architecture = "sm_75"; }},
    {"implicit-gemm-sm80", "wants bf16 or fp16, met F8_E4M3",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = DType::F8E4M3; }},
    {"implicit-gemm-sm80", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"implicit-gemm-sm80", "wants temporal taps that one launch has room for, met 65; there is room for 64",
     [](ConvProblem& p, accel::DeviceInfo&) { p.d = p.filter.q = 65; }},
    {"implicit-gemm-sm80", "wants sums without scales, met alpha 0.500000", halve},
    {"winograd-time-sm80", "wants a CUDA device since sm_80, met sm_75",
     [](ConvProblem&, accel::DeviceInfo& d) { d.architecture = "sm_75"; }},
    {"winograd-time-sm80", "wants bf16 or fp16, met F8_E4M3",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = DType::F8E4M3; }},
    {"winograd-time-sm80", "wants sums without scales, met alpha 0.500000", halve},
    {"winograd-time-sm80", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"winograd-time-sm80", "wants an input as it lies in memory, met one to upsample", upsample},
    {"winograd-time-sm80", "wants input channels a multiple of 8, met 20",
     [](ConvProblem& p, accel::DeviceInfo&) { p.c_in = 20; }},
    {"winograd-time-sm80", "wants stride 1, met 1,2,1", [](ConvProblem& p, accel::DeviceInfo&) { p.stride.h = 2; }},
    {"winograd-time-sm80", "wants dilation 1, met 1,1,2", [](ConvProblem& p, accel::DeviceInfo&) { p.dilation.w = 2; }},
    {"winograd-time-sm80", "wants 3x3x3 taps, met 3x3x1", [](ConvProblem& p, accel::DeviceInfo&) { p.filter.s = 1; }},
    {"winograd-time-sm80", "wants at most two frames of padding on either side, met 3",
     [](ConvProblem& p, accel::DeviceInfo&) { p.pad.front = 3; }},
    {"winograd-time-sm80", "wants two output frames or more, met 1",
     [](ConvProblem& p, accel::DeviceInfo&) { p.d = 3; }},
    {"q-slice-sm80", "wants sums without scales, met a scale for each channel",
     [](ConvProblem& p, accel::DeviceInfo&) { p.channel_scales = true; }},
    {"im2col-sm80", "wants sums without scales, met alpha 0.500000", halve},
    {"im2col-gfx950",
     "wants a product that one launch of the kernel holds, met one that wants a source of 16 bits, which is prefetched "
     "into registers, met F32",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.output = p.normed = DType::F32;
         p.residual = true;
         p.beta = 1;
     }},
    {"direct-cpu", "wants sums without scales, met alpha 0.500000", halve},
    {"onednn-cpu", "wants sums without scales, met alpha 0.500000", halve},
    {"onednn-f32-cpu", "wants sums without scales, met alpha 0.500000", halve},
    {"four-wave-gfx950", "wants a gfx950 device, met gfx942",
     [](ConvProblem&, accel::DeviceInfo& d) { d.architecture = "gfx942"; }},
    {"four-wave-gfx950", "wants bf16, fp16 or fp8, met F32",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = p.output = p.normed = DType::F32; }},
    {"four-wave-gfx950",
     "wants what one launch of the kernel holds, met one that wants temporal taps of at most the 64 frames that a "
     "launch names, met 65",
     [](ConvProblem& p, accel::DeviceInfo&) { p.d = p.filter.q = 65; }},
    {"q-slice-sm80", "wants a CUDA device since sm_80, met hip",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "hip"; }},
    {"q-slice-sm80", "wants an input as it lies in memory, met one to upsample", upsample},
    {"q-slice-sm80", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"q-slice-sm80", "wants bf16, met F16",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = p.output = p.normed = DType::F16; }},
    {"q-slice-sm80", "wants stride 1, met 1,2,1", [](ConvProblem& p, accel::DeviceInfo&) { p.stride.h = 2; }},
    {"q-slice-sm80", "wants dilation 1, met 1,1,2", [](ConvProblem& p, accel::DeviceInfo&) { p.dilation.w = 2; }},
    {"q-slice-sm80", "wants more than one temporal tap, met 1",
     [](ConvProblem& p, accel::DeviceInfo&) { p.filter.q = 1; }},
    {"q-slice-sm80", "wants more than one tap in a frame, met 1x1",
     [](ConvProblem& p, accel::DeviceInfo&) { p.filter.r = p.filter.s = 1; }},
    {"q-slice-sm80", "wants no temporal padding, met 2 before and 0 after",
     [](ConvProblem& p, accel::DeviceInfo&) { p.pad.front = 2; }},
    {"q-slice-sm80", "wants input channels a multiple of 32, met 48",
     [](ConvProblem& p, accel::DeviceInfo&) { p.c_in = 48; }},
    {"q-slice-sm80", "wants output channels a multiple of 8, met 3",
     [](ConvProblem& p, accel::DeviceInfo&) { p.filter.k = 3; }},
    {"im2col-sm80", "wants a CUDA device since sm_80, met sm_75",
     [](ConvProblem&, accel::DeviceInfo& d) { d.architecture = "sm_75"; }},
    {"im2col-sm80", "wants bf16 or fp16, met F32",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = p.output = p.normed = DType::F32; }},
    {"im2col-sm80",
     "wants pixels of whole 16 bytes, or temporal taps that one launch has room for, met 6 bytes and 33 taps; there is "
     "room for 32",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.c_in = 3;
         p.d = p.filter.q = 33;
     }},
    {"four-wave-gfx950", "wants a filter of the input's type, met F8_E5M2", mix_formats},
    {"im2col-gfx950", "wants a filter of the input's type, met F8_E5M2", mix_formats},
    {"im2col-gfx950", "wants an input as it lies in memory, met one to upsample", upsample},
    {"im2col-gfx950", "wants a gfx950 device, met cuda",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "cuda"; }},
    {"im2col-gfx950", "wants bf16, fp16 or fp8, met F32",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = p.output = p.normed = DType::F32; }},
    {"im2col-gfx950",
     "wants a matrix whose parts descriptors span, met im2col: an input frame of 2147483648 bytes; a buffer "
     "descriptor spans 1 to 2147483392",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.h = 1024;
         p.w = 32768;
     }},
    {"im2col-gfx950", "wants no norm, met one", [](ConvProblem& p, accel::DeviceInfo&) { p.norm = Norm::Beside; }},
    {"direct-cpu",
     "wants 3x3 taps of stride 1 and padding 1 on an input to upsample, met 3x3, stride 1,1,1, dilation 1,1,1, pad "
     "0,0,0,0",
     upsample},
    {"direct-bytes-cpu", "wants a CPU device, met cuda", [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "cuda"; }},
    {"direct-bytes-cpu", "wants an input of u8, met BF16",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = DType::BF16; }},
    {"direct-bytes-cpu", "wants input channels a multiple of 4, met 6",
     [](ConvProblem& p, accel::DeviceInfo&) { p.c_in = 6; }},
    {"direct-bytes-cpu", "wants an input as it lies in memory, met one to upsample", upsample},
    {"direct-bytes-cpu", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"doubled-direct-cpu", "wants an input to upsample, met one as it lies in memory",
     [](ConvProblem& p, accel::DeviceInfo&) { p.upsample = false; }},
    {"doubled-direct-cpu", "wants sums without scales, met alpha 0.500000", halve},
    {"doubled-direct-cpu", "wants a CPU device, met cuda",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "cuda"; }},
    {"doubled-direct-cpu", "wants fp32 or bf16, met F16",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = p.output = p.normed = DType::F16; }},
    {"doubled-direct-cpu", "wants AVX2, met none", [](ConvProblem&, accel::DeviceInfo& d) { d.features = ""; }},
    {"doubled-direct-cpu", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"direct-cpu", "wants a CPU device, met cuda",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "cuda"; }},
    {"direct-cpu", "wants fp32 or bf16, met F16",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = p.output = p.normed = DType::F16; }},
    {"direct-cpu", "wants AVX2, met none", [](ConvProblem&, accel::DeviceInfo& d) { d.features = ""; }},
    {"direct-cpu", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"winograd-planes-cpu", "wants a CPU device, met cuda",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "cuda"; }},
    {"winograd-planes-cpu", "wants fp32 or bf16, met F16",
     [](ConvProblem& p, accel::DeviceInfo& d) {
         p.input = p.weight = p.output = p.normed = DType::F16;
         d.features = "avx2";
     }},
    {"winograd-planes-cpu", "wants an input as it lies in memory, met one to upsample", upsample},
    {"winograd-planes-cpu", "wants sums without scales, met alpha 0.500000", halve},
    {"winograd-planes-cpu", "wants AVX2, met none", [](ConvProblem&, accel::DeviceInfo& d) { d.features = ""; }},
    {"winograd-planes-cpu", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"winograd-planes-cpu", "wants stride 1, met 1,2,2",
     [](ConvProblem& p, accel::DeviceInfo&) { p.stride.h = p.stride.w = 2; }},
    {"winograd-planes-cpu", "wants dilation 1, met 1,1,2",
     [](ConvProblem& p, accel::DeviceInfo&) { p.dilation.w = 2; }},
    {"winograd-planes-cpu", "wants 3x3 taps in a plane, met 3x5", [](ConvProblem& p, accel::DeviceInfo&) { p.filter.s = 5; }},
    {"winograd-planes-cpu", "wants input channels a multiple of 16, and 16 output channels or more, met 24 and 32",
     [](ConvProblem& p, accel::DeviceInfo&) { p.c_in = 24; }},
    {"winograd-planes-cpu", "wants up to 320 input channels, times temporal taps, met 112 times 3",
     [](ConvProblem& p, accel::DeviceInfo&) { p.c_in = 112; }},
    {"winograd-planes-cpu",
     "wants fp32, or a processor without products of bf16, met avx2 avx512f avx512_bf16",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = p.output = p.normed = DType::BF16; }},
    {"winograd-time-cpu", "wants sums without scales, met alpha 0.500000", halve},
    {"winograd-time-cpu", "wants an input as it lies in memory, met one to upsample", upsample},
    {"winograd-time-cpu", "wants a CPU device, met cuda",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "cuda"; }},
    {"winograd-time-cpu", "wants fp32 or bf16, met F16",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = p.output = p.normed = DType::F16; }},
    {"winograd-time-cpu", "wants AVX2, met none", [](ConvProblem&, accel::DeviceInfo& d) { d.features = ""; }},
    {"winograd-time-cpu", "wants groups 1, met 4", [](ConvProblem& p, accel::DeviceInfo&) { p.groups = 4; }},
    {"winograd-time-cpu", "wants stride 1, met 1,2,2",
     [](ConvProblem& p, accel::DeviceInfo&) { p.stride.h = p.stride.w = 2; }},
    {"winograd-time-cpu", "wants dilation 1, met 1,1,2", [](ConvProblem& p, accel::DeviceInfo&) { p.dilation.w = 2; }},
    {"winograd-time-cpu", "wants three temporal taps, met 2",
     [](ConvProblem& p, accel::DeviceInfo&) { p.filter.q = 2; }},
    {"winograd-time-cpu", "wants two output frames or more, met 1",
     [](ConvProblem& p, accel::DeviceInfo&) { p.d = 3; }},
    {"winograd-time-cpu", "wants more than 4 output channels, met 4",
     [](ConvProblem& p, accel::DeviceInfo&) { p.filter.k = 4; }},
    {"onednn-cpu", "wants a CPU device, met hip",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "hip"; }},
    {"onednn-cpu", "wants fp32 or bf16, met F8_E4M3",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = DType::F8E4M3; }},
    {"onednn-cpu", "wants AVX2, met none",
     [](ConvProblem& p, accel::DeviceInfo& d) {
         p.input = p.weight = p.output = p.normed = DType::F32;
         d.features = "";
     }},
    {"onednn-f32-cpu", "wants AVX2, met none", [](ConvProblem&, accel::DeviceInfo& d) { d.features = ""; }},
    {"onednn-cpu", "wants every output frame to meet an input frame, met 1 frames, 1 taps, pad 1 before and 0 after",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.d = p.filter.q = 1;
         p.pad.front = 1;
     }},
    {"onednn-cpu", "wants a filter no larger than the image, met 3x5 on 8x4",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.w = 4;
         p.filter.s = 5;
         p.pad.left = 2;
     }},
    {"onednn-cpu", "wants AVX512_BF16 for bf16, met avx2 avx512f",
     [](ConvProblem&, accel::DeviceInfo& d) { d.features = "avx2 avx512f"; }},
    {"onednn-cpu", "wants AVX-512 for groups of channels that are not a multiple of 8, met avx2",
     [](ConvProblem& p, accel::DeviceInfo& d) {
         p.input = p.weight = p.output = p.normed = DType::F32;
         p.groups = 4;
         p.c_in = 12;
         d.features = "avx2";
     }},
    {"onednn-cpu", "wants an even number of input channels in a group for bf16, met 17",
     [](ConvProblem& p, accel::DeviceInfo&) { p.c_in = 17; }},
    {"onednn-f32-cpu", "wants AVX-512 for groups of channels that are not a multiple of 8, met avx2",
     [](ConvProblem& p, accel::DeviceInfo& d) {
         p.groups = 4;
         p.c_in = 12;
         d.features = "avx2";
     }},
    {"onednn-f32-cpu", "wants a CPU device, met hip",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "hip"; }},
    {"onednn-f32-cpu",
     "wants every output frame to meet an input frame, met 1 frames, 1 taps, pad 1 before and 0 after",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.d = p.filter.q = 1;
         p.pad.front = 1;
     }},
    {"onednn-f32-cpu", "wants a filter no larger than the image, met 5x3 on 4x8",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.h = 4;
         p.filter.r = 3;
         p.dilation.h = 2;
         p.pad.top = 2;
     }},
    {"onednn-f32-cpu", "wants bf16 activations, met F32",
     [](ConvProblem& p, accel::DeviceInfo&) { p.input = p.weight = p.output = p.normed = DType::F32; }},
    {"reference-cpu", "wants a CPU device, met cuda",
     [](ConvProblem&, accel::DeviceInfo& d) { d.kind = "cuda"; }},
    {"reference-cpu", "wants fp32 or bf16 frames to norm, met F16",
     [](ConvProblem& p, accel::DeviceInfo&) {
         p.input = p.weight = p.output = p.normed = DType::F16;
         p.norm = Norm::Beside;
     }},
};

bool is_tested_elsewhere(std::string_view candidate) {
    return candidate.ends_with("-sm100") ||  // dispatch_sm100_test.cpp
           candidate.ends_with("-sm90");     // tests/kernels/cuda/sm90/gates_test.cpp
}

TEST(ConvDispatch, OpensEveryCandidateOfADeviceToAnEasyProblem) {
    for (const std::string_view kind : {"cpu", "cuda", "hip", "vulkan"}) {
        for (const Candidate& candidate : candidates()) {
            if (is_tested_elsewhere(candidate.name)) continue;
            const DispatchRow row = row_of(candidate.name, capable(kind), easy_problem_for(candidate.name));
            EXPECT_EQ(row.open, kind_of(row.candidate) == kind) << row.candidate << ": " << row.reason;
        }
    }
}

TEST(ConvDispatch, EveryGateAloneClosesItsCandidateAndSaysWhatItMet) {
    for (const Decline& decline : kDeclines) {
        ConvProblem problem = easy_problem_for(decline.candidate);
        accel::DeviceInfo device = capable(kind_of(decline.candidate));
        decline.spoil(problem, device);
        ASSERT_TRUE(validate(problem)) << decline.sentence;
        const DispatchRow row = row_of(decline.candidate, device, problem);
        EXPECT_FALSE(row.open) << decline.candidate << ": " << decline.sentence;
        EXPECT_EQ(row.reason, decline.sentence) << decline.candidate;
    }
}

TEST(ConvDispatch, EveryGateIsInTheListOfDeclines) {
    std::set<const Gate<Subject>*> lists;  // forms of one back end share theirs
    std::size_t gates = 0;
    for (const Candidate& candidate : candidates()) {
        if (is_tested_elsewhere(candidate.name)) continue;
        if (lists.insert(candidate.gates.data()).second) gates += candidate.gates.size();
    }
    EXPECT_EQ(gates, std::size(kDeclines));
}

TEST(ConvDispatch, NamesAllClosedGatesOfACandidateAtOnce) {
    ConvProblem problem = easy_problem();
    problem.groups = 2;
    accel::DeviceInfo device = capable_cpu();
    device.features = "";
    EXPECT_EQ(row_of("direct-cpu", device, problem).reason, "wants AVX2, met none; wants groups 1, met 2");
}

TEST(ConvDispatch, LeavesCarriedSumsToWhatCarriesThem) {
    ConvProblem problem = easy_problem();
    problem.pad.front = problem.pad.back = 2;
    problem.output = problem.normed = DType::F32;
    problem.carried = true;
    ASSERT_TRUE(validate(problem));
    EXPECT_EQ(row_of("implicit-gemm-sm80", h200(), problem).reason,
              "wants sums that begin and end with a call, met carried ones");
    EXPECT_EQ(explain(chip_of(capable_cpu()), problem).front().candidate, "reference-cpu");
}

/// The plan needs no kernel, a device does.
TEST(ConvDispatch, ClosesTheMethodsOfADeviceWhoseKernelsThisBuildLacks) {
    for (const std::string_view architecture : {"sm_100", "gfx950"}) {
        const accel::DeviceInfo device = describe_known_device(architecture).value();
        const DispatchRow planned = explain(chip_of(device), wan21_layer()).front();
        ASSERT_TRUE(planned.open);
        ASSERT_NE(planned.plan, nullptr);
        EXPECT_EQ(planned.seconds, planned.plan->seconds);
        const std::string missing = missing_image(device, planned.plan->kernels.front().image);
        const DispatchRow row = explain_named(device, wan21_layer(), planned.candidate).value();
        EXPECT_EQ(row.reason, missing);
        EXPECT_EQ(row.open, missing.empty());
        EXPECT_EQ(row.plan == nullptr, !row.open);
    }
    EXPECT_TRUE(
        missing_image(h200(), "no_such_kernels").starts_with("no fat binary \"no_such_kernels\" in this build: "));
}

TEST(ConvDispatch, NamesAKernelOfAMethod) {
    const Chip chip = chip_of(h200());
    const DispatchRow best = explain_named(chip, wan21_layer(), "implicit-gemm-sm90").value();
    const Candidate& candidate = **find_candidate("implicit-gemm-sm90");
    const auto kernels = candidate.choice.kernels(wan21_layer(), chip);
    ASSERT_GT(kernels.size(), 1U);
    const DispatchRow other =
        explain_named(chip, wan21_layer(), fmt::format("implicit-gemm-sm90:{}", kernels.back())).value();
    EXPECT_EQ(other.plan->kernels.front().kernel, kernels.back());
    EXPECT_GT(other.seconds, best.seconds);
    const auto none = explain_named(chip, wan21_layer(), "implicit-gemm-sm90:none");
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("implicit-gemm-sm90 has no kernel \"none\" for it; it has "),
              std::string::npos);
}

TEST(ConvDispatch, PrintsOneLineACandidate) {
    const DispatchRow rows[] = {{"direct-cpu", false, "wants groups 1, met 2", {}},
                                {"implicit-gemm-sm80", true, "", 1.25e-3, 1.25e-3, Rounding::Once, 2.3e-3},
                                {"reference-cpu", true, "", {}}};
    EXPECT_EQ(to_string(rows),
              "  direct-cpu          closed: wants groups 1, met 2\n"
              "  implicit-gemm-sm80  open, 1.250 ms predicted, error 2.3e-03\n"
              "  reference-cpu       open\n");
}

TEST(ConvDispatch, TriesOneLaunchThenSlicesThenTheMatrixOfTaps) {
    ConvProblem problem = easy_problem();
    problem.h = problem.w = 256;
    const accel::DeviceInfo device = describe_known_device("sm_89").value();
    const auto first_open = [&] { return explain(chip_of(device), problem).front().candidate; };
    EXPECT_EQ(first_open(), "implicit-gemm-sm80");
    problem.filter.q = problem.d = 65;  // more temporal taps than one launch names frames
    EXPECT_EQ(first_open(), "q-slice-sm80");
    problem.groups = 4;
    EXPECT_EQ(first_open(), "im2col-sm80");
}

TEST(ConvDispatch, RanksOpenCandidatesByPredictedSecondsAFrame) {
    for (const std::string_view architecture : {"sm_90", "gfx950"}) {
        const auto rows = explain(chip_of(describe_known_device(architecture).value()), easy_problem());
        double before = 0;
        for (const DispatchRow& row : rows) {
            if (!row.open || row.rounding != Rounding::Once) continue;
            ASSERT_TRUE(row.seconds) << row.candidate;
            EXPECT_GE(row.seconds_a_frame, before) << row.candidate;
            before = row.seconds_a_frame;
        }
        EXPECT_GT(before, 0) << architecture;
        EXPECT_TRUE(std::ranges::is_partitioned(rows, &DispatchRow::open));
    }
}

TEST(ConvDispatch, RanksWhatRoundsMoreThanOnceAfterWhatRoundsOnce) {
    std::vector<DispatchRow> rows = explain(chip_of(describe_known_device("sm_90").value()), easy_problem());
    std::erase_if(rows, [](const DispatchRow& row) { return !row.open; });
    EXPECT_EQ(rows.back().candidate, "q-slice-rounded-sm80");
}

/// A layer that Winograd's sums along time make faster on Hopper.
TEST(ConvDispatch, TakesTransformedSumsOnlyWhereSpeedIsAskedFor) {
    const accel::DeviceInfo device = describe_known_device("sm_90").value();
    const ConvProblem p = wan21_layer();
    const auto exact = explain(chip_of(device), p, Sums::Exact), fast = explain(chip_of(device), p, Sums::Fast);
    EXPECT_EQ(exact.front().rounding, Rounding::Once);
    EXPECT_EQ(fast.front().candidate, "winograd-time-sm90");
    EXPECT_GT(fast.front().error, exact.front().error);
    EXPECT_LT(fast.front().seconds, exact.front().seconds);
}

/// A GeForce's matrix units are the limit there, so fewer products are faster.
TEST(ConvDispatch, TakesTransformedSumsOnAGeForceOnlyWhereSpeedIsAskedFor) {
    const ConvProblem p = wan21_layer();
    for (const std::string_view architecture : {"sm_86", "sm_89", "sm_120"}) {
        const accel::DeviceInfo device = describe_known_device(architecture).value();
        EXPECT_EQ(explain(chip_of(device), p, Sums::Exact).front().candidate, "implicit-gemm-sm80");
        EXPECT_EQ(explain(chip_of(device), p, Sums::Fast).front().candidate, "winograd-time-sm80");
    }
}

TEST(ConvDispatch, TakesOneDnnForBf16OnACpuThatMultipliesTiles) {
    ConvProblem p = easy_problem();
    accel::DeviceInfo device = capable_cpu();
    device.features += " amx_tile amx_bf16";
    EXPECT_EQ(explain(chip_of(device), p, Sums::Fast).front().candidate, "onednn-cpu");
    EXPECT_EQ(explain(chip_of(device), p, Sums::Exact, "direct-cpu").front().candidate, "direct-cpu");
    p.input = p.weight = p.output = p.normed = DType::F32;
    EXPECT_NE(explain(chip_of(device), p, Sums::Fast).front().candidate, "onednn-cpu");
}

/// Whose sums are float32 throughout.
TEST(ConvDispatch, TakesWinogradsIdentityInPlanesOnACpuThatMultipliesFloat32) {
    const ConvProblem p = easy_problem();
    accel::DeviceInfo device = capable_cpu();
    device.features = "avx2";
    EXPECT_EQ(explain(chip_of(device), p).front().candidate, "winograd-planes-cpu");
    EXPECT_EQ(explain(chip_of(device), p, Sums::Fast).front().candidate, "winograd-planes-cpu");
}

TEST(ConvDispatch, TakesTransformedSumsOnACpuOnlyWhereSpeedIsAskedFor) {
    EXPECT_EQ(explain(chip_of(capable_cpu()), easy_problem(), Sums::Exact).front().candidate, "direct-cpu");
    EXPECT_EQ(explain(chip_of(capable_cpu()), easy_problem(), Sums::Fast).front().candidate, "winograd-time-cpu");
    ConvProblem one_frame = easy_problem();
    one_frame.d = 3;
    EXPECT_EQ(explain(chip_of(capable_cpu()), one_frame, Sums::Fast).front().candidate, "direct-cpu");
}

/// Four 2x2 filters on the stored image where that is the same convolution; otherwise a pass doubles it first.
TEST(ConvDispatch, TakesDoubledInputsOnEveryCpu) {
    ConvProblem p = easy_problem();
    p.upsample = true;
    p.filter.q = 1;
    EXPECT_EQ(explain(chip_of(capable_cpu()), p).front().candidate, "doubled-direct-cpu");
    p.pad = {0, 0, 1, 1, 1, 1};
    EXPECT_EQ(explain(chip_of(capable_cpu()), p).front().candidate, "direct-cpu");
    accel::DeviceInfo device = capable_cpu();
    device.features = "avx2";
    EXPECT_EQ(explain(chip_of(device), p).front().candidate, "direct-cpu");
}

TEST(ConvDispatch, TakesWhatIsPreferredWhereItIsOpen) {
    ConvProblem p = easy_problem();
    const auto first = [&](std::string_view preferred, Sums sums = Sums::Exact) {
        return explain(chip_of(capable_cpu()), p, sums, preferred).front().candidate;
    };
    EXPECT_EQ(first("onednn-cpu"), "onednn-cpu");
    EXPECT_EQ(first("winograd-time-cpu"), "winograd-time-cpu");
    EXPECT_EQ(first("doubled-direct-cpu"), "direct-cpu");
    EXPECT_EQ(first("doubled-direct-cpu", Sums::Fast), "winograd-time-cpu");
    p.upsample = true;
    EXPECT_EQ(first("doubled-direct-cpu"), "doubled-direct-cpu");
}

TEST(ConvDispatch, ExpectsTheErrorsOfNormalNumbers) {
    EXPECT_NEAR(expected_error(Rounding::Once, Element::BF16), 2.3e-3, 1e-4);
    EXPECT_NEAR(expected_error(Rounding::Operands, Element::BF16), 2.9e-3, 1e-4);
    EXPECT_NEAR(expected_error(Rounding::Operands, Element::F16), 2.9e-3 / 8, 2e-5);
    EXPECT_NEAR(expected_error(Rounding::Finer, Element::BF16), 1.8e-3, 1e-4);
    EXPECT_NEAR(expected_error(Rounding::Once, Element::F8E4M3), 3.7e-2, 1e-3);
    EXPECT_NEAR(expected_error(Rounding::Once, Element::F8E5M2), 7.4e-2, 1e-3);
}

TEST(ConvDispatch, KeepsTheListsOrderWhereThereIsNoModel) {
    std::vector<std::string_view> open;
    for (const DispatchRow& row : explain(chip_of(capable_cpu()), easy_problem()))
        if (row.open) open.push_back(row.candidate);
    EXPECT_EQ(open, (std::vector<std::string_view>{"direct-cpu", "onednn-cpu", "onednn-f32-cpu", "reference-cpu",
                                                   "winograd-time-cpu"}));
}

/// A decoder takes the plan of one launch, whatever its step makes of the layer.
TEST(ConvDispatch, GivesTheLayersOfADecoderToTheImplicitGemmOnAnH200) {
    const accel::DeviceInfo device = describe_known_device("sm_90").value();
    for (const std::int64_t frames : {1, 2, 4, 8})
        for (const std::int64_t channels : {96, 192, 384})
            for (const Norm norm : {Norm::None, Norm::Beside, Norm::Instead}) {
                ConvProblem p;
                p.d = frames + 2;
                p.h = 704 * 96 / channels;
                p.w = 1280 * 96 / channels;
                p.c_in = channels;
                p.filter = {channels, 3, 3, 3};
                p.pad = {0, 0, 1, 1, 1, 1};
                p.norm = norm;
                const std::string_view choice =
                    explain(chip_of(device), p).front().candidate;  // sm90's where a build has it
                EXPECT_TRUE(choice.starts_with("implicit-gemm-sm")) << choice << ": " << p.to_string();
            }
}

TEST(ConvDispatch, TakesTheFirstOpenCandidate) {
    if (processor().uses < InstructionSet::Avx2) GTEST_SKIP() << "below AVX2 there are the plain loops alone";
    const auto device = accel::cpu::create_device();
    ConvProblem problem = easy_problem();
    problem.groups = 2;  // closed to the direct back end on every machine
    problem.input = problem.weight = problem.output = problem.normed = DType::F32;
    const std::vector<float> filter(problem.filter_elements()), bias(problem.filter.k);
    const auto made = Convolution::create(*device, problem, {filter, bias});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->backend(), "onednn-cpu");
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
    EXPECT_EQ((*made)->backend(), "reference-cpu");
}

}  // namespace
}  // namespace kinetograph::conv
