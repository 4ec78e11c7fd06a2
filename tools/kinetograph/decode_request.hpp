// What the subcommands that decode or encode share: their options, and the way from options to a ready decoder.
#pragma once

#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/compute/vae/model.hpp>

#include <CLI/CLI.hpp>
#include <string>

namespace kinetograph::vulkan {
class Display;
}

namespace kinetograph::cli {

struct DecodeRequest {
    std::string weights;
    std::string lane = "auto";  ///< as open_lane() takes it
    vae::CheckpointChoices checkpoint;
    vae::ModelOptions model;
    vae::LatentsChoices latents;
    std::uint64_t memory_budget = 0;  ///< most bytes of device memory to hold; 0: no limit
};

/// Adds --lane. `lane` must outlive the parse.
void add_lane_option(CLI::App& command, std::string& lane);
/// Adds --precision. `precision` must outlive the parse.
CLI::Option* add_precision_option(CLI::App& command, vae::Precision& precision);
/// Adds --sums. `sums` must outlive the parse.
CLI::Option* add_sums_option(CLI::App& command, conv::Sums& sums);
/// Adds --latent-frames, 1 to 16. `latent_frames` must outlive the parse.
void add_latent_frames_option(CLI::App& command, std::int64_t& latent_frames);

/// Adds --weights, --family, --statistics, --lane, --precision, --sums, --backend and --memory-budget. `request` must
/// outlive the parse.
void add_model_options(CLI::App& command, DecodeRequest& request);
/// Adds these, --latents and --no-clamp.
void add_decode_options(CLI::App& command, DecodeRequest& request);
/// Adds --fps, 0.01 to 1000. `fps` must outlive the parse.
void add_fps_option(CLI::App& command, double& fps, const std::string& description);
/// Adds --tensor, --batch-item, --axes and --fps. `choices` must outlive the parse.
void add_latents_options(CLI::App& command, vae::LatentsChoices& choices);

void log_notes(std::span<const vae::Note> notes);
/// Opens the checkpoint, and the latents for it, and logs what was assumed about them. Errors: those of
/// vae::Checkpoint::open and vae::Latents::open.
Result<vae::Checkpoint> open_checkpoint(const DecodeRequest& request);
Result<vae::Latents> open_latents(const std::string& path, const DecodeRequest& request,
                                  const vae::LatentsWanted& wanted);

/// The spelling on the command line.
std::string_view to_string(conv::Sums sums);

/// Sets the device's memory budget (bytes; 0: no limit) and sends its messages to the program's log.
accel::DeviceHooks device_hooks(std::uint64_t memory_budget);

/// Opens the device of a lane: "cpu", "cuda", "hip:1", "cuda:GPU-5a5a5a5a-...", as accel::open() takes it. "auto" takes
/// the best lane that this build can decode on; any other is opened or refused, never replaced. `display`: what
/// "vulkan" computes in, as session::open_device() says. Errors: those of accel::open(), naming the lane and the
/// available devices.
Result<std::unique_ptr<accel::Device>> open_lane(const std::string& lane, std::uint64_t memory_budget = 0,
                                                 const vulkan::Display* display = nullptr);
/// Whether the lane's device may be the one that draws: "vulkan".
bool may_compute_in_display(const std::string& lane);

/// The part of a decoder's memory that is on a device of that kind.
std::uint64_t device_bytes(const vae::StackMemory& memory, const accel::DeviceInfo& device);
/// Logs, in one message, the memory that decoding (`work`) takes and the device's, or its budget; before the first
/// step.
void state_memory(const vae::StackMemory& memory, const accel::Device& device, std::string_view work = "decoding");

/// "1 frame", "61 frames".
std::string count_frames(std::int64_t frames);
/// "2 threads", "132 compute units".
std::string count_units(const accel::DeviceInfo& device);

/// Whether this build has a decoder's passes for the device.
bool decodes(accel::Device& device);

/// What a checkpoint may be, for help texts.
std::string weights_help();

}  // namespace kinetograph::cli
