// Every call on a model, a clip and its states, by several threads at a time and in drawn order, for
// KINETOGRAPH_CHAOS_SECONDS (3).
#include "c_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>

namespace kinetograph::c::testing {
namespace {

/// The beginning of a DLManagedTensor: what its consumer needs to let go of it.
struct ExportedTensor {
    std::byte tensor[48];
    void* context;
    void (*deleter)(ExportedTensor*);
};

class CRaces : public CTest {
  protected:
    static constexpr std::uint64_t kShort = 2'000'000;

    /// A call of any thread. What it may return beside KG_OK: time-outs, the end by a cancel, another thread's turn,
    /// and what a parked, rewound or cancelled clip refuses.
    void expect(kg_result result, const char* call) {
        constexpr kg_result kAllowed[] = {
            KG_OK, KG_TIMEOUT, KG_END, KG_ERROR_CANCELLED, KG_ERROR_BUSY, KG_ERROR_INVALID_ARGUMENT};
        EXPECT_TRUE(std::ranges::count(kAllowed, result) == 1) << call << ": " << result << ": " << kg_last_error();
        if (result < 0) {
            EXPECT_STRNE(kg_last_error(), "") << call;
        }
        ++calls_;
    }

    void take_a_frame(kg_clip* clip, bool exports) {
        auto frame = sized<kg_frame>();
        const kg_result got = kg_clip_acquire(clip, 0, kShort, &frame);
        expect(got, "kg_clip_acquire");
        if (got != KG_OK) return;
        std::uint32_t finite = 0;
        expect(kg_clip_finite(clip, frame.id, &finite), "kg_clip_finite");
        expect(kg_clip_wait(clip, frame.id, nullptr), "kg_clip_wait");
        void* tensor = nullptr;
        if (exports && kg_clip_export(clip, frame.id, KG_LAYOUT_HWC, &tensor) == KG_OK) {
            auto* const made = static_cast<ExportedTensor*>(tensor);
            made->deleter(made);
        }
        EXPECT_EQ(kg_clip_release(clip, frame.id, nullptr), KG_OK) << kg_last_error();
    }

    void keep_state(kg_clip* clip) {
        kg_state* made = nullptr;
        expect(kg_clip_save(clip, kShort, &made), "kg_clip_save");
        if (made == nullptr) return;
        const Owned<kg_state> state(made);
        auto info = sized<kg_state_info>();
        EXPECT_EQ(kg_state_describe(made, &info), KG_OK) << kg_last_error();
        expect(kg_clip_load(clip, made, kShort), "kg_clip_load");
    }

    void fork(kg_clip* clip) {
        auto desc = sized<kg_clip_desc>();
        kg_clip* made = nullptr;
        expect(kg_clip_fork(clip, &desc, kShort, &made), "kg_clip_fork");
        if (made != nullptr) kg_clip_destroy(made);
    }

    void make_another_clip() {
        auto desc = sized<kg_clip_desc>();
        auto info = sized<kg_clip_info>();
        EXPECT_EQ(kg_model_declare_clip(model_.get(), kHeight, kWidth, &desc, &info), KG_OK) << kg_last_error();
        const auto other = clip();
        EXPECT_EQ(kg_clip_push(other.get(), &latents_, kLong, nullptr), KG_OK) << kg_last_error();
    }

    void describe(kg_clip* clip) {
        auto of_clip = sized<kg_clip_info>();
        EXPECT_EQ(kg_clip_describe(clip, &of_clip), KG_OK) << kg_last_error();
        auto of_model = sized<kg_model_info>();
        EXPECT_EQ(kg_model_describe(model_.get(), &of_model), KG_OK) << kg_last_error();
        auto of_weights = sized<kg_weights_info>();
        EXPECT_EQ(kg_weights_describe(weights_.get(), &of_weights), KG_OK) << kg_last_error();
    }

    std::vector<float> values_ = latents_of(1);
    kg_latents latents_ = view_of(values_);
    std::atomic<std::uint64_t> calls_ = 0;
};

TEST_F(CRaces, OfEveryCallEndInAStatusAndLeaveTheClipUsable) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(2);
    const auto wanted = decode(clip().get(), values);
    auto desc = sized<kg_clip_desc>();
    desc.rewind_steps = 2;
    desc.fps = 25.0;
    kg_clip* made = nullptr;
    ASSERT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_OK) << kg_last_error();
    const Owned<kg_clip> raced(made);
    const std::vector<std::function<void()>> kinds{
        [&] { expect(kg_clip_push(made, &latents_, kShort, nullptr), "kg_clip_push"); },
        [&] { expect(kg_clip_push(made, &latents_, kShort, nullptr), "kg_clip_push"); },
        [&] { take_a_frame(made, false); },
        [&] { take_a_frame(made, true); },
        [&] { describe(made); },
        [&] { expect(kg_clip_reset(made), "kg_clip_reset"); },
        [&] { expect(kg_clip_cancel(made), "kg_clip_cancel"); },
        [&] { keep_state(made); },
        [&] { expect(kg_clip_rewind(made, 1, kShort), "kg_clip_rewind"); },
        [&] { expect(kg_clip_park(made, kShort), "kg_clip_park"); },
        [&] { expect(kg_clip_resume(made, kShort), "kg_clip_resume"); },
        [&] { fork(made); },
        [&] { make_another_clip(); },
    };
    const char* const given = std::getenv("KINETOGRAPH_CHAOS_SECONDS");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(given != nullptr ? std::atoi(given) : 3);
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 4; ++seed)
        threads.emplace_back([&, seed] {
            std::mt19937 draw(seed);
            while (std::chrono::steady_clock::now() < end && !HasFailure()) kinds[draw() % kinds.size()]();
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(calls_, 50U);
    ASSERT_EQ(kg_clip_reset(made), KG_OK) << kg_last_error();
    EXPECT_EQ(decode(made, values), wanted);
}

}  // namespace
}  // namespace kinetograph::c::testing
