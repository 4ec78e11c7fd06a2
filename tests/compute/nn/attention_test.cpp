#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/conv/test_frames.hpp>
#include <kinetograph/tests/compute/nn/enqueue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>

namespace kinetograph::nn {
namespace {

using conv::FrameLayout;
using conv::TestFrames;
using tensor::DType;

/// The CPU without its instruction sets: bf16 products must be widened.
class PlainDevice final : public accel::Device {
  public:
    PlainDevice() : inner_(accel::cpu::create_device()), info_(inner_->info()) { info_.features.clear(); }
    const accel::DeviceInfo& info() const override { return info_; }
    Result<std::unique_ptr<accel::Memory>> allocate(std::string_view name, std::uint64_t bytes) override {
        return inner_->allocate(name, bytes);
    }
    Result<std::unique_ptr<accel::Memory>> allocate_pinned(std::string_view name, std::uint64_t bytes) override {
        return inner_->allocate_pinned(name, bytes);
    }
    Result<std::unique_ptr<accel::Memory>> import_host(std::string_view name, std::span<std::byte> memory) override {
        return inner_->import_host(name, memory);
    }
    Result<std::unique_ptr<accel::Memory>> import_memory(std::string_view name,
                                                         const accel::ExternalMemoryDesc& desc) override {
        return inner_->import_memory(name, desc);
    }
    Result<std::shared_ptr<accel::Timeline>> import_timeline(int fd,
                                                             std::shared_ptr<accel::Timeline> original) override {
        return inner_->import_timeline(fd, std::move(original));
    }
    Result<std::shared_ptr<accel::Module>> load(std::string_view name, std::span<const std::byte> image) override {
        return inner_->load(name, image);
    }
    Result<std::unique_ptr<accel::Stream>> create_stream(std::string_view name) override {
        return inner_->create_stream(name);
    }
    Result<std::shared_ptr<accel::Timeline>> create_timeline() override { return inner_->create_timeline(); }
    Result<std::shared_ptr<accel::Event>> create_event() override { return inner_->create_event(); }
    std::uint64_t bytes_allocated() const override { return inner_->bytes_allocated(); }
    std::uint64_t peak_bytes() const override { return inner_->peak_bytes(); }
    std::uint64_t bytes_free() const override { return inner_->bytes_free(); }
    std::uint64_t budget_bytes() const override { return inner_->budget_bytes(); }
    void set_budget(accel::MemoryBudget budget) override { inner_->set_budget(std::move(budget)); }

