// kinetograph.h with latents and frames in the memory of a GPU.
#include "c_gpu_fixture.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <limits>

namespace kinetograph::c::testing {
namespace {

TEST_P(CInterfaceOnGpus, LatentsAndFramesStayOnTheDeviceInTheOrderOfTheCallersStream) {
    const auto values = latents_of(2);
    const auto wanted = decode(clip().get(), values);
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(values);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    const std::vector<float> other(values.size(),
                                   9.0F);  // they were copied: what the stream does next is its own affair
    application_->copy(const_cast<void*>(latents.data), other.data(), other.size() * sizeof(float));
    const auto frames = read_ahead(made.get());
    application_->synchronize();
    expect_pictures(frames, wanted);
}

/// The first latents come late, so that steps 0 and 1 wait on the device, step 2 on the host, and 3 and 4 in the queue.
/// Latents for which there is no room leave those of step 1 alone, however often they are tried.
TEST_P(CInterfaceOnGpus, LatentsThatFindNoRoomLeaveThoseOfWaitingStepsAlone) {
    if (!has_kernels()) GTEST_SKIP() << "kernels that do nothing read nothing";
    constexpr std::int64_t kSteps = 6;
    const auto values = latents_of(kSteps);
    const auto wanted = decode(clip().get(), values);
    const auto made = clip(KG_STORAGE_DEVICE, KG_FORMAT_RGBA8, 8);
    Application slow(GetParam().library, is_cuda());
    std::promise<void> held;
    slow.hold(held);
    const kg_latents all = upload(values);
    application_->synchronize();
    const auto push = [&](std::int64_t t, std::uint64_t timeout) {
        kg_latents one = all;
        one.data = static_cast<const std::byte*>(all.data) + t * kHeight * kWidth * std::int64_t{sizeof(float)};
        one.shape[1] = 1;
        const std::int64_t strides[] = {kSteps * kHeight * kWidth, kHeight * kWidth, kWidth, 1};
        std::memcpy(one.strides, strides, sizeof(strides));
        if (t == 0) one.ready.stream = slow.stream;
        return kg_clip_push(made.get(), &one, timeout, nullptr);
    };
    std::vector<std::vector<std::uint8_t>> frames;
    const auto read_to = [&](std::size_t count) {
        while (frames.size() < count && !HasFailure())
            for (auto& frame : read_ahead(made.get())) frames.push_back(std::move(frame));
    };
    for (std::int64_t t = 0; t < 5; ++t) ASSERT_EQ(push(t, kLong), KG_OK) << kg_last_error();
    for (int tried = 0; tried < 3; ++tried) ASSERT_EQ(push(5, 50'000'000), KG_TIMEOUT);
    application_->synchronize();
    held.set_value();
    read_to(5);
    ASSERT_EQ(push(5, kLong), KG_OK) << kg_last_error();
    read_to(wanted.size());
    application_->synchronize();
    slow.synchronize();
    expect_pictures(frames, wanted);
}

TEST_P(CInterfaceOnGpus, HalvesAreWrittenByTheDeviceAsTheHostHasThem) {
    const auto values = latents_of(1);
    const auto wanted = decode(clip(KG_STORAGE_HOST, KG_FORMAT_RGB16F).get(), values);
    const auto floats = decode(clip(KG_STORAGE_HOST, KG_FORMAT_RGB32F).get(), values);
    const auto made = clip(KG_STORAGE_DEVICE, KG_FORMAT_RGB16F);
    const kg_latents latents = upload(values);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    const auto frames = read_ahead(made.get());
    application_->synchronize();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].size(), std::size_t{kFrameHeight} * kFrameWidth * 6);
    expect_pictures(frames, wanted);
    if (!has_kernels()) return;
    for (std::size_t i = 0; i < std::size_t{kFrameHeight} * kFrameWidth * 3; ++i) {
        float value = 0;
        std::memcpy(&value, floats[0].data() + 4 * i, sizeof(value));
        EXPECT_NEAR(half_at(frames[0], i), value, 0x1p-12F);
    }
}

