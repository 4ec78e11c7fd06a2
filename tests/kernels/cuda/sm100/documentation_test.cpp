#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <kinetograph/kernels/cuda/sm100/conv2d_choice.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_gates.hpp>
#include <kinetograph/kernels/cuda/sm100/shape.hpp>
#include <kinetograph/tests/compute/conv/conv_shapes.hpp>
#include <kinetograph/tests/source_tree.hpp>
#include <sstream>

/// Computes the tables of docs/kernels-sm100.md. If a table no longer holds, the test fails and prints the new one.
namespace kinetograph::sm100 {
namespace {

template <class... Values>
std::string line(const char* format, Values... values) {
    char text[512];
    std::snprintf(text, sizeof(text), format, values...);
    return text;
}

std::string read_document() {
    std::ifstream file(test::source_tree() / "docs/kernels-sm100.md");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

void expect_in_document(const std::string& table) {
    EXPECT_NE(read_document().find(table), std::string::npos) << "docs/kernels-sm100.md should hold\n" << table;
}

std::string budget_row(const char* preset, uint32_t group, uint32_t span, uint32_t filters, Source source) {
    const Conv2dConfig c = entry_config(group, span, filters, Activation::Window3d, source);
    return line("| %s | %u x %u x %u | %u | %u x %u | %u | %u | %u | %u | %u of %u | %u of 512 |\n", preset, c.mma.m,
                c.mma.n, c.block.k * c.k_group, c.stages, c.stages, stage_bytes(c),
                c.output_stages * output_tile_bytes(c), source_tiles(c) * source_tile_bytes(c), control_bytes(c),
                c.accumulator_stages * accumulator_columns(c), shared_bytes(c), kSharedLimit, tensor_columns(c));
}

TEST(Documentation, HoldsTheSharedMemoryBudget) {
    std::string table =
        "| preset | tile (pixels x filters x k) | stages | ring | output tiles | source tiles | barriers | "
        "accumulators | "
        "shared memory | tensor memory |\n|---|---|---|---|---|---|---|---|---|---|\n";
    for (const Source source : {Source::None, Source::Residual}) {
        const bool residual = source == Source::Residual;
        table += budget_row(residual ? "1-SM 128B, residual" : "1-SM 128B", 1, 128, 128, source);
        table += budget_row(residual ? "1-SM 64B, residual" : "1-SM 64B", 1, 64, 96, source);
        table += budget_row(residual ? "2-SM 128B, residual" : "2-SM 128B", 2, 128, 256, source);
        table += budget_row(residual ? "2-SM 128B, residual" : "2-SM 128B", 2, 128, 192, source);
        table += budget_row(residual ? "2-SM 64B, residual" : "2-SM 64B", 2, 64, 96, source);
    }
    expect_in_document(table);
}

std::string roofline_row(const conv::NamedProblem& layer) {
    const Conv2dProblemShape shape = shape_of(layer.problem);
    const Activation activation = shape.q == 1 ? Activation::Frames2d : Activation::Window3d;
    const Source source = layer.problem.residual ? Source::Residual : Source::None;
    const std::string what = line("| %s | %lld x %lld x %lld, %lld -> %lld, %lld taps |", layer.name.c_str(),
                                  static_cast<long long>(shape.d_out()), static_cast<long long>(shape.h_out()),
                                  static_cast<long long>(shape.w_out()), static_cast<long long>(shape.c_in),
                                  static_cast<long long>(shape.c_out), static_cast<long long>(shape.taps()));
    const std::string why = declined(gates(activation), shape);
    if (!why.empty()) return what + " declined: " + why + " | | | | | | | |\n";
    const Conv2dEntry* entry = choose_entry(shape, {.activation = activation, .source = source});
    const Conv2dEstimate e = estimate(entry->config, shape);
    constexpr const char* kLimits[] = {"products", "L2", "HBM"};
    return what + line(" %s | %.0f | %llu | %.0f | %.0f | %.0f | %s | %.0f |\n", entry->name + 7,
                       layer.problem.flops() / 1e9, static_cast<unsigned long long>(e.rounds), e.mma_seconds * 1e6,
                       e.l2_seconds * 1e6, e.hbm_seconds * 1e6, kLimits[static_cast<size_t>(e.limit)],
                       layer.problem.flops() / e.seconds / 1e12);
}

TEST(Documentation, HoldsTheRooflineOfEveryLayerOfWan21) {
    std::string table =
        "| layer | one step: frames, channels | kernel (conv2d_...) | GFLOP | tiles a pair | products us | L2 us | HBM "
        "us | "
        "limit | bound TFLOP/s |\n|---|---|---|---|---|---|---|---|---|---|\n";
    for (const auto& layer : conv::decoder_problems(96, 720, 1280, tensor::DType::BF16)) table += roofline_row(layer);
    expect_in_document(table);
}

}  // namespace
}  // namespace kinetograph::sm100