  private:
    std::unique_ptr<accel::Device> inner_;
    accel::DeviceInfo info_;
};

/// The definition in fp64, one frame of [tokens, 3 * channels].
void add_reference(const float* qkv, std::int64_t tokens, std::int64_t channels, std::vector<float>& out) {
    std::vector<double> scores(tokens), sums(channels);
    for (std::int64_t i = 0; i < tokens; ++i) {
        double largest = -1e300, total = 0;
        for (std::int64_t j = 0; j < tokens; ++j) {
            double dot = 0;
            for (std::int64_t c = 0; c < channels; ++c) {
                dot += static_cast<double>(qkv[i * 3 * channels + c]) * qkv[(j * 3 + 1) * channels + c];
            }
            scores[j] = dot / std::sqrt(static_cast<double>(channels));
            largest = std::max(largest, scores[j]);
        }
        std::ranges::fill(sums, 0.0);
        for (std::int64_t j = 0; j < tokens; ++j) {
            const double weight = std::exp(scores[j] - largest);
            total += weight;
            for (std::int64_t c = 0; c < channels; ++c) sums[c] += weight * qkv[(j * 3 + 2) * channels + c];
        }
        for (const double sum : sums) out.push_back(static_cast<float>(sum / total));
    }
}

std::shared_ptr<const Operator> attention_on(accel::Device& device, std::int64_t tokens, std::int64_t channels,
                                             DType dtype) {
    return Operators::create(device).value()->get(conv::AttentionProblem{tokens, channels, dtype, dtype}).value();
}

struct Outcome {
    std::vector<float> values, wanted;
    bool gaps_untouched = false;
};

Outcome run_random(accel::Device& device, std::int64_t tokens, std::int64_t channels, DType dtype,
                   float sharpness = 1) {
    std::mt19937_64 random(static_cast<std::uint64_t>(tokens * 1000 + channels));
    std::normal_distribution<float> normal(0, sharpness);
    const auto stream = device.create_stream("test").value();
    const auto attention = attention_on(device, tokens, channels, dtype);
    const auto workspace = device.allocate("workspace", attention->workspace_bytes()).value();
    std::memset(workspace->data(), 0xFF, workspace->bytes());
    TestFrames qkv(1, 2, tokens * 3 * channels, dtype, FrameLayout::Scattered);
    TestFrames output(1, 2, tokens * channels, dtype, FrameLayout::EveryOther);
    qkv.fill([&](auto, auto) { return normal(random); });
    const auto inputs = qkv.readable();
    EXPECT_TRUE(attention->enqueue(*stream, "attention",
                                   {.input = inputs, .output = output.writable(), .workspace = workspace->data()}));
    EXPECT_TRUE(stream->synchronize());
    Outcome run{output.values(), {}, output.gaps_untouched()};
    const auto stored = qkv.values();
    for (std::int64_t frame = 0; frame < 2; ++frame) {
        add_reference(stored.data() + frame * tokens * 3 * channels, tokens, channels, run.wanted);
    }
    return run;
}

// float32: 2e-6 of the golden README for float32 accumulation. bf16: weights and output are rounded, 6e-3 for several
// operations.
double limit(DType dtype) { return dtype == DType::F32 ? 2e-6 : 6e-3; }

TEST(AttentionTest, AgreesWithItsDefinitionForRaggedBlocksOfQueries) {
    const auto device = accel::cpu::create_device();
    for (const DType dtype : {DType::F32, DType::BF16}) {
        for (const auto& [tokens, channels] : {std::pair{1, 8}, {7, 96}, {48, 96}, {256, 32}, {300, 128}, {515, 24}}) {
            const Outcome run = run_random(*device, tokens, channels, dtype);
            SCOPED_TRACE(fmt::format("{} tokens, {} channels, {}", tokens, channels, tensor::to_string(dtype)));
            EXPECT_LE(conv::difference(run.values, run.wanted).relative_l2, limit(dtype));
            EXPECT_TRUE(run.gaps_untouched);
        }
    }
}

TEST(AttentionTest, MayBeDestroyedOnceItsWorkIsEnqueued) {
    const auto device = accel::cpu::create_device();
    const auto stream = device->create_stream("test").value();
    const auto gate = device->create_timeline().value();
    constexpr std::int64_t kTokens = 9, kChannels = 8;
    auto attention = attention_on(*device, kTokens, kChannels, DType::F32);
    const auto workspace = device->allocate("workspace", attention->workspace_bytes()).value();
    const std::vector<float> qkv(kTokens * 3 * kChannels, 0.5F);
    std::vector<float> output(kTokens * kChannels);
    const std::array<const std::byte*, 1> in{reinterpret_cast<const std::byte*>(qkv.data())};
    const std::array<std::byte*, 1> out{reinterpret_cast<std::byte*>(output.data())};
    stream->wait(gate, 1);
    ASSERT_TRUE(attention->enqueue(*stream, "attention", {.input = in, .output = out, .workspace = workspace->data()}));
    attention.reset();
    gate->signal(1);
    ASSERT_TRUE(stream->synchronize());
    for (const float value : output) EXPECT_NEAR(value, 0.5F, 1e-6F);
}

TEST(AttentionTest, WidensBf16OnAProcessorWithoutProductsOfIt) {
    PlainDevice device;
    const Outcome run = run_random(device, 300, 40, DType::BF16);
    EXPECT_LE(conv::difference(run.values, run.wanted).relative_l2, 2.5e-3);  // only the output is rounded
}

TEST(AttentionTest, StaysFiniteWhenScoresAreLarge) {
    const auto device = accel::cpu::create_device();
    const Outcome run = run_random(*device, 64, 64, DType::F32, 12);        // scores of several hundred
    EXPECT_LE(conv::difference(run.values, run.wanted).relative_l2, 1e-4);  // score error 1e-7 * 1000 in the exponent
}

TEST(AttentionTest, NeedsMemoryThatGrowsWithTheTokensNotWithTheirSquare) {
    const auto device = accel::cpu::create_device();
    const auto small = attention_on(*device, 10'000, 384, DType::F32);
    const auto large = attention_on(*device, 20'000, 384, DType::F32);
    EXPECT_LT(large->workspace_bytes(), 3 * small->workspace_bytes());
    EXPECT_LT(large->workspace_bytes(), 64U << 20);  // 20,000 squared would be 1.6 GB
}

TEST(AttentionTest, RefusesAbsurdSizesAndHalves) {
    const auto device = accel::cpu::create_device();
    const auto operators = Operators::create(*device).value();
    const auto none = operators->get(conv::AttentionProblem{0, 8, DType::F32, DType::F32});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message, "attention wants 1 to 1048576 tokens, met 0");
    const auto half = operators->get(conv::AttentionProblem{8, 8, DType::F16, DType::F16});
    ASSERT_FALSE(half);
    EXPECT_EQ(half.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(half.error().message, "attention on " + device->info().name + ": onednn-cpu wants F32 or BF16, met F16");
}

}  // namespace
}  // namespace kinetograph::nn