/// Each value's upper half, as bfloat16, or, of the same bits, half.
std::vector<std::uint16_t> halves_of(const std::vector<float>& values) {
    std::vector<std::uint16_t> halves;
    for (const float value : values) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        halves.push_back(static_cast<std::uint16_t>(bits >> 16U));
    }
    return halves;
}

TEST_P(CInterfaceOnGpus, LatentsOfTwoBytesAreReadAsTheyAre) {
    const auto halves = halves_of(latents_of(2));
    for (const kg_dtype dtype : {KG_FLOAT16, KG_BFLOAT16}) {
        kg_latents latents = view_of(latents_of(2));
        latents.data = halves.data();
        latents.dtype = dtype;
        const auto wanted = decode(clip().get(), latents);  // the host widens them
        const auto made = clip(KG_STORAGE_DEVICE);
        const kg_latents uploaded = upload(latents);
        ASSERT_EQ(kg_clip_push(made.get(), &uploaded, kLong, nullptr), KG_OK) << kg_last_error();
        const auto frames = read_ahead(made.get());
        application_->synchronize();
        expect_pictures(frames, wanted);
    }
}

TEST_P(CInterfaceOnGpus, AClipTakesLatentsOfSeveralTypesAndRefusesOthersInASentence) {
    const auto values = latents_of(1);
    const auto halves = halves_of(values);
    kg_latents latents = view_of(values);
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents floats = upload(latents);
    latents.data = halves.data();
    latents.dtype = KG_BFLOAT16;
    const kg_latents bfloats = upload(latents);
    latents = bfloats;
    latents.dtype = 3;
    EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(kg_last_error(), "3 is no kg_dtype");
    std::size_t frames = 0;
    for (const kg_latents* given : {&bfloats, &floats, &bfloats}) {
        ASSERT_EQ(kg_clip_push(made.get(), given, kLong, nullptr), KG_OK) << kg_last_error();
        frames += read_ahead(made.get()).size();
    }
    application_->synchronize();
    EXPECT_EQ(frames, 9U);
}

TEST_P(CInterfaceOnGpus, AddressesThatTheDeviceDoesNotReachAreRefused) {
    const auto values = latents_of(1);
    const auto made = clip(KG_STORAGE_DEVICE);
    for (const kg_moment& ready : {kg_moment{}, stream_moment()}) {
        kg_latents latents = view_of(values);
        latents.memory = KG_MEMORY_DEVICE;
        latents.ready = ready;
        EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                        "kg_latents.data in KG_MEMORY_DEVICE: 0x");
        EXPECT_NE(std::string(kg_last_error()).find("ordinary memory of the host"), std::string::npos);
    }
    const std::size_t bytes = values.size() * sizeof(float);
    void* const pinned = application_->allocate_pinned(bytes);
    std::memcpy(pinned, values.data(), bytes);
    kg_latents latents = view_of(values);
    latents.data = pinned;
    latents.memory = KG_MEMORY_DEVICE;
    latents.ready = stream_moment();
    const char* const question = is_cuda() ? "cuPointerGetAttributes" : "hipPointerGetAttributes";
    const std::uint64_t asked = application_->control().calls(question);
    EXPECT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    EXPECT_EQ(application_->control().calls(question), asked + 2) << "of the first and of the last value";
    EXPECT_EQ(read_ahead(made.get()).size(), 1U);
    application_->synchronize();
    application_->free_pinned(pinned);
}

TEST_P(CInterfaceOnGpus, StridesThatLeaveTheDevicesMemoryAreRefused) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents all = upload(latents_of(1));
    kg_latents latents = all;
    latents.bytes = 16 * kHeight * kWidth * sizeof(float) - 1;
    EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "and kg_latents.bytes is 127");
    latents = all;
    const std::int64_t strides[] = {std::int64_t{1} << 40, kHeight * kWidth, kWidth, 1};
    std::memcpy(latents.strides, strides, sizeof(strides));
    EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    "the last value of kg_latents in KG_MEMORY_DEVICE: 0x");
    EXPECT_EQ(kg_clip_push(made.get(), &all, kLong, nullptr), KG_OK) << kg_last_error();
    EXPECT_EQ(read_ahead(made.get()).size(), 1U);
    application_->synchronize();
}

