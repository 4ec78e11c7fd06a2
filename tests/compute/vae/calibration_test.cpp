// Calibrated decoders: what is written is read again, frames keep their picture, and what cannot be is refused.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/compute/vae/calibration.hpp>
#include <kinetograph/compute/vae/traced_clip.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/tests/compute/tensor/temporary_folder.hpp>
#include <kinetograph/tests/compute/vae/checkpoint_file.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace kinetograph::vae {
namespace {

using stream::Decoder;

class Calibrations : public ::testing::Test {
  protected:
    Checkpoint open(const std::string& spec) { return Checkpoint::open(spec).value(); }
    Calibration calibrated(const Checkpoint& checkpoint, std::string_view recipe = "") {
        const Latents clip = synthetic_clip(checkpoint);
        auto made = calibrate(*device_, checkpoint, *find_byte_recipe(checkpoint.family(), recipe).value(),
                              std::span(&clip, 1));
        EXPECT_TRUE(made) << made.error().message;
        return made ? *made : Calibration{};
    }
    std::unique_ptr<Decoder> decoder(const Checkpoint& checkpoint, const ModelOptions& options,
                                     LatentSize size = {6, 8}, const StepOptions& steps = {}) {
        auto model = Model::create(*device_, checkpoint, options);
        EXPECT_TRUE(model) << model.error().message;
        auto made = Decoder::create(*model, size, steps);
        EXPECT_TRUE(made) << made.error().message;
        return std::move(*made);
    }
    static std::vector<float> latents(std::int64_t frames, LatentSize size = {6, 8}, std::int64_t channels = 16) {
        return synthetic_tensor("test.latents", {frames, channels, size.height, size.width}).value();
    }
    /// The first latent frame, then `frames` in steps of `together`.
    std::vector<float> frames_of(Decoder& decoder, std::int64_t frames, std::int64_t together = 1) {
        const std::vector<float> all = latents(1 + frames, {6, 8}, decoder.clip().model().channels());
        const std::size_t one = all.size() / static_cast<std::size_t>(1 + frames);
        std::vector<float> made = decoder.step(std::span(all).first(one)).value().thwc();
        for (std::int64_t t = 0; t < frames; t += together)
            decoder.step(std::span(all).subspan(one * (1 + t), one * together), together).value().append_to(made);
        return made;
    }
    static double psnr(const std::vector<float>& made, const std::vector<float>& wanted) {
        double squares = 0;
        for (std::size_t i = 0; i < made.size(); ++i) squares += std::pow(double{made[i]} - wanted[i], 2);
        return 10 * std::log10(4 * static_cast<double>(made.size()) / squares);
    }

