#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <kinetograph/kernels/cuda/sm100/conv2d_configs.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_plan.hpp>
#include <kinetograph/samples/sm100_function/gelu_maxima.hpp>
#include <set>
#include <sstream>

#include "ptx_report.hpp"

/// Every entry point, assembled by nvcc for sm_100a; no GPU is needed. Without nvcc the tests that need it skip with
/// that reason.
namespace kinetograph::sm100 {
namespace {

const std::string kNvcc = KINETOGRAPH_NVCC_PATH;
constexpr uint32_t kRegisterBound = 136;      // 256 threads may have 256 each
constexpr uint32_t kHaloRegisterBound = 208;  // all rounded channels of a pixel, for the norm

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// The compiled sources, once for all tests of this program.
struct Module {
    std::string report, ptx;
    int status = 0;
};
Module compile(const std::string& folder, const std::string& source) {
    const std::string base = std::string(KINETOGRAPH_ASSEMBLY_DIR "/") + source;
    const std::string arguments = kNvcc + " -std=c++20 -arch=sm_100a -I " KINETOGRAPH_INCLUDE " ";
    const std::string file = KINETOGRAPH_INCLUDE "/kinetograph/" + folder + "/" + source;
    Module module;
    // PTX first, then ptxas on it: the text that is checked is the text that is assembled.
    module.status = std::system((arguments + "-ptx -o " + base + ".ptx " + file + " > " + base + ".log 2>&1").c_str());
    if (module.status == 0) {
        module.status = std::system(
            (kNvcc + " -arch=sm_100a -cubin -Xptxas -v -o " + base + ".cubin " + base + ".ptx >> " + base + ".log 2>&1")
                .c_str());
    }
    module.report = read_file(base + ".log");
    module.ptx = read_file(base + ".ptx");
    return module;
}

/// A source and its number of kernels: together all rows of conv2d_configs.hpp, and the passes.
struct SourceFile {
    const char* name;
    size_t kernels;
    const char* folder = "kernels/cuda/sm100";
    friend void PrintTo(const SourceFile& file, std::ostream* out) { *out << file.name; }
};
class Assembly : public testing::TestWithParam<SourceFile> {
  protected:
    void SetUp() override {
        if (kNvcc.empty())
            GTEST_SKIP() << "nvcc is not on this machine: " << GetParam().name << " is not assembled for sm_100a";
    }
};
INSTANTIATE_TEST_SUITE_P(Sm100, Assembly,
                         testing::Values(SourceFile{"conv2d_frames.cu", 40}, SourceFile{"conv2d_volumes.cu", 40},
                                         SourceFile{"conv2d_windows.cu", 44}, SourceFile{"conv2d_silu.cu", 24},
                                         SourceFile{"conv2d_eighths.cu", 40}, SourceFile{"conv2d_halves.cu", 40},
                                         SourceFile{"conv2d_small.cu", 30}, SourceFile{"conv2d_mixed.cu", 36},
                                         SourceFile{"conv2d_swizzles.cu", 42}, SourceFile{"conv2d_variants.cu", 55},
                                         SourceFile{"halo_conv_bf16.cu", 16}, SourceFile{"halo_conv_f16.cu", 16},
                                         SourceFile{"slice_passes.cu", 3}, SourceFile{"im2col_passes.cu", 7},
                                         SourceFile{"tcgen05_attention_bf16.cu", 4},
                                         SourceFile{"tcgen05_attention_f16.cu", 4},
                                         SourceFile{"gelu_maxima.cu", 1, "samples/sm100_function"}),
                         [](const auto& test) {
                             const std::string name = test.param.name;
                             return name.substr(0, name.find('.'));
                         });

const Conv2dEntry* find_entry(const std::string& name) {
    for (const Conv2dEntry& entry : kConv2dEntries) {
        if (name == entry.name) return &entry;
    }
    return nullptr;
}

const NamedHaloConfig* find_tile(const std::string& name) {
    const auto tiles = halo_configs();
    const auto found = std::ranges::find(tiles, name, &NamedHaloConfig::kernel);
    return found == tiles.end() ? nullptr : &*found;
}

/// What an entry's text breaks of its promises; a kernel without tcgen05 has none.
std::vector<std::string> promises_broken_by(const std::string& name, const std::string& ptx) {
    if (const Conv2dEntry* entry = find_entry(name)) return broken_promises(entry->config, ptx);
    if (const NamedHaloConfig* tile = find_tile(name)) return broken_promises(tile->config, ptx);
    if (name == "gelu_maxima_conv2d") return broken_promises(kGeluConfig, ptx);
    if (name.starts_with("sm100_attention_")) return broken_promises_of_attention(ptx);
    if (ptx.find("tcgen05") != std::string::npos) return {"makes promises that this test does not know"};
    return {};
}

void print_row(const std::string& name, const KernelResources& kernel, const Conv2dEntry* entry) {
    std::cout << std::left << std::setw(44) << name << std::right << std::setw(5) << kernel.registers << std::setw(7)
              << kernel.stack + kernel.spill_stores + kernel.spill_loads;
    if (entry != nullptr) {
        const Conv2dConfig& c = entry->config;
        std::cout << std::setw(8) << shared_bytes(c) << std::setw(8) << c.stages << std::setw(9) << tensor_columns(c);
    }
    std::cout << "\n";
}

/// Prints and bounds registers and local memory of every kernel; checks the promised instructions in its PTX.
TEST_P(Assembly, HasNoSpillsAndHoldsThePromisedInstructions) {
    const Module module = compile(GetParam().folder, GetParam().name);
    ASSERT_EQ(module.status, 0) << module.report;
    const auto kernels = read_resources(module.report);
    const auto ptx = split_entries(module.ptx);
    ASSERT_EQ(kernels.size(), GetParam().kernels);
    ASSERT_EQ(ptx.size(), GetParam().kernels);
    std::cout << "kernel                                      regs  local  shared  stages  columns\n";
    for (const auto& [name, kernel] : kernels) {
        const Conv2dEntry* entry = find_entry(name);
        print_row(name, kernel, entry);
        EXPECT_EQ(kernel.stack + kernel.spill_stores + kernel.spill_loads, 0u) << name;
        EXPECT_GT(kernel.registers, 0u) << name;
        EXPECT_LE(kernel.registers, name.starts_with("sm100_halo") ? kHaloRegisterBound : kRegisterBound) << name;
        for (const std::string& broken : promises_broken_by(name, ptx.at(name))) ADD_FAILURE() << name << " " << broken;
    }
}

TEST(Entries, HaveNamesOfTheirOwnAndFitTheChip) {
    std::set<std::string> names;
    for (const Conv2dEntry& entry : kConv2dEntries) {
        EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
        const Conv2dConfig& c = entry.config;
        EXPECT_LE(shared_bytes(c), kSharedLimit) << entry.name;
        const bool staged = std::string(entry.name).find("_stages_") != std::string::npos;
        EXPECT_EQ(shared_bytes(c) + stage_bytes(c) > kSharedLimit, !staged)
            << entry.name << " could have another stage";
        EXPECT_LE(tensor_columns(c), 512u) << entry.name;
        EXPECT_GE(c.stages, 3u) << entry.name;
    }
    EXPECT_EQ(names.size(), 391u);
}

/// An instruction of an entry's text, what takes its place, and what the checks must say then.
struct Exchange {
    const char *from, *to, *sentence;
};
template <class Broken>
void expect_each_is_found(const Broken& broken_promises, const std::string& whole,
                          std::initializer_list<Exchange> exchanges) {
    EXPECT_TRUE(broken_promises(whole).empty());
    for (const auto& [from, to, sentence] : exchanges) {
        std::string changed = whole;
        changed.replace(changed.find(from), std::string(from).size(), to);
        const std::vector<std::string> broken = broken_promises(changed);
        ASSERT_FALSE(broken.empty()) << from;
        EXPECT_NE(broken.back().find(sentence), std::string::npos) << broken.back();
    }
}

TEST(PtxChecks, FindAnInstructionOfAConvolutionThatIsNotTheOnePromised) {
    expect_each_is_found(
        [](const std::string& ptx) {
            return broken_promises(entry_config(2, 128, 128, Activation::Volume3d, Source::Residual), ptx);
        },
        "tcgen05.mma.cta_group::2.kind::f16 [%r1]; tcgen05.alloc.cta_group::2 tcgen05.dealloc.cta_group::2 "
        "tcgen05.ld.sync.aligned.32x32b.x32.b32 {%r1};tcgen05.wait::ld.sync fence.mbarrier_init.release.cluster "
        "fence.proxy.async.shared::cta prefetch.tensormap prefetch.tensormap prefetch.tensormap prefetch.tensormap "
        "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.cta_group::2 [%r1]; "
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%r1]; "
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1]; "
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 barrier.cluster.arrive.release.aligned "
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 ",
        {{"mma.cta_group::2", "mma.cta_group::1", "holds tcgen05.mma.cta_group::1"},
         {"prefetch.tensormap", "", "prefetches fewer than 4 kinds of tensor maps"},
         {"tcgen05.wait::ld", "mov", "uses tcgen05.ld before tcgen05.wait::ld"},
         {"tensor.5d", "tensor.4d", "holds no cp.async.bulk.tensor.5d.shared::cluster.global.im2col"},
         {".multicast::cluster::all", "", "holds no clusterlaunchcontrol.try_cancel"},
         {"global.tile.mbarrier::complete_tx::bytes.cta_group::2", "global.tile.mbarrier::complete_tx::bytes",
          "holds no cp.async.bulk.tensor.3d"},
         {"cluster.multicast::cluster.b64", "cluster.b64", "holds no tcgen05.commit.cta_group::2"}});
}

