// Memory behind kinetograph.h on the CPU: whose it is, how much there may be, and tensors that lie in it.
#include "c_fixture.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace kinetograph::c::testing {
namespace {

using CInterface = CTest;

/// The beginning of dlpack.h's DLManagedTensor.
struct Tensor {
    const std::uint8_t* data;
    std::int32_t device_type, device_id, dimensions;
    std::uint8_t code, bits;
    std::uint16_t lanes;
    const std::int64_t *shape, *strides;
    std::uint64_t byte_offset;
    void* context;
    void (*deleter)(Tensor*);
};

TEST_F(CInterface, WhatWasAllocatedOnTheDeviceIsFreedWithTheClips) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto bytes_with = [&] {
        const auto made = clip();
        decode(made.get(), latents_of(2));
        auto info = sized<kg_clip_info>();
        EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK);
        return info.device_bytes;
    };
    const std::uint64_t first = bytes_with();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(bytes_with(), first);
}

TEST_F(CInterface, WeightsInMemoryAreReleasedWhenNothingUsesThem) {
    std::array<char, 8> nonsense{1, 2, 3};
    std::atomic<int> released{0};
    const auto release = [](void* user) { ++*static_cast<std::atomic<int>*>(user); };
    kg_weights* weights = nullptr;
    EXPECT_SENTENCE(
        kg_weights_parse(instance_.get(), nonsense.data(), nonsense.size(), "a download", release, &released, &weights),
        KG_ERROR_CORRUPT, "a download: ");
    EXPECT_EQ(released, 1);
    EXPECT_EQ(kg_weights_parse(nullptr, nonsense.data(), nonsense.size(), nullptr, release, &released, &weights),
              KG_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(released, 2);
    std::ifstream file(KINETOGRAPH_ASSETS "/demo_vae.safetensors", std::ios::binary);
    const std::string contents{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    ASSERT_EQ(
        kg_weights_parse(instance_.get(), contents.data(), contents.size(), nullptr, release, &released, &weights),
        KG_OK)
        << kg_last_error();
    const auto desc = [] {
        auto made = sized<kg_model_desc>();
        made.device = "cpu";
        return made;
    }();
    kg_model* model = nullptr;
    ASSERT_EQ(kg_model_create(weights, &desc, &model), KG_OK) << kg_last_error();
    kg_weights_destroy(weights);
    EXPECT_EQ(released, 2);
    kg_model_destroy(model);
    EXPECT_EQ(released, 3);
}

TEST_F(CInterface, LargeBuffersComeFromTheApplicationsAllocatorAndGoBack) {
    struct Counter {
        std::atomic<std::int64_t> bytes{0};
        std::atomic<int> calls{0};
    } counter;
    auto desc = sized<kg_instance_desc>();
    desc.allocator_user = &counter;
    desc.allocate = [](void* user, std::uint64_t bytes, std::uint64_t alignment) {
        static_cast<Counter*>(user)->bytes += static_cast<std::int64_t>(bytes);
        ++static_cast<Counter*>(user)->calls;
        return std::aligned_alloc(alignment, bytes);
    };
    kg_instance* instance = nullptr;
    EXPECT_SENTENCE(kg_instance_create(&desc, &instance), KG_ERROR_INVALID_ARGUMENT, "both or neither");
    desc.release = [](void* user, void* memory, std::uint64_t bytes) {
        static_cast<Counter*>(user)->bytes -= static_cast<std::int64_t>(bytes);
        std::free(memory);
    };
    ASSERT_EQ(kg_instance_create(&desc, &instance), KG_OK) << kg_last_error();
    instance_.reset(instance);
    ASSERT_NO_FATAL_FAILURE(open());
    EXPECT_EQ(decode(clip().get(), latents_of(2)).size(), 5U);
    EXPECT_GT(counter.calls, 0);
    EXPECT_GT(counter.bytes, 0);
    model_.reset();
    weights_.reset();
    EXPECT_EQ(counter.bytes, 0);
}

TEST_F(CInterface, ABudgetThatNothingCanBeDecodedWithIsRefusedWithWhatIsNeeded) {
    ASSERT_NO_FATAL_FAILURE(open());
    auto desc = sized<kg_model_desc>();
    desc.device = "cpu";
    const auto refusal = [&](std::uint64_t budget) -> std::string {
        desc.memory_budget = budget;
        kg_model* model = nullptr;
        const kg_result result = kg_model_create(weights_.get(), &desc, &model);
        const Owned<kg_model> owned(model);
        if (result == KG_OK) return "";
        EXPECT_EQ(result, KG_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(model, nullptr);
        return kg_last_error();
    };
    const std::string sentence = refusal(1);
    const std::string before = "decoding latents of 1x1 needs at least ";
    ASSERT_NE(sentence.find(before), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("more than the budget of 1 bytes"), std::string::npos) << sentence;
    const std::uint64_t needed = std::stoull(sentence.substr(sentence.find(before) + before.size()));
    EXPECT_GT(needed, 4096U);
    EXPECT_NE(refusal(needed - 1), "");
    EXPECT_EQ(refusal(needed), "");
}

TEST_F(CInterface, AMemoryBudgetHoldsAndTheApplicationIsAskedToMakeRoom) {
    ASSERT_NO_FATAL_FAILURE(open());
    auto desc = sized<kg_model_desc>();
    desc.device = "cpu";
    desc.memory_budget = 1'000'000;
    int asked = 0;
    desc.memory_pressure_user = &asked;
    desc.on_memory_pressure = [](void* user, const char* name, std::uint64_t bytes,
                                 std::uint64_t free) -> std::uint32_t {
        EXPECT_STRNE(name, "");
        EXPECT_GT(bytes, free);
        ++*static_cast<int*>(user);
        return 0;
    };
    kg_model* model = nullptr;
    ASSERT_EQ(kg_model_create(weights_.get(), &desc, &model), KG_OK) << kg_last_error();
    const Owned<kg_model> owned(model);
    auto clip_desc = sized<kg_clip_desc>();
    clip_desc.slots = 20;  // of 64 KiB
    kg_clip* made = nullptr;
    EXPECT_SENTENCE(kg_clip_create(model, 16, 16, &clip_desc, &made), KG_ERROR_OUT_OF_MEMORY, "the budget of 1.0 MiB");
    EXPECT_GE(asked, 1) << "before each allocation that is refused";
}

TEST_F(CInterface, ATensorOfAFrameKeepsItUntilItIsDeleted) {
    ASSERT_NO_FATAL_FAILURE(open());
    auto made = clip();
    const auto values = latents_of(1);
    const kg_latents latents = view_of(values);
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK);
    ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK);
    constexpr std::int64_t kRow = kFrameWidth * 4;
    using Three = std::array<std::int64_t, 3>;
    const std::array<std::pair<Three, Three>, 3> by_layout{
        {{{kFrameHeight, kFrameWidth, 3}, {kRow, 4, 1}},    // KG_LAYOUT_HWC
         {{3, kFrameHeight, kFrameWidth}, {1, kRow, 4}},    // KG_LAYOUT_CHW
         {{kFrameHeight, kFrameWidth, 4}, {kRow, 4, 1}}}};  // KG_LAYOUT_HWC4
    std::vector<Tensor*> tensors;
    for (std::uint32_t layout = 0; layout < by_layout.size(); ++layout) {
        void* exported = nullptr;
        ASSERT_EQ(kg_clip_export(made.get(), frame.id, layout, &exported), KG_OK) << kg_last_error();
        auto* const tensor = static_cast<Tensor*>(exported);
        EXPECT_EQ(tensor->data, frame.planes[0]);
        EXPECT_EQ(std::make_tuple(tensor->device_type, tensor->code, tensor->bits, tensor->lanes),
                  std::make_tuple(1, 1, 8, 1));
        ASSERT_EQ(tensor->dimensions, 3);
        EXPECT_TRUE(std::equal(by_layout[layout].first.begin(), by_layout[layout].first.end(), tensor->shape));
        EXPECT_TRUE(std::equal(by_layout[layout].second.begin(), by_layout[layout].second.end(), tensor->strides));
        tensors.push_back(tensor);
    }
    const auto held = [&] {
        auto info = sized<kg_clip_info>();
        EXPECT_EQ(kg_clip_describe(made.get(), &info), KG_OK);
        return info.frames_acquired;
    };
    ASSERT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
    EXPECT_SENTENCE(kg_clip_release(made.get(), frame.id, nullptr), KG_ERROR_INVALID_ARGUMENT, "released already");
    EXPECT_EQ(held(), 1U);
    for (int i = 0; i < 2; ++i) {
        tensors.back()->deleter(tensors.back());
        tensors.pop_back();
    }
    EXPECT_EQ(held(), 1U);
    const std::vector<std::uint8_t> before(tensors[0]->data, tensors[0]->data + kRow * kFrameHeight);
    made.reset();  // the tensor keeps what it reads
    EXPECT_TRUE(std::equal(before.begin(), before.end(), tensors[0]->data));
    tensors[0]->deleter(tensors[0]);
}

/// Of the library's that decode files.
std::size_t decoding_threads() {
    const auto is_one = [](const std::filesystem::directory_entry& thread) {
        std::string name;
        std::getline(std::ifstream(thread.path() / "comm"), name);
        return name == "step loop";
    };
    const std::filesystem::directory_iterator threads("/proc/self/task");
    return static_cast<std::size_t>(std::count_if(begin(threads), end(threads), is_one));
}

TEST_F(CInterface, DestroyingAFilesClipEndsItsDecodingWhileATensorKeepsAFrame) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(2);
    const auto wanted = decode(clip().get(), values);
    const std::string path = latents_file(values);
    auto desc = sized<kg_clip_desc>();
    desc.loop = 1;
    kg_clip* opened = nullptr;
    ASSERT_EQ(kg_clip_open(model_.get(), path.c_str(), &desc, &opened), KG_OK) << kg_last_error();
    Owned<kg_clip> file(opened);
    ASSERT_EQ(std::remove(path.c_str()), 0);
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(opened, 0, kLong, &frame), KG_OK) << kg_last_error();
    void* exported = nullptr;
    ASSERT_EQ(kg_clip_export(opened, frame.id, KG_LAYOUT_HWC4, &exported), KG_OK) << kg_last_error();
    ASSERT_EQ(kg_clip_release(opened, frame.id, nullptr), KG_OK);
    EXPECT_EQ(decoding_threads(), 1U);
    file.reset();
    for (int i = 0; i < 1'000 && decoding_threads() > 0; ++i)  // it has done its work and ends
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(decoding_threads(), 0U);
    auto* const tensor = static_cast<Tensor*>(exported);
    EXPECT_TRUE(std::equal(wanted[0].begin(), wanted[0].end(), tensor->data));
    tensor->deleter(tensor);
}