TEST_P(CInterfaceOnGpus, MemoryOfAnotherDeviceIsRefused) {
    const std::string library = GetParam().library;
    standin::Control& control = application_->control();
    model_.reset();
    application_.reset();
    control.reset({.devices = 2});
    application_ = std::make_unique<Application>(library, is_cuda());
    ASSERT_NO_FATAL_FAILURE(open(GetParam().device));
    const auto made = clip(KG_STORAGE_DEVICE);
    kg_latents latents = view_of(latents_of(1));
    latents.data = application_->allocate_elsewhere(16 * kHeight * kWidth * sizeof(float));
    latents.memory = KG_MEMORY_DEVICE;
    latents.ready = stream_moment();
    EXPECT_SENTENCE(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_ERROR_INVALID_ARGUMENT,
                    is_cuda() ? "is memory of CUDA device 1, and not of device 0, Stand-in"
                              : "is memory of HIP device 1, and not of device 0, Stand-in");
    application_->release_elsewhere();
}

TEST_P(CInterfaceOnGpus, LatentsOfAnotherApiComeByAFileDescriptorAndAreReadInPlace) {
    const auto values = latents_of(1);
    const auto wanted = decode(clip().get(), values);
    constexpr std::uint64_t kBytes = 65536;
    const int fd = ::memfd_create("latents", 0);
    ASSERT_EQ(::ftruncate(fd, kBytes), 0);
    ASSERT_EQ(::pwrite(fd, values.data(), values.size() * sizeof(float), 4096),
              static_cast<ssize_t>(values.size() * sizeof(float)));
    kg_memory* memory = nullptr;
    ASSERT_EQ(kg_memory_import(model_.get(), fd, kBytes, 0, &memory), KG_OK) << kg_last_error();
    const Owned<kg_memory> owned(memory);
    void* address = nullptr;
    ASSERT_EQ(kg_memory_address(memory, &address), KG_OK);
    const auto made = clip();
    kg_latents latents = view_of(values);
    latents.memory = KG_MEMORY_DEVICE;
    latents.data = static_cast<std::byte*>(address) + 4096;
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
    if (has_kernels()) {
        EXPECT_EQ(bytes_of(frame), wanted[0]);
    }
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
}

TEST_P(CInterfaceOnGpus, ValuesThatAreNotFiniteAreToldByTheFrame) {
    if (!has_kernels()) GTEST_SKIP() << "kernels that do nothing flag nothing";
    auto values = latents_of(1);
    values[5] = std::numeric_limits<float>::infinity();
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(values);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), 0, kLong, &frame), KG_OK) << kg_last_error();
    EXPECT_EQ(frame.finite, KG_FINITE_NO);
    EXPECT_EQ(log_.back(), "! frame 0 has values that are not finite");
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
}

TEST_P(CInterfaceOnGpus, AFrameTakenAheadIsKnownToBeFiniteOnceItIsComplete) {
    const auto made = clip(KG_STORAGE_DEVICE);
    const kg_latents latents = upload(latents_of(1));
    std::promise<void> held;
    application_->hold(held);
    ASSERT_EQ(kg_clip_push(made.get(), &latents, kLong, nullptr), KG_OK) << kg_last_error();
    auto frame = sized<kg_frame>();
    ASSERT_EQ(kg_clip_acquire(made.get(), KG_ACQUIRE_AHEAD, 0, &frame), KG_OK) << kg_last_error();
    EXPECT_EQ(frame.finite, KG_FINITE_UNKNOWN);
    ASSERT_EQ(kg_clip_wait(made.get(), frame.id, application_->stream), KG_OK) << kg_last_error();
    std::uint32_t finite = 77;
    ASSERT_EQ(kg_clip_finite(made.get(), frame.id, &finite), KG_OK) << kg_last_error();
    EXPECT_EQ(finite, KG_FINITE_UNKNOWN);
    held.set_value();
    application_->synchronize();
    ASSERT_EQ(kg_clip_finite(made.get(), frame.id, &finite), KG_OK) << kg_last_error();
    EXPECT_EQ(finite, KG_FINITE_YES);
    EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
    EXPECT_EQ(kg_clip_finite(made.get(), frame.id, &finite), KG_ERROR_INVALID_ARGUMENT);
}

