#pragma once

#include <gtest/gtest.h>
#include <algorithm>

#include <cmath>
#include <cstring>
#include <kinetograph/kernels/hip/gfx950/passes/launch_shape.hpp>
#include <kinetograph/kernels/host_model/kernel_registry.hpp>
#include <kinetograph/kernels/host_model/wave_launch.hpp>
#include <kinetograph/kernels/isa/element.hpp>
#include <kinetograph/tests/kernels/stored_values.hpp>
#include <random>
#include <vector>

/// Runs passes for tests: frames between guards, launched as by a caller, in the model instead of on a device.
namespace kinetograph::gfx950 {

inline constexpr uint64_t kSchedules = 3;  // late, early and mixed landing

/// Frames apart in memory, 16-byte aligned; everything is initially NaN.
class TestFrames {
  public:
    TestFrames(Element storage, size_t frames, size_t elements) : storage_(storage), elements_(elements) {
        const size_t bytes = elements * element_bytes(storage) + 2 * kGuard;
        memory_.assign(frames, std::vector<Block>((bytes + 15) / 16));
        poison();
    }

    size_t frames() const { return memory_.size(); }
    size_t elements() const { return elements_; }
    std::byte* frame(size_t i) { return reinterpret_cast<std::byte*>(memory_[i].data()) + kGuard; }
    const std::byte* frame(size_t i) const { return reinterpret_cast<const std::byte*>(memory_[i].data()) + kGuard; }
    std::vector<const std::byte*> inputs() const {
        std::vector<const std::byte*> result(frames());
        for (size_t i = 0; i < frames(); ++i) result[i] = frame(i);
        return result;
    }
    std::vector<std::byte*> outputs() {
        std::vector<std::byte*> result(frames());
        for (size_t i = 0; i < frames(); ++i) result[i] = frame(i);
        return result;
    }

    void poison() {
        for (auto& frame : memory_) std::memset(frame.data(), 0xff, frame.size() * sizeof(Block));
    }
    float get(size_t frame_index, size_t element) const {
        return static_cast<float>(test::load_value(storage_, frame(frame_index), element));
    }
    void set(size_t frame_index, size_t element, float value) {
        test::store_value(storage_, frame(frame_index), element, value);
    }
    /// Normal numbers with this deviation.
    void fill(uint64_t seed, float deviation = 1) {
        std::mt19937_64 dice(seed);
        std::normal_distribution<float> normal(0, deviation);
        for (size_t i = 0; i < frames(); ++i) {
            for (size_t e = 0; e < elements_; ++e) set(i, e, normal(dice));
        }
    }
    void expect_guards() const {
        for (size_t i = 0; i < frames(); ++i) {
            const std::byte* const begin = frame(i);
            const std::byte* const end = begin + elements_ * element_bytes(storage_);
            for (size_t b = 1; b <= kGuard; ++b) {
                ASSERT_EQ(begin[-static_cast<std::ptrdiff_t>(b)], std::byte{0xff}) << "before frame " << i;
                ASSERT_EQ(end[b - 1], std::byte{0xff}) << "after frame " << i;
            }
        }
    }

  private:
    static constexpr size_t kGuard = 64;
    struct alignas(16) Block {
        std::byte bytes[16];
    };
    Element storage_;
    size_t elements_;
    std::vector<std::vector<Block>> memory_;
};

template <class Params>
host_model::WaveOutcome run_in_model(const LaunchShape& shape, const Params& params, uint64_t seed) {
    const host_model::ModelKernel* const kernel = host_model::find_model_kernel(shape.kernel);
    if (kernel == nullptr) return {.fault = "no kernel " + shape.kernel};
    if (kernel->threads != shape.threads || kernel->parameter_bytes != sizeof(Params)) {
        return {.fault = shape.kernel + " is launched with other threads or parameters than it has"};
    }
    return host_model::launch_waves(*kernel, {.grid = {shape.grid_x, shape.grid_y, shape.grid_z}, .seed = seed},
                                    &params);
}

/// Runs under every schedule; `judge` checks the results of each.
template <class Params, class Before, class Judge>
void expect_pass(const LaunchShape& shape, const Params& params, const Before& before, const Judge& judge) {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        before();
        ASSERT_EQ(run_in_model(shape, params, seed).fault.value_or(""), "") << shape.kernel << ", seed " << seed;
        judge();
        if (testing::Test::HasFailure()) FAIL() << shape.kernel << ", seed " << seed;
    }
}

/// The allowed error of a float32 result, rounded once: half a unit in the last place of the storage, plus a margin for
/// float32.
inline double tolerance(Element storage, double exact) {
    const double rounding = storage == Element::F32 ? 0 : storage == Element::BF16 ? 0x1p-9 : 0x1p-12;
    const double smallest = storage == Element::F16 ? 0x1p-25 : 1e-38;
    return std::abs(exact) * (rounding * 2 + 4e-6) + smallest;
}

inline constexpr Element kStorages[] = {Element::F32, Element::BF16, Element::F16};

}  // namespace kinetograph::gfx950
