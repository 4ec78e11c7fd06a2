#include <kinetograph/kernels/cuda/sm100/gates.hpp>
#include <kinetograph/kernels/cuda/sm100/im2col_product.hpp>

#include "model_conv.hpp"

/// im2col and a matrix product, on shapes that every gate declines.
namespace kinetograph::sm100 {
namespace {

template <class Body>
std::string run_pass(uint64_t threads, uint64_t seed, const Body& body) {
    return host_model::run({.grid = {im2col_blocks(threads)}, .threads = kIm2colThreads, .seed = seed}, body)
        .fault.value_or("");
}

/// The steps one after another; `workspace` small enough makes several chunks.
template <Conv2dConfig kBase>
void expect_product_agrees(ConvCase conv, uint64_t workspace = 1 << 20) {
    constexpr uint32_t kElementBytes = element_bytes(kBase.element);
    constexpr Conv2dConfig kProduct = im2col_config(kBase);
    conv.shape.input = conv.shape.weight = kBase.element;
    ConvNumbers numbers(conv);
    Guarded output(numbers.output_bytes());
    const Im2colSizes sizes = im2col_sizes(conv.shape, workspace);
    Guarded matrix(sizes.matrix_bytes), sums(sizes.sums_bytes);
    std::vector<std::byte> filter =
        pack_im2col_filter(conv.shape, std::as_bytes(std::span<const uint8_t>(numbers.filter)));
    const auto steps = im2col_steps(kBase, conv.shape, sizes,
                                    {.activation = numbers.activation.data(),
                                     .filter = filter.data(),
                                     .output = output.data(),
                                     .source = conv.source ? numbers.source.data() : nullptr,
                                     .matrix = matrix.data(),
                                     .sums = sums.data()});
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        for (Guarded* buffer : {&output, &matrix, &sums}) buffer->poison();
        for (const Im2colStep& step : steps) {
            ASSERT_EQ(run_pass(step.gather.rows * step.gather.k_padded * kElementBytes / 16, seed,
                               [&step] {
                                   if constexpr (kElementBytes == 2) gather_rows<uint16_t>(step.gather);
                                   if constexpr (kElementBytes == 1) gather_rows<uint8_t>(step.gather);
                               }),
                      "");
            const std::string fault = run_once<kProduct>(step.product, Conv2dEpilogueArguments<NoEpilogue>{}, seed);
            ASSERT_EQ(fault, "");
            BringHomeParams<NoEpilogue> home = step.home;
            home.bias = numbers.bias.empty() ? nullptr : numbers.bias.data();
            home.alpha = conv.alpha;
            home.beta = conv.beta;
            ASSERT_EQ(run_pass(home.rows * home.group_filters, seed, [&home] { bring_home<Element::BF16>(home); }), "");
        }
        ASSERT_EQ(numbers.judge(output), "") << "seed " << seed;
        ASSERT_TRUE(matrix.intact() && sums.intact());
    }
}

constexpr Conv2dConfig kBase = one_sm_64b({.filters = 64});

TEST(Im2colProduct, AgreesOnTheHeadWithThreeFilters) {
    const ConvProblem head = same2d(1, 9, 17, 96, 3, 3, 3);
    EXPECT_NE(conv::reasons(gates(Activation::Frames2d), head), "");
    expect_product_agrees<kBase>({head});
}
TEST(Im2colProduct, AgreesWithThreeChannels) { expect_product_agrees<kBase>({same2d(1, 9, 17, 3, 24, 3, 3)}); }
TEST(Im2colProduct, AgreesWith100ChannelsInSeveralChunks) {
    expect_product_agrees<kBase>({same2d(2, 9, 17, 100, 40, 3, 3), Numbers::Coded}, 300000);
}
TEST(Im2colProduct, AgreesOnCausal3dWithStrideAndDilation) {
    ConvProblem shape = same2d(1, 9, 11, 16, 20, 3, 3);
    shape.d = 5;
    shape.filter.q = 3;
    shape.pad = {2, 0, 1, 1, 2, 2};
    shape.stride = {1, 2, 1};
    shape.dilation = {1, 1, 2};
    expect_product_agrees<kBase>({.shape = shape, .numbers = Numbers::Coded});
}
TEST(Im2colProduct, AddsTheResidualAndScales) {
    expect_product_agrees<kBase>({.shape = same2d(1, 9, 17, 20, 12, 3, 3), .alpha = 0.5f, .beta = -1, .source = true});
}
TEST(Im2colProduct, AgreesInFp8) {
    expect_product_agrees<one_sm_64b({.filters = 64, .element = Element::F8E4M3})>({same2d(1, 9, 17, 24, 12, 3, 3)});
}

/// Groups equal a dense filter with zeros between groups.
TEST(Im2colProduct, TreatsGroupsAsADenseFilterWithZerosBetweenThem) {
    constexpr int64_t kGroups = 4, kChannels = 24, kFilters = 12;
    ConvNumbers dense(
        {.shape = same2d(1, 7, 9, kChannels, kFilters, 3, 3), .numbers = Numbers::Integers, .bias = false});
    ConvProblem grouped = dense.conv().shape;
    grouped.groups = kGroups;
    std::vector<uint8_t> filter;  // [c_out][taps][c_in / groups]: the part of each row that belongs to its group
    for (int64_t f = 0; f < kFilters; ++f) {
        for (int64_t tap = 0; tap < 9; ++tap) {
            const int64_t channel = f / (kFilters / kGroups) * (kChannels / kGroups);
            const uint8_t* row = dense.filter.data() + ((f * 9 + tap) * kChannels + channel) * 2;
            filter.insert(filter.end(), row, row + kChannels / kGroups * 2);
        }
    }
    const Im2colSizes sizes = im2col_sizes(grouped, 1 << 20);
    std::vector<std::byte> packed = pack_im2col_filter(grouped, std::as_bytes(std::span<const uint8_t>(filter)));
    std::vector<uint8_t> matrix(sizes.matrix_bytes), sums(sizes.sums_bytes), output(dense.output_bytes());
    for (const Im2colStep& step : im2col_steps(kBase, grouped, sizes,
                                               {.activation = dense.activation.data(),
                                               .filter = packed.data(),
                                               .output = output.data(),
                                               .matrix = matrix.data(),
                                               .sums = sums.data()})) {
        ASSERT_EQ(run_pass(step.gather.rows * step.gather.k_padded / 8, 0, [&] { gather_rows<uint16_t>(step.gather); }),
                  "");
        const std::string fault =
            run_once<im2col_config(kBase)>(step.product, Conv2dEpilogueArguments<NoEpilogue>{}, 0);
        ASSERT_EQ(fault, "");
        ASSERT_EQ(run_pass(step.home.rows * step.home.group_filters, 0, [&] { bring_home<Element::BF16>(step.home); }),
                  "");
    }
    const auto value = [](const std::vector<uint8_t>& bytes, int64_t index) {
        return load_value(Element::BF16, bytes.data(), static_cast<size_t>(index));
    };
    for (int64_t pixel = 0; pixel < 63; ++pixel) {
        for (int64_t f = 0; f < kFilters; ++f) {
            double sum = 0;
            for (int64_t tap = 0; tap < 9; ++tap) {
                const int64_t h = pixel / 9 + tap / 3 - 1, w = pixel % 9 + tap % 3 - 1;
                if (h < 0 || h >= 7 || w < 0 || w >= 9) continue;
                for (int64_t c = 0; c < kChannels / kGroups; ++c) {
                    const int64_t channel = f / (kFilters / kGroups) * (kChannels / kGroups) + c;
                    sum += double{value(dense.activation, (h * 9 + w) * kChannels + channel)} *
                           value(dense.filter, (f * 9 + tap) * kChannels + channel);
                }
            }
            uint8_t rounded[2] = {};
            store_value(Element::BF16, rounded, 0, static_cast<float>(sum));
            ASSERT_EQ(value(output, pixel * kFilters + f), load_value(Element::BF16, rounded, 0))
                << "pixel " << pixel << " filter " << f;
        }
    }
}

}  // namespace
}  // namespace kinetograph::sm100
