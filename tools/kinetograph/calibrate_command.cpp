// kinetograph calibrate: finds the numbers of a checkpoint's 8-bit layers, measures them, and writes both into a copy.
#include <kinetograph/compute/stream/decoder.hpp>
#include <kinetograph/compute/vae/calibration.hpp>
#include <kinetograph/compute/vae/traced_clip.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/named_files.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>
#include <kinetograph/tools/kinetograph/picture_errors.hpp>
#include <kinetograph/tools/kinetograph/text_output.hpp>

#include <fmt/ranges.h>

namespace kinetograph::cli {
namespace {

struct CalibrateArguments {
    DecodeRequest decode;
    std::vector<std::string> clips, held_out;
    std::string recipe, output;
};

Result<std::vector<vae::Latents>> open_clips(const std::vector<std::string>& paths, const DecodeRequest& request,
                                             const vae::Checkpoint& checkpoint) {
    std::vector<vae::Latents> clips;
    for (const std::string& path : paths) {
        KG_TRY(auto clip, open_latents(path, request, vae::wanted_by(checkpoint)));
        clips.push_back(std::move(clip));
    }
    return clips;
}

/// Compares the clip with its decode in fp32 on the CPU.
Result<void> compare(const std::shared_ptr<vae::Model>& tested, const std::shared_ptr<vae::Model>& exact,
                     const vae::Latents& clip, PictureErrors& errors) {
    KG_TRY(const auto decoder, stream::Decoder::create_for(tested, clip));
    KG_TRY(const auto reference, stream::Decoder::create_for(exact, clip));
    for (std::int64_t t = 0; t < clip.frames; ++t) {
        KG_TRY(const auto made, decoder->step(clip.frame(t)));
        KG_TRY(const auto wanted, reference->step(clip.frame(t)));
        for (std::size_t i = 0; i < made.pictures.size(); ++i)
            errors.add(made.pictures[i], wanted.pictures[i], made.height, made.width);
    }
    return {};
}

/// Writes what it measures into the calibration.
Result<void> measure(accel::Device& device, const vae::Checkpoint& checkpoint, const std::vector<vae::Latents>& clips,
                     vae::Calibration& calibration) {
    KG_TRY(const auto cpu, open_lane("cpu"));
    KG_TRY(const auto exact, vae::Model::create(*cpu, checkpoint, {.precision = vae::Precision::Fp32}));
    KG_TRY(const auto tested,
           vae::Model::create(device, checkpoint, {.sums = conv::Sums::Int8, .byte_layers = calibration.layers}));
    PictureErrors errors;
    std::vector<std::string> names;
    for (const vae::Latents& clip : clips) {
        KG_CHECK(compare(tested, exact, clip, errors));
        names.push_back(std::filesystem::path(clip.name).filename().string());
    }
    calibration.measured = {{"psnr", fmt::format("{:.2f}", errors.psnr())},
                            {"psnr.worst", fmt::format("{:.2f}", errors.worst_psnr())},
                            {"ssim", fmt::format("{:.5f}", errors.ssim())},
                            {"clips", fmt::format("{}", fmt::join(names, ", "))}};
    KG_CHECK(print(fmt::format("against fp32 on {}: {} dB, worst frame {} dB, SSIM {}\n", calibration.measured["clips"],
                               calibration.measured["psnr"], calibration.measured["psnr.worst"],
                               calibration.measured["ssim"])));
    KG_TRY(const auto stages, vae::module_errors(tested, exact, clips));
    for (const vae::ModuleError& stage : stages) {
        std::string& psnr = calibration.measured["psnr." + stage.module] = fmt::format("{:.2f}", stage.psnr);
        KG_CHECK(print(fmt::format("  {:<32} {} dB\n", stage.module, psnr)));
    }
    return {};
}

Result<void> run(const CalibrateArguments& arguments) {
    const DecodeRequest& request = arguments.decode;
    std::vector<NamedFile> files{{"--weights", request.weights, NamedFile::Use::Read},
                                 {"-o", arguments.output, NamedFile::Use::Written}};
    for (const auto* list : {&arguments.clips, &arguments.held_out})
        for (const std::string& clip : *list) files.push_back({"a clip", clip, NamedFile::Use::Read});
    KG_CHECK(check_distinct(files));
    KG_TRY(const auto checkpoint, open_checkpoint(request));
    KG_TRY(const auto* recipe, vae::find_byte_recipe(checkpoint.family(), arguments.recipe));
    KG_TRY(const auto clips, open_clips(arguments.clips, request, checkpoint));
    KG_TRY(const auto held_out, open_clips(arguments.held_out, request, checkpoint));
    KG_TRY(auto device, open_lane(request.lane));
    KG_TRY(auto calibration, vae::calibrate(*device, checkpoint, *recipe, clips));
    KG_CHECK(print(
        fmt::format("{}: {} layers of recipe {}\n", arguments.output, calibration.layers.size(), calibration.recipe)));
    if (!held_out.empty()) KG_CHECK(measure(*device, checkpoint, held_out, calibration));
    return vae::write_calibrated(arguments.output, checkpoint, calibration);
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
    auto arguments = std::make_shared<CalibrateArguments>();
    CLI::App* command =
        app.add_subcommand("calibrate", "Make a checkpoint for --sums int8, by decoding clips, and measure its error");
    command->add_option("--weights", arguments->decode.weights, "Checkpoint: " + weights_help())
        ->required()
        ->check(check_name)
        ->type_name("CHECKPOINT");
    command
        ->add_option("--latents", arguments->clips, "Clips to calibrate on: different in content, brightness, motion")
        ->required()
        ->check(check_name)
        ->type_name("LATENTS");
    command
        ->add_option("--held-out", arguments->held_out,
                     "Other clips, on which its PSNR and SSIM against fp32 are measured")
        ->check(check_name)
        ->type_name("LATENTS");
    command
        ->add_option("--recipe", arguments->recipe,
                     "Which layers, as the family names them (default: its first; docs/eight-bits.md)")
        ->type_name("NAME");
    add_lane_option(*command, arguments->decode.lane);
    command->add_option("-o,--output", arguments->output, "The checkpoint with its calibration")
        ->required()
        ->check(check_name)
        ->type_name("OUT.safetensors");
    command->final_callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace kinetograph::cli