TEST_F(CInterface, TensorsAreOfFramesAndLayoutsThatTheyCanHave) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto values = latents_of(1);
    const kg_latents latents = view_of(values);
    const auto refused = [&](std::uint32_t format, std::uint32_t layout, kg_result result, const char* sentence) {
        const auto made = clip(KG_STORAGE_HOST, format);
        auto frame = sized<kg_frame>();
        ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK);
        ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK);
        void* tensor = nullptr;
        EXPECT_SENTENCE(kg_clip_export(made.get(), frame.id, layout, &tensor), result, sentence);
        EXPECT_SENTENCE(kg_clip_export(made.get(), frame.id, 0, nullptr), KG_ERROR_INVALID_ARGUMENT, "tensor is NULL");
        ASSERT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
        EXPECT_LT(kg_clip_export(made.get(), frame.id, 0, &tensor), KG_OK);
        EXPECT_EQ(tensor, nullptr);
    };
    refused(KG_FORMAT_RGBA8, 9, KG_ERROR_INVALID_ARGUMENT, "9 is no kg_layout");
    refused(KG_FORMAT_NV12, KG_LAYOUT_HWC, KG_ERROR_UNSUPPORTED, "two planes");
    refused(KG_FORMAT_RGB32F, KG_LAYOUT_HWC4, KG_ERROR_UNSUPPORTED, "RGB32F have three channels");
    refused(KG_FORMAT_RGB16F, KG_LAYOUT_HWC4, KG_ERROR_UNSUPPORTED, "RGB16F have three channels");
}

}  // namespace
}  // namespace kinetograph::c::testing