TEST(PtxChecks, FindAnInstructionOfTheAttentionThatIsNotTheOnePromised) {
    expect_each_is_found(
        broken_promises_of_attention,
        "tcgen05.alloc.cta_group::1 tcgen05.dealloc.cta_group::1 tcgen05.mma.cta_group::1.kind::f16 [%r1]; "
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1]; "
        "tcgen05.ld.sync.aligned.32x32b.x64.b32 {%r1};tcgen05.wait::ld.sync.aligned; "
        "tcgen05.ld.sync.aligned.32x32b.x32.b32 {%r1};tcgen05.wait::ld.sync.aligned; "
        "fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta; "
        "prefetch.tensormap [%r1]; prefetch.tensormap [%r2]; prefetch.tensormap [%r3]; "
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1]; "
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1]; "
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%r1]; ex2.approx.ftz.f32 ",
        {{"prefetch.tensormap [%r3]", "", "prefetches fewer than 3 kinds of tensor maps"},
         {"tcgen05.wait::ld", "mov", "uses tcgen05.ld before tcgen05.wait::ld"},
         {"x64", "x16", "holds no tcgen05.ld.sync.aligned.32x32b.x64"},
         {"mma.cta_group::1", "mma.cta_group::2", "holds cta_group::2"},
         {"fence.proxy.async", "fence.proxy", "holds no fence.proxy.async.shared::cta"}});
}