    std::unique_ptr<accel::Device> device_ = accel::cpu::create_device();
    test::TemporaryFolder folder_;
};

TEST_F(Calibrations, AreReadAsTheyWereWritten) {
    const Checkpoint checkpoint = open("synthetic:wan2.1,dim=8");
    Calibration made = calibrated(checkpoint);
    EXPECT_EQ(made.recipe, "half-folded");
    EXPECT_EQ(made.layers.size(), 18U);
    made.measured["psnr"] = "50.00";
    const auto path = folder_.path() / "int8.safetensors";
    ASSERT_TRUE(write_calibrated(path, checkpoint, made));

    const Checkpoint again = open(path.string());
    for (const std::string& name : checkpoint.tensor_names())
        EXPECT_EQ(again.load(name).value(), checkpoint.load(name).value()) << name;
    const auto read = read_calibration(again);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_TRUE(*read);
    EXPECT_EQ((*read)->recipe, made.recipe);
    EXPECT_EQ((*read)->filters, made.filters);
    EXPECT_EQ((*read)->measured, made.measured);
    ASSERT_EQ((*read)->layers.size(), made.layers.size());
    for (std::size_t i = 0; i < made.layers.size(); ++i) {
        const nn::ByteLayer &a = (*read)->layers[i], &b = made.layers[i];
        EXPECT_EQ(a.conv + a.norm, b.conv + b.norm);
        EXPECT_EQ(a.value, b.value);
        EXPECT_EQ(a.input, b.input);
        EXPECT_EQ(a.folds, b.folds);
        EXPECT_EQ(a.steps, b.steps);
    }
    // A second calibration of that file replaces the first.
    ASSERT_TRUE(write_calibrated(folder_.path() / "again.safetensors", again, calibrated(again, "last-stage")));
    EXPECT_EQ(read_calibration(open((folder_.path() / "again.safetensors").string())).value()->layers.size(), 6U);
}

TEST_F(Calibrations, OfACheckpointWithoutOneAreMadeAtOnce) {
    const Checkpoint checkpoint = open("synthetic:wan2.1,dim=8");
    EXPECT_FALSE(*read_calibration(checkpoint));
    const auto given = decoder(checkpoint, {.sums = conv::Sums::Int8, .byte_layers = calibrated(checkpoint).layers});
    const auto made = decoder(checkpoint, {.sums = conv::Sums::Int8});
    EXPECT_EQ(frames_of(*made, 1), frames_of(*given, 1));
    EXPECT_EQ(made->clip().model().network().bytes.size(), 18U);
}

TEST_F(Calibrations, KeepThePicture) {
    for (const char* spec : {"synthetic:wan2.1,dim=16", "synthetic:qwen-image,dim=16", "synthetic:wan2.2,dim=16",
                             "synthetic:lightvae,dim=24"}) {
        const Checkpoint checkpoint = open(spec);
        const std::int64_t more = checkpoint.one_latent_frame() ? 0 : 2;
        const auto wanted = frames_of(*decoder(checkpoint, {.precision = Precision::Fp32}), more);
        const double bf16 = psnr(frames_of(*decoder(checkpoint, {}), more), wanted);
        const auto bytes = decoder(checkpoint, {.sums = conv::Sums::Int8});
        const std::vector<float> first = frames_of(*bytes, more);
        const double int8 = psnr(first, wanted);
        std::printf("%s: bf16 %.1f dB, int8 %.1f dB\n", spec, bf16, int8);
        EXPECT_GE(int8, 40);
        EXPECT_GE(int8, bf16 - 9);
        ASSERT_TRUE(bytes->reset());
        EXPECT_EQ(frames_of(*bytes, more), first) << "kept frames begin anew";
    }
}

TEST_F(Calibrations, DecodeAFrameToTheSameBitsInAnyNumberOfStepsAndBands) {
    const Checkpoint checkpoint = open("synthetic:wan2.1,dim=8");
    const auto layers = calibrated(checkpoint).layers;
    const ModelOptions options{.sums = conv::Sums::Int8, .byte_layers = layers};
    const std::vector<float> wanted = frames_of(*decoder(checkpoint, options), 2);
    EXPECT_EQ(frames_of(*decoder(checkpoint, options, {6, 8}, {.latent_frames = 2}), 2, 2), wanted);
    const std::vector<float> banded =
        frames_of(*decoder(checkpoint, options, {6, 8}, {.bands = {.count = 2, .upsampling = 2}}), 2);
    EXPECT_EQ(banded, wanted);
}

TEST_F(Calibrations, SayWhichModulesDiffer) {
    const Checkpoint checkpoint = open("synthetic:wan2.1,dim=8");
    const Latents clip = synthetic_clip(checkpoint);
    const auto exact = Model::create(*device_, checkpoint, {}).value();
    const auto bytes =
        Model::create(*device_, checkpoint, {.sums = conv::Sums::Int8, .byte_layers = calibrated(checkpoint).layers})
            .value();
    const std::vector<ModuleError> none = module_errors(exact, exact, {&clip, 1}).value();
    for (const ModuleError& same : none) EXPECT_EQ(same.psnr, 140) << same.module;
    bool reads_bytes = false;
    const std::vector<ModuleError> some = module_errors(bytes, exact, {&clip, 1}).value();
    for (const ModuleError& module : some) {
        reads_bytes = reads_bytes || module.module == "decoder.upsamples.4";
        EXPECT_EQ(module.psnr < 140, reads_bytes) << module.module << " " << module.psnr;
    }
    EXPECT_TRUE(reads_bytes);
}

std::string refusal(const Result<std::shared_ptr<Model>>& made) { return made ? "" : made.error().message; }

TEST_F(Calibrations, RefuseWhatTheyAreNotFor) {
    EXPECT_EQ(refusal(Model::create(*device_, open("synthetic:wan2.1,dim=8"),
                                    {.precision = Precision::Fp32, .sums = conv::Sums::Int8})),
              "sums int8 go with precision bf16, not fp32");
    EXPECT_EQ(refusal(Model::create(*device_, open("synthetic:taew2.1,dim=8"), {.sums = conv::Sums::Int8})),
              "sums int8: there is no recipe for TAEW2.1; there is for LightVAE, Qwen-Image, Wan 2.1, Wan 2.2");
    const auto found = find_byte_recipe(*families::find("wan2.1"), "all");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message,
              "sums int8: Wan 2.1 has no recipe \"all\"; it has half-folded, one-step, two-stages, last-stage");
}

TEST_F(Calibrations, RefuseThoseOfOtherFiltersAndVersions) {
    const Checkpoint checkpoint = open("synthetic:wan2.1,dim=8");
    Calibration made = calibrated(checkpoint, "last-stage");
    const auto path = folder_.path() / "int8.safetensors";
    const auto message = [&](const Calibration& written) {
        EXPECT_TRUE(write_calibrated(path, checkpoint, written));
        const auto read = read_calibration(open(path.string()));
        return read ? std::string() : read.error().message;
    };
    EXPECT_EQ(message(made), "");
    Calibration other = made;
    other.filters ^= 1;
    EXPECT_EQ(message(other),
              fmt::format("{}: its calibration is of filters \"{:016x}\", these are {:016x}: `kinetograph calibrate` "
                          "makes theirs",
                          path.string(), other.filters, made.filters));
    other = made;
    other.layers.front().folds.pop_back();
    EXPECT_EQ(
        message(other),
        fmt::format("{}: \"decoder.upsamples.12.residual.2.int8.folds\" is F32 [7], wanted F32 [8]", path.string()));
    other = made;
    other.layers.back().input.scale = 0;
    EXPECT_EQ(message(other), fmt::format("{}: the calibration of \"decoder.upsamples.14.residual.6\" has a step of 0, "
                                          "or a zero point above 255",
                                          path.string()));
    other = made;
    other.layers.pop_back();
    EXPECT_EQ(message(other),
              fmt::format("{}: its calibration lacks \"decoder.upsamples.14.residual.6.int8.input\"", path.string()));
    const auto file = tensor::SafetensorsFile::open(path).value();
    auto metadata = file.metadata();
    metadata["kinetograph.int8"] = "2";
    ASSERT_TRUE(tensor::write_safetensors(folder_.path() / "new.safetensors", file.tensors(), metadata));
    const auto read = read_calibration(open((folder_.path() / "new.safetensors").string()));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, fmt::format("{}: its calibration is of version \"2\", this program reads 1",
                                                (folder_.path() / "new.safetensors").string()));
}

}  // namespace
}  // namespace kinetograph::vae
