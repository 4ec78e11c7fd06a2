#include <kinetograph/kernels/hip/gfx950/passes/attention.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/attention_launch.hpp>
#include <kinetograph/tests/kernels/hip/gfx950/passes/pass_run.hpp>

namespace kinetograph::gfx950 {
namespace {

struct Exact {
    std::vector<double> output;
    double largest_score = 0;  ///< magnitude
};

/// softmax(q k^T / sqrt(C)) v in double.
Exact exact(const AttentionProblem& problem, const TestFrames& qkv) {
    const auto tokens = static_cast<size_t>(problem.tokens), channels = static_cast<size_t>(problem.channels);
    std::vector<double> values(qkv.elements());
    for (size_t i = 0; i < values.size(); ++i) values[i] = qkv.get(0, i);
    const auto row = [&](size_t token, size_t part) { return values.data() + (token * 3 + part) * channels; };
    Exact result{std::vector<double>(tokens * channels)};
    std::vector<double> weights(tokens);
    for (size_t query = 0; query < tokens; ++query) {
        const double* const q = row(query, 0);
        double* const output = result.output.data() + query * channels;
        double largest = -1e300, sum = 0;
        for (size_t key = 0; key < tokens; ++key) {
            const double* const k = row(key, 1);
            double score = 0;
            for (size_t c = 0; c < channels; ++c) score += q[c] * k[c];
            weights[key] = score / std::sqrt(static_cast<double>(channels));
            largest = std::max(largest, weights[key]);
            result.largest_score = std::max(result.largest_score, std::abs(weights[key]));
        }
        for (double& weight : weights) sum += weight = std::exp(weight - largest);
        for (size_t key = 0; key < tokens; ++key) {
            const double weight = weights[key] / sum;
            const double* const v = row(key, 2);
            for (size_t c = 0; c < channels; ++c) output[c] += weight * v[c];
        }
    }
    return result;
}

/// A frame's launches, one after the other; the first fault.
std::string attend(const AttentionProblem& problem, const TestFrames& qkv, TestFrames& output, uint64_t seed) {
    const AttentionPlan made = plan(problem);
    TestFrames workspace(Element::F32, 1, made.workspace_bytes / 4);
    const AttentionLaunchParams params = make_params(problem, qkv.frame(0), output.frame(0), workspace.frame(0));
    auto fault = run_in_model(made.values, params.values, seed).fault;
    if (!fault) fault = run_in_model(made.attend, params.attend, seed).fault;
    if (!fault && made.join) fault = run_in_model(*made.join, params.join, seed).fault;
    workspace.expect_guards();
    output.expect_guards();
    return fault.value_or("");
}

/// Relative error of the whole. The weights are rounded to the storage, as is the output: two roundings of 2^-9 (bf16)
/// with errors evenly spread, 1.7e-3 each (f16 and f32: 8 and 65,536 times less). A weight is e to a float32 whose last
/// place is 2^-23 of the score.
void expect_attention(const AttentionProblem& problem, const TestFrames& qkv) {
    ASSERT_EQ(refusal(problem).value_or(""), "");
    const auto [want, largest_score] = exact(problem, qkv);
    TestFrames output(problem.storage, 1, want.size());
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        output.poison();
        ASSERT_EQ(attend(problem, qkv, output, seed), "") << "seed " << seed;
        double error = 0, power = 0, worst = 0;
        for (size_t e = 0; e < want.size(); ++e) {
            const double difference = output.get(0, e) - want[e];
            ASSERT_TRUE(std::isfinite(difference)) << e;
            error += difference * difference;
            power += want[e] * want[e];
            worst = std::max(worst, std::abs(difference));
        }
        const double limit = (problem.storage == Element::BF16  ? 4e-3
                              : problem.storage == Element::F16 ? 5e-4
                                                                : 2e-6) +
                             largest_score * 0x1p-22;
        EXPECT_LT(std::sqrt(error / power), limit) << "seed " << seed;
        EXPECT_LT(worst, limit * 8 * std::sqrt(power / static_cast<double>(want.size())) + 1e-7) << "seed " << seed;
    }
}

void expect_attention(const AttentionProblem& problem, float deviation = 1) {
    SCOPED_TRACE(std::string(element_name(problem.storage)) + ", " + std::to_string(problem.tokens) + " tokens of " +
                 std::to_string(problem.channels));
    TestFrames qkv(problem.storage, 1, static_cast<size_t>(problem.tokens * 3 * problem.channels));
    qkv.fill(static_cast<uint64_t>(problem.tokens), deviation);
    expect_attention(problem, qkv);
}

TEST(AttentionGfx950, AgreesWithFp64ReferenceAtAnyNumberOfTokens) {
    for (const Element storage : kStorages) {
        for (const int64_t tokens : {1, 2, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 257}) {
            expect_attention({tokens, 32, storage, 1});
        }
    }
}

TEST(AttentionGfx950, AgreesAtEveryWidth) {
    for (const Element storage : kStorages) {
        for (const int64_t channels : {8, 24, 64, 96, 128, 200, 256, 384}) {
            expect_attention({70, channels, storage, 1});
        }
    }
}

TEST(AttentionGfx950, AgreesWhereAHeadIsTakenInSlices) {
    for (const Element storage : kStorages) {
        for (const int64_t channels : {392, 512, 776, 1024}) expect_attention({40, channels, storage, 1});
    }
    std::mt19937 dice(22);
    for (int i = 0; i < 12; ++i) {
        const auto drawn = [&](int64_t least, int64_t most) {
            return std::uniform_int_distribution<int64_t>(least, most)(dice);
        };
        expect_attention({drawn(1, 150), 8 * drawn(49, 128), kStorages[static_cast<size_t>(i) % std::size(kStorages)],
                          i % 2 == 0 ? 1u : 256u});
    }
}

TEST(AttentionGfx950, JoinsSplitsOfTheKeys) {
    for (const Element storage : kStorages) {
        for (const int64_t tokens : {65, 130, 321}) {
            const AttentionProblem problem{tokens, 96, storage, 256};
            EXPECT_GT(plan(problem).splits, 1u);
            expect_attention(problem);
        }
    }
    const AttentionProblem in_slices{200, 600, Element::BF16, 256};
    EXPECT_GT(plan(in_slices).splits, 1u);
    expect_attention(in_slices);
}

TEST(AttentionGfx950, SurvivesScoresThatGrowWithEveryTile) {
    for (const uint32_t compute_units : {1u, 256u}) {
        const AttentionProblem problem{300, 64, Element::F32, compute_units};
        TestFrames qkv(problem.storage, 1, 300 * 3 * 64);
        qkv.fill(5);
        for (size_t token = 0; token < 300; ++token) {
            for (size_t c = 0; c < 64; ++c) {
                qkv.set(0, token * 192 + c, 1 + 0.1f * qkv.get(0, token * 192 + c));
                qkv.set(0, token * 192 + 64 + c, static_cast<float>(token) / 16);  // up to a score of 150
            }
        }
        expect_attention(problem, qkv);
    }
}

TEST(AttentionGfx950, SurvivesScoresThatOnlyTheMaximumMakesFinite) {
    expect_attention({150, 64, Element::F32, 1}, 8);  // scores of several hundred: e^300 is no float32
}

/// What the attention itself counts on 128 tokens, without a fault.
host_model::WaveOutcome attend_once(const AttentionProblem& problem) {
    const AttentionPlan made = plan(problem);
    const auto values = static_cast<size_t>(128 * problem.channels);
    TestFrames qkv(problem.storage, 1, 3 * values), output(problem.storage, 1, values),
        workspace(Element::F32, 1, made.workspace_bytes / 4);
    qkv.fill(1);
    const AttentionLaunchParams params = make_params(problem, qkv.frame(0), output.frame(0), workspace.frame(0));
    EXPECT_EQ(run_in_model(made.values, params.values, 0).fault.value_or(""), "");
    const host_model::WaveOutcome outcome = run_in_model(made.attend, params.attend, 0);
    EXPECT_EQ(outcome.fault.value_or(""), "");
    return outcome;
}

/// Reads of the tiles with a width whose rows are whole laps of the banks.
TEST(AttentionGfx950, ReadsLdsWithoutBankConflicts) {
    for (const int64_t channels : {64, 128, 256, 384}) {
        const AttentionProblem problem{128, channels, Element::BF16, 1};
        const host_model::WaveOutcome outcome = attend_once(problem);
        EXPECT_EQ(outcome.lds_read_conflicts, 0u) << channels;
        // Two tiles of 64 keys: as many operands of K as of V, each for one product.
        const auto operands = static_cast<uint64_t>(8 * 2 * 2 * channels / 32 * 4);
        EXPECT_EQ(outcome.matrix_products, operands);
        EXPECT_EQ(outcome.lds_reads, operands);
        EXPECT_EQ(outcome.loads_to_lds, static_cast<uint64_t>(2 * (2 + 1) * channels * 128 / 1024));
    }
}

TEST(AttentionGfx950, ReadsLdsWithoutBankConflictsInSlices) {
    const AttentionProblem problem{128, 1024, Element::BF16, 1};
    const host_model::WaveOutcome outcome = attend_once(problem);
    EXPECT_EQ(outcome.lds_read_conflicts, 0u);
    // Two blocks of queries, four slices, four waves; two tiles of 64 keys with 128 products for the scores over all
    // channels and 32 for the slice of the values.
    EXPECT_EQ(outcome.matrix_products, uint64_t{2 * 4 * 4 * 2 * (128 + 32)});
    EXPECT_EQ(outcome.lds_reads, outcome.matrix_products);
    // Five parts of 32 KiB a tile, and two that fill the ring.
    EXPECT_EQ(outcome.loads_to_lds, uint64_t{2 * 4 * (2 * 5 + 2) * 32});
}

// ---- planted faults
// -----------------------------------------------------------------------------------------------------

struct NoWait {
    template <uint32_t kPending>
    static void tile_landed() {
        amd::sync_workgroup();
    }
};
struct OneLoadTooFew {
    template <uint32_t kPending>
    static void tile_landed() {
        amd::wait_vector_memory<kPending + 1>();
        amd::sync_workgroup();
    }
};
struct NoBarrier {
    template <uint32_t kPending>
    static void tile_landed() {
        amd::wait_vector_memory<kPending>();
        amd::wait_lds();
    }
};
struct ReadsStillOut {
    template <uint32_t kPending>
    static void tile_landed() {
        amd::wait_vector_memory<kPending>();
        amd::barrier();
    }
};
struct WaitsAfterTheBarrier {
    template <uint32_t kPending>
    static void tile_landed() {
        amd::sync_workgroup();
        amd::wait_vector_memory<kPending>();
    }
};

/// The kernel with that synchronisation is stopped under every schedule, with this sentence.
template <class Sync, class Config = AttentionConfig<Element::BF16, 128>>
void expect_fault(const std::string& sentence, int64_t tokens = 300) {
    const AttentionProblem problem{tokens, Config::kWidth, Element::BF16, 1};
    const auto elements = static_cast<size_t>(tokens) * Config::kWidth;
    TestFrames qkv(problem.storage, 1, elements * 3), output(problem.storage, 1, elements);
    TestFrames workspace(Element::F32, 1, plan(problem).workspace_bytes / 4);
    qkv.fill(2);
    const AttentionLaunchParams params = make_params(problem, qkv.frame(0), output.frame(0), workspace.frame(0));
    const host_model::ModelKernel kernel{
        "planted", sizeof(AttentionParams), Config::kThreads,
        [](const void* p) { AttentionKernel<Config, Sync>(*static_cast<const AttentionParams*>(p)).run(); }};
    const LaunchShape shape = plan(problem).attend;
    ASSERT_EQ(run_in_model(plan(problem).values, params.values, 0).fault.value_or(""), "");
    for (uint64_t seed = 0; seed < 2 * kSchedules; ++seed) {
        const auto fault =
            host_model::launch_waves(kernel, {.grid = {shape.grid_x, shape.grid_y, shape.grid_z}, .seed = seed},
                                     &params.attend)
                .fault;
        EXPECT_NE(fault.value_or("no fault").find(sentence), std::string::npos)
            << "seed " << seed << ": " << fault.value_or("no fault");
    }
}

TEST(AttentionGfx950Faults, TheRightSynchronisationHasNone) { expect_fault<AttentionSync>("no fault"); }
TEST(AttentionGfx950Faults, ATileIsReadBeforeItHasLanded) { expect_fault<NoWait>("reads LDS"); }
TEST(AttentionGfx950Faults, OneLoadOfATileIsNotWaitedFor) { expect_fault<OneLoadTooFew>("reads LDS"); }
TEST(AttentionGfx950Faults, OtherWavesSharesAreReadWithoutABarrier) { expect_fault<NoBarrier>("LDS"); }
TEST(AttentionGfx950Faults, ASlotIsFilledWhileReadsOfItAreStillOut) { expect_fault<ReadsStillOut>("LDS"); }
TEST(AttentionGfx950Faults, SharesAreWaitedForAfterTheBarrier) { expect_fault<WaitsAfterTheBarrier>("reads LDS"); }

using Sliced = AttentionConfig<Element::BF16, 1024, kAttentionSlice>;

TEST(AttentionGfx950Faults, TheRightSynchronisationOfSlicesHasNone) {
    expect_fault<AttentionSync, Sliced>("no fault", 100);
}
TEST(AttentionGfx950Faults, OneLoadOfASliceIsNotWaitedFor) { expect_fault<OneLoadTooFew, Sliced>("reads LDS", 100); }
TEST(AttentionGfx950Faults, ASlotIsFilledWhileReadsOfASliceAreStillOut) {
    expect_fault<ReadsStillOut, Sliced>("LDS", 100);
}

TEST(AttentionGfx950Faults, ValuesInAnotherOrderOfKeysGiveAnotherResult) {
    const AttentionProblem problem{64, 64, Element::F32, 1};
    TestFrames qkv(problem.storage, 1, 64 * 192), output(problem.storage, 1, 64 * 64);
    TestFrames workspace(Element::F32, 1, plan(problem).workspace_bytes / 4);
    qkv.fill(4);
    for (size_t c = 0; c < 64; ++c) {  // transposed, but each key at its own place
        for (size_t key = 0; key < 64; ++key) workspace.set(0, c * 64 + key, qkv.get(0, key * 192 + 128 + c));
    }
    const AttentionLaunchParams params = make_params(problem, qkv.frame(0), output.frame(0), workspace.frame(0));
    ASSERT_EQ(run_in_model(plan(problem).attend, params.attend, 0).fault.value_or(""), "");
    const std::vector<double> want = exact(problem, qkv).output;
    double error = 0, power = 0;
    for (size_t e = 0; e < want.size(); ++e) {
        error += std::pow(output.get(0, e) - want[e], 2);
        power += want[e] * want[e];
    }
    EXPECT_GT(std::sqrt(error / power), 0.5);
}

// ---- the launch
// -----------------------------------------------------------------------------------------------------------

TEST(AttentionGfx950Launch, SplitsTheKeysUntilTheDeviceIsBusy) {
    const auto splits = [](int64_t tokens, uint32_t compute_units) {
        return attention_splits({tokens, 384, Element::BF16, compute_units});
    };
    EXPECT_EQ(splits(64, 256), 1u);     // one tile
    EXPECT_EQ(splits(128, 1), 1u);      // no other workgroup to share it with
    EXPECT_EQ(splits(6240, 256), 5u);   // 832x480: 49 workgroups of queries, 245 of 256 units busy
    EXPECT_EQ(splits(14080, 256), 2u);  // 1280x704: 110, 220 busy
    EXPECT_EQ(splits(20000 * 8, 256), 1u);
}

TEST(AttentionGfx950Launch, TakesWideHeadsInSlicesOfTheirChannels) {
    const auto attend = [](int64_t channels) { return plan({880, channels, Element::BF16, 1}).attend; };
    EXPECT_EQ(attend(384).kernel, "kinetograph_attention_bf16_384");
    EXPECT_EQ(attend(384).grid_z, 1u);
    EXPECT_EQ(attend(392).kernel, "kinetograph_attention_bf16_1024");
    EXPECT_EQ(attend(392).grid_z, 2u);
    const LaunchShape widest = attend(1024);
    EXPECT_EQ(widest.grid_x, 14u);
    EXPECT_EQ(widest.grid_z, 4u);
    EXPECT_EQ(widest.threads, 256u);
    // A workgroup sums a slice of half the queries, so there are eight times as many, and fewer splits fill the device.
    EXPECT_EQ(attention_key_tiles({3520, 1024, Element::BF16, 256}, 1), 57);  // 1280x704: 220 workgroups, 55 tiles
    EXPECT_EQ(attention_splits({3520, 1024, Element::BF16, 256}), 1u);
}

TEST(AttentionGfx950Launch, LeavesNoSplitWithoutKeys) {
    for (int64_t tokens = 1; tokens < 3000; tokens += 13) {
        const AttentionPlan made = plan({tokens, 64, Element::F16, 256});
        EXPECT_LT((made.splits - 1) * made.split_tokens, tokens);
        EXPECT_GE(made.splits * made.split_tokens, tokens);
        EXPECT_GE(made.padded_tokens, tokens);
    }
}

TEST(AttentionGfx950Launch, RefusesOtherWidths) {
    EXPECT_EQ(*refusal(AttentionProblem{10, 1032}),
              "attention of a head of 1032 channels: the kernels take multiples of 8 up to 1024");
    EXPECT_EQ(*refusal(AttentionProblem{10, 36}),
              "attention of a head of 36 channels: the kernels take multiples of 8 up to 1024");
    EXPECT_EQ(*refusal(AttentionProblem{0, 64}), "attention over 0 tokens");
    EXPECT_EQ(*refusal(AttentionProblem{1'000'000, 384}),
              "attention: qkv of 2304000000 bytes; a buffer descriptor spans 1 to 2147483392");
}

}  // namespace
}  // namespace kinetograph::gfx950