TEST(PtxChecks, FindALoadOfTensorMemoryWhoseWaitDoesNotFollow) {
    const std::string load = "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r1}, [%r2];\n";
    EXPECT_TRUE(waits_after_every_load("mov.b32 %r1, 0;\n"));
    EXPECT_TRUE(waits_after_every_load(load + "tcgen05.wait::ld.sync.aligned;\n"));
    EXPECT_FALSE(waits_after_every_load(load + "add.f32 %f1, %f2, %f3;\ntcgen05.wait::ld.sync.aligned;\n"));
    EXPECT_FALSE(waits_after_every_load(load));
}

TEST(PtxChecks, ReadSpillsAndRegistersFromTheAssemblersReport) {
    const auto kernels = read_resources(
        "ptxas info    : Compiling entry function 'a' for 'sm_100a'\n"
        "ptxas info    : Function properties for a\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 80 registers, used 1 barriers\n"
        "ptxas info    : Compiling entry function 'b' for 'sm_100a'\n"
        "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers\n");
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels.at("a").registers, 80u);
    EXPECT_EQ(kernels.at("a").stack, 0u);
    EXPECT_EQ(kernels.at("b").stack, 16u);
    EXPECT_EQ(kernels.at("b").spill_stores, 8u);
    EXPECT_EQ(kernels.at("b").spill_loads, 12u);
}

}  // namespace
}  // namespace kinetograph::sm100
