// Decoders on the CUDA lane, against the reference decoder's outputs and against itself.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/accel/cuda/entry_points.hpp>
#include <kinetograph/tests/compute/cuda/cuda_lane.hpp>
#include <kinetograph/tests/compute/vae/encoder_golden.hpp>
#include <kinetograph/tests/compute/vae/taehv_cases.hpp>

#include <algorithm>

namespace kinetograph::vae {
namespace {

using stream::DecodedFrames;
using stream::Decoder;

// A convolution's expected error by fast sums over that by exact ones: 2.9e-3 / 2.3e-3 in bf16.
constexpr float kFastOverExact = 1.26F;

std::unique_ptr<Decoder> create_decoder(accel::Device& device, const std::string& checkpoint,
                                        const golden::Tensor& latents, Precision precision,
                                        conv::Sums sums = conv::Sums::Exact) {
    const auto model =
        Model::create(device, Checkpoint::open(checkpoint).value(),
                      {.precision = precision, .sums = sums, .latents = LatentScale::Raw, .clamp = false});
    auto created = Decoder::create(model.value(), {latents.shape[2], latents.shape[3]});
    EXPECT_TRUE(created) << created.error().message;
    return created ? std::move(*created) : nullptr;
}

using test::expect_decodes_to;
using test::kBf16AgainstBf16All;
using test::kBf16AgainstFp32;
using test::kFp16AgainstFp32;

using CudaDecoder = test::CudaLane;
using CudaGpuDecoder = test::CudaGpu;
using CudaSmallDecoder = test::CudaLittleWork;

TEST_F(CudaDecoder, OfDim32InBf16MatchesTheReferenceFromTheFirstStepOn) {
    if (test::kAddressSanitized) GTEST_SKIP() << "takes the host model minutes where the address sanitizer watches it";
    const golden::File file("wan21_dim32_trace.safetensors");
    const auto latents = file.tensor("latents");
    const auto decoder = create_decoder(*device_, "synthetic:wan2.1,dim=32", latents, Precision::Bf16);
    ASSERT_NE(decoder, nullptr);
    expect_decodes_to(*decoder, latents, file.tensor("frames"), kBf16AgainstFp32, on_gpu() ? 2 : 1);
}

TEST_F(CudaDecoder, IsBesideAnEncoderThatMatchesDiffusers) {
    test::expect_encodes(*device_, Precision::Bf16, kBf16AgainstFp32, on_gpu() ? 3 : 2);
    test::expect_encodes(*device_, Precision::Fp16, kFp16AgainstFp32, 1);
}

TEST_F(CudaGpuDecoder, OfDim32InBf16MatchesTheReferenceInEveryStep) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents");
    const auto decoder = create_decoder(*device_, "synthetic:wan2.1,dim=32", latents, Precision::Bf16);
    ASSERT_NE(decoder, nullptr);
    const std::int64_t steps = latents.shape[1];
    const auto frames = expect_decodes_to(*decoder, latents, file.tensor("frames.bf16all"), kBf16AgainstBf16All);
    EXPECT_TRUE(golden::within(frames, golden::thwc(file.tensor("frames.fp32"), 0, 4 * steps - 3), kBf16AgainstFp32));
}

TEST_F(CudaGpuDecoder, OfDim32InFp16IsCloserThanBf16CanBeAndTheSameAfterAReset) {
    const golden::File file("wan21_dim32.safetensors");
    const auto latents = file.tensor("latents");
    const auto decoder = create_decoder(*device_, "synthetic:wan2.1,dim=32", latents, Precision::Fp16);
    ASSERT_NE(decoder, nullptr);
    const auto wanted = file.tensor("frames.fp32");
    const auto frames = expect_decodes_to(*decoder, latents, wanted, kFp16AgainstFp32);
    ASSERT_TRUE(decoder->reset());
    EXPECT_EQ(expect_decodes_to(*decoder, latents, wanted, kFp16AgainstFp32), frames);
}

void expect_traces(Decoder& decoder, const golden::File& file, std::span<const std::string> modules, std::int64_t steps,
                   golden::Limit limit) {
    const auto latents = file.tensor("latents");
    for (const std::string& module : modules) {
        ASSERT_TRUE(decoder.reset());
        for (std::int64_t step = 0; step < steps; ++step) {
            const auto traced = decoder.trace(golden::tchw(latents, step, 1), module);
            ASSERT_TRUE(traced) << traced.error().message;
            const bool whole_clip = module == "conv2";  // its golden holds all steps in one tensor
            const auto expected = file.tensor(whole_clip ? module : fmt::format("chunk{}.{}", step, module));
            const auto wanted =
                whole_clip ? golden::thwc(expected, step, 1) : golden::thwc(expected, 0, expected.shape[1]);
            // Inner activations have magnitudes of their own: the largest difference is held relative to them.
            float largest = 1;
            for (const float value : wanted) largest = std::max(largest, std::abs(value));
            const auto rows = golden::upper_rows(*traced, whole_clip ? 1 : expected.shape[1], wanted.size());
            EXPECT_TRUE(golden::within(rows, wanted, {limit.relative_l2, limit.max_abs * largest}))
                << module << " in step " << step;
        }
    }
}

TEST_F(CudaGpuDecoder, OfDim32MatchesTheReferenceModuleByModule) {
    const golden::File file("wan21_dim32_trace.safetensors");
    std::vector<std::string> modules{"conv2", "decoder.conv1", "decoder.head.2"};
    for (int i = 0; i < 3; ++i) modules.push_back(fmt::format("decoder.middle.{}", i));
    for (int i = 0; i < 15; ++i) modules.push_back(fmt::format("decoder.upsamples.{}", i));
    for (const Precision precision : {Precision::Bf16, Precision::Fp16}) {
        const auto decoder = create_decoder(*device_, "synthetic:wan2.1,dim=32", file.tensor("latents"), precision);
        ASSERT_NE(decoder, nullptr);
        expect_traces(*decoder, file, modules, 2, precision == Precision::Bf16 ? kBf16AgainstFp32 : kFp16AgainstFp32);
    }
}

TEST_F(CudaGpuDecoder, OfFullWidthMatchesTheReferenceInEveryStep) {
    const golden::File file("wan21_full.safetensors");
    const auto latents = file.tensor("latents");
    const std::int64_t steps = latents.shape[1];
    const auto bf16 = create_decoder(*device_, "synthetic:wan2.1", latents, Precision::Bf16);
    ASSERT_NE(bf16, nullptr);
    const auto frames = expect_decodes_to(*bf16, latents, file.tensor("frames.bf16all"), kBf16AgainstBf16All);
    EXPECT_TRUE(golden::within(frames, golden::thwc(file.tensor("frames.fp32"), 0, 4 * steps - 3), kBf16AgainstFp32));
    const auto fp16 = create_decoder(*device_, "synthetic:wan2.1", latents, Precision::Fp16);
    ASSERT_NE(fp16, nullptr);
    expect_decodes_to(*fp16, latents, file.tensor("frames.fp32"), kFp16AgainstFp32);
}

TEST_F(CudaDecoder, OfEveryFamilyMatchesDiffusers) {
    const golden::File file("families.safetensors");
    for (const auto& [family, checkpoint] : test::family_clips()) {
        SCOPED_TRACE(family);
        const auto latents = file.tensor(family + ".latents"), frames = file.tensor(family + ".frames");
        // In the second step the model runs every kernel that later steps do.
        const std::int64_t steps = on_gpu() ? latents.shape[1] : std::min<std::int64_t>(2, latents.shape[1]);
        for (const Precision precision : {Precision::Bf16, Precision::Fp16}) {
            const auto decoder = create_decoder(*device_, checkpoint, latents, precision);
            ASSERT_NE(decoder, nullptr);
            const bool coarse = precision == Precision::Bf16;
            expect_decodes_to(*decoder, latents, frames, coarse ? kBf16AgainstFp32 : kFp16AgainstFp32,
                              coarse || on_gpu() ? steps : 1);
        }
    }
}

TEST_F(CudaDecoder, OfEveryFamilyMakesTheSameFramesHoweverStepsAreCut) {
    test::expect_cuts_agree(*device_, Precision::Bf16, on_gpu() ? 5 : 2);
    if (on_gpu()) test::expect_cuts_agree(*device_, Precision::Fp16, 5);
}

TEST_F(CudaGpuDecoder, OfWan22InFullWidthMatchesTheReferenceInEveryStep) {
    const golden::File file("wan22_full.safetensors");
    const auto latents = file.tensor("latents"), frames = file.tensor("frames.fp32");
    for (const Precision precision : {Precision::Bf16, Precision::Fp16}) {
        const auto decoder = create_decoder(*device_, "synthetic:wan2.2", latents, precision);
        ASSERT_NE(decoder, nullptr);
        expect_decodes_to(*decoder, latents, frames,
                          precision == Precision::Bf16 ? kBf16AgainstFp32 : kFp16AgainstFp32);
    }
}

/// Where the chip has no method of two frames at once, sums are exact.
TEST_F(CudaGpuDecoder, OfFullWidthWithFastSumsMatchesTheReferenceInEveryStep) {
    const golden::File file("wan21_full.safetensors");
    const auto latents = file.tensor("latents");
    for (const auto& [precision, limit] :
         {std::pair(Precision::Bf16, kBf16AgainstFp32), std::pair(Precision::Fp16, kFp16AgainstFp32)}) {
        const auto decoder = create_decoder(*device_, "synthetic:wan2.1", latents, precision, conv::Sums::Fast);
        ASSERT_NE(decoder, nullptr);
        expect_decodes_to(*decoder, latents, file.tensor("frames.fp32"),
                          {kFastOverExact * limit.relative_l2, kFastOverExact * limit.max_abs});
    }
}

/// A decoder whose steps may be of any length.
struct Clip {
    std::int64_t dim = 96, height = 3, width = 5;  ///< of the layers, of the latents