TEST_P(CInterfaceOnGpus, WhatAFrameSaysOfItsValuesDoesNotChangeWithLaterSteps) {
    if (!has_kernels()) GTEST_SKIP() << "kernels that do nothing flag nothing";
    auto values = latents_of(1);
    const kg_latents good = upload(values);
    values[5] = std::numeric_limits<float>::quiet_NaN();
    const kg_latents bad = upload(values);
    const auto made = clip(KG_STORAGE_DEVICE, KG_FORMAT_RGBA8, 5);
    std::vector<std::pair<kg_frame, kg_finite>> kept;
    for (const auto& [latents, finite] : {std::pair(&bad, KG_FINITE_NO), {&good, KG_FINITE_YES}}) {
        ASSERT_EQ(kg_clip_push(made.get(), latents, kLong, nullptr), KG_OK) << kg_last_error();
        kept.emplace_back(sized<kg_frame>(), finite);
        ASSERT_EQ(acquire_ahead(made.get(), kLong, kept.back().first), KG_OK) << kg_last_error();
        ASSERT_EQ(kg_clip_reset(made.get()), KG_OK);
    }
    std::vector<std::vector<std::vector<std::uint8_t>>> read;
    for (int step = 0; step < 8; ++step) {  // good and bad clips of one step, more than the stream has slots
        ASSERT_EQ(kg_clip_push(made.get(), step % 2 == 0 ? &good : &bad, kLong, nullptr), KG_OK) << kg_last_error();
        read.push_back(read_ahead(made.get(), stream_moment(), kLong));  // the copies may still run
        EXPECT_EQ(read.back().size(), 1U);
        ASSERT_EQ(kg_clip_reset(made.get()), KG_OK);
    }
    application_->synchronize();
    for (const auto& [frame, wanted] : kept) {
        std::uint32_t finite = 77;
        ASSERT_EQ(kg_clip_finite(made.get(), frame.id, &finite), KG_OK) << kg_last_error();
        EXPECT_EQ(finite, wanted);
        EXPECT_EQ(kg_clip_release(made.get(), frame.id, nullptr), KG_OK);
    }
}

TEST_P(CInterfaceOnGpus, FramesOnTheDeviceAreNotThoseOfCameras) {
    auto desc = sized<kg_clip_desc>();
    desc.storage = KG_STORAGE_DEVICE;
    desc.format = KG_FORMAT_NV12;
    kg_clip* made = nullptr;
    EXPECT_EQ(kg_clip_create(model_.get(), kHeight, kWidth, &desc, &made), KG_ERROR_INVALID_ARGUMENT);
    EXPECT_STREQ(kg_last_error(), "frames in the device's memory are RGBA8, RGB32F or RGB16F, not NV12");
}

TEST_P(CInterfaceOnGpus, TheDeviceIsListedAndKnownByItsOrdinal) {
    auto info = sized<kg_model_info>();
    ASSERT_EQ(kg_model_describe(model_.get(), &info), KG_OK);
    EXPECT_STREQ(info.device_kind, is_cuda() ? "cuda" : "hip");
    EXPECT_EQ(info.device_ordinal, 0U);
    std::string found;
    ASSERT_EQ(kg_list_devices(
                  instance_.get(),
                  [](void* user, const kg_device_info* device) {
                      if (std::strcmp(device->kind, "cpu") != 0 && std::strcmp(device->kind, "vulkan") != 0 &&
                          device->available != 0)
                          *static_cast<std::string*>(user) += device->product;
                  },
                  &found),
              KG_OK);
    EXPECT_EQ(found, info.device_product);
}

INSTANTIATE_TEST_SUITE_P(Drivers, CInterfaceOnGpus, ::testing::ValuesIn(kDrivers), kNameOfDriver);

}  // namespace
}  // namespace kinetograph::c::testing