    std::vector<float> latents(std::int64_t first, std::int64_t count, std::int64_t z_dim) const {
        const std::int64_t elements = z_dim * height * width;
        std::vector<float> values;
        for (std::int64_t i = first * elements; i < (first + count) * elements; ++i)
            values.push_back(static_cast<float>((i * 7919) % 2003 - 1001) / 500);
        return values;
    }

    /// All frames, in steps of `cut` latent frames each.
    std::vector<float> decode(accel::Device& device, tensor::DType dtype, accel::Batches batches,
                              const std::vector<std::int64_t>& cut, Bands bands = {}) const {
        const auto checkpoint = Checkpoint::open(fmt::format("synthetic:wan2.1,dim={}", dim)).value();
        const auto load = [&](const std::string& name) { return checkpoint.load(name).value(); };
        const auto model =
            Model::create(device, "a decoder", {.network = checkpoint.network(), .dtype = dtype}, load).value();
        const auto decoder =
            Decoder::create(model, {height, width},
                            {.latent_frames = *std::ranges::max_element(cut), .bands = bands, .batches = batches})
                .value();
        std::vector<float> frames;
        std::int64_t next = 0;
        for (const std::int64_t count : cut) {
            const auto out = decoder->step(latents(next, count, checkpoint.z_dim()), count);
            EXPECT_TRUE(out) << out.error().message;
            if (!out) return {};
            out->append_to(frames);
            next += count;
        }
        return frames;
    }
};

TEST_F(CudaDecoder, OfANarrowCheckpointAgreesWithTheCpuHoweverStepsAreCutAndEnqueued) {
    const Clip clip{16, 1, 1};  // as many layers as any
    const auto cpu = accel::cpu::create_device();
    const std::vector<std::int64_t> singly(test::kAddressSanitized ? 2 : 3, 1);
    const auto wanted = clip.decode(*cpu, tensor::DType::F32, accel::Batches::Replayed, singly);
    const auto frames = clip.decode(*device_, tensor::DType::BF16, accel::Batches::Replayed, singly);
    EXPECT_TRUE(golden::within(frames, wanted, kBf16AgainstFp32));
    if (test::kAddressSanitized) return;
    EXPECT_EQ(clip.decode(*device_, tensor::DType::BF16, accel::Batches::Eager, {1, 2}), frames);
}

TEST_F(CudaDecoder, IsTheSameBitForBitInBandsOfRows) {
    const Clip clip{.dim = on_gpu() ? 96 : 16, .height = on_gpu() ? 24 : 2, .width = on_gpu() ? 5 : 1};
    const std::vector<std::int64_t> cut(on_gpu() ? 4 : 2, 1);
    for (const auto dtype :
         on_gpu() ? std::vector{tensor::DType::BF16, tensor::DType::F16} : std::vector{tensor::DType::BF16}) {
        const auto whole = clip.decode(*device_, dtype, accel::Batches::Replayed, cut);
        for (const Bands bands :
             on_gpu() ? std::vector{Bands{2, 0}, Bands{3, 1}, Bands{7, 2}} : std::vector{Bands{2, 2}})
            EXPECT_TRUE(clip.decode(*device_, dtype, accel::Batches::Replayed, cut, bands) == whole)
                << bands.count << " bands from upsampling " << bands.upsampling;
    }
}

TEST_F(CudaGpuDecoder, IsTheSameBitForBitWhetherStepsAreReplayedOrEnqueuedAnew) {
    const std::vector<std::int64_t> cut(13, 1);  // the rings go round twice
    for (const auto dtype : {tensor::DType::BF16, tensor::DType::F16})
        EXPECT_EQ(Clip{}.decode(*device_, dtype, accel::Batches::Replayed, cut),
                  Clip{}.decode(*device_, dtype, accel::Batches::Eager, cut));
}

TEST_F(CudaGpuDecoder, IsTheSameBitForBitInStepsOfOneToFourLatentFrames) {
    const auto decode = [&](const std::vector<std::int64_t>& cut) {
        return Clip{}.decode(*device_, tensor::DType::BF16, accel::Batches::Replayed, cut);
    };
    const auto frames = decode(std::vector<std::int64_t>(11, 1));
    EXPECT_EQ(frames.size(), 41U * 24 * 40 * 3);
    for (const std::vector<std::int64_t>& cut :
         {std::vector<std::int64_t>{1, 2, 3, 4, 1}, {1, 4, 4, 2}, {1, 3, 3, 3, 1}})
        EXPECT_EQ(decode(cut), frames);
}

TEST_F(CudaGpuDecoder, OfTaew21MatchesTheReferenceStepByStepAndModuleByModule) {
    expect_taew21_decodes(*device_, Precision::Bf16, 3, kBf16AgainstFp32);
    expect_taew21_decodes(*device_, Precision::Fp16, 3, kFp16AgainstFp32);
    expect_taew21_modules(*device_, Precision::Bf16, 2, kBf16AgainstFp32);
    expect_taew21_modules(*device_, Precision::Fp16, 2, kFp16AgainstFp32);
}

TEST_F(CudaDecoder, OfTheTaehvFamilyMatchesAtSmallWidths) {
    for (const auto dtype : {tensor::DType::BF16, tensor::DType::F16}) expect_taehv_units({*device_, dtype});
    expect_taehv_members(*device_, Precision::Bf16, kBf16AgainstFp32);
    if (test::kAddressSanitized) return;
    expect_taehv_members(*device_, Precision::Fp16, kFp16AgainstFp32);
}

TEST_F(CudaGpuDecoder, OfTheTaehvFamilyIsTheSameBitForBitHoweverStepsAreCut) {
    for (const Precision precision : {Precision::Bf16, Precision::Fp16}) expect_taehv_cuts_agree(*device_, precision);
}

TEST_F(CudaSmallDecoder, OfASecondClipTakesNoWeights) {
    const auto checkpoint = Checkpoint::open(on_gpu() ? "synthetic:wan2.1" : "synthetic:wan2.1,dim=16").value();
    const LatentSize size = on_gpu() ? LatentSize{88, 160} : LatentSize{2, 3};
    const auto model = Model::create(*device_, checkpoint).value();
    const auto bytes_of_a_clip = [&](std::unique_ptr<Decoder>& decoder) {
        const std::uint64_t before = device_->bytes_allocated();
        decoder = Decoder::create(model, size).value();
        return device_->bytes_allocated() - before;
    };
    std::unique_ptr<Decoder> first, second;
    const std::uint64_t with_weights = bytes_of_a_clip(first), alone = bytes_of_a_clip(second);
    const std::uint64_t weights = first->clip().memory().parameters;
    RecordProperty("bytes_first_clip", std::to_string(with_weights));
    RecordProperty("bytes_second_clip", std::to_string(alone));
    RecordProperty("bytes_weights", std::to_string(weights));
    EXPECT_GT(weights, 0U);
    EXPECT_EQ(with_weights - alone, weights);
    EXPECT_EQ(second->clip().memory().parameters, weights);
}

TEST_F(CudaSmallDecoder, AStepIsOneReplayAndTheSameAfterAReset) {
    const auto checkpoint = Checkpoint::open("synthetic:wan2.1,dim=16").value();
    const auto decoder = Decoder::create(Model::create(*device_, checkpoint).value(), {1, 1}).value();
    const std::vector<float> latent(16, 0.25F);
    const auto copy = [](const DecodedFrames& frames) { return frames.thwc(); };
    const auto first = copy(decoder->step(latent).value());
    ASSERT_TRUE(decoder->reset());
    const auto* driver = accel::cuda::driver_calls(*device_);
    const auto replays = driver->calls("cuGraphLaunch"), launches = driver->calls("cuLaunchKernelEx");
    EXPECT_EQ(copy(decoder->step(latent).value()), first);
    EXPECT_EQ(driver->calls("cuGraphLaunch"), replays + 1);
    EXPECT_EQ(driver->calls("cuLaunchKernelEx"), launches + 2)
        << "its two ends, whose memory differs from step to step";
}

TEST_F(CudaSmallDecoder, InAPrecisionThatTheLaneLacksSaysWhichItHas) {
    const auto checkpoint = Checkpoint::open("synthetic:wan2.1,dim=32").value();
    const auto created = Model::create(*device_, checkpoint, {.precision = Precision::Fp32});
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, ErrorCode::Unsupported);
    EXPECT_EQ(created.error().message, "precision fp32: the cuda lane runs bf16 and fp16");
}

}  // namespace
}  // namespace kinetograph::vae
