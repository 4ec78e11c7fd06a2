// What the subcommands that decode have in common: their options, and the way from options to a ready decoder.
#pragma once

#include <kinetograph/compute/vae/decoder.hpp>
#include <kinetograph/compute/vae/latents.hpp>

#include <CLI/CLI.hpp>
#include <string>

namespace kinetograph::cli {

enum class LaneChoice : std::uint8_t { Auto, Cpu, Vulkan, Cuda, Hip };

struct DecodeRequest {
    std::string weights;
    LaneChoice lane = LaneChoice::Auto;
    vae::ModelOptions model;
};

/// Adds --lane. `lane` outlives the parse.
void add_lane_option(CLI::App& command, LaneChoice& lane);

/// Adds --weights, --lane, --precision, --latents and --no-clamp. `request` outlives the parse.
void add_decode_options(CLI::App& command, DecodeRequest& request);

/// As on the command line: "auto", "cpu", ...
std::string_view to_string(LaneChoice lane);

/// The device of a lane. `Auto` takes the best lane that this build decodes on; any other is taken or refused, never
/// replaced. Errors: those of accel::open(), naming the lane and the lanes there are.
Result<std::unique_ptr<accel::Device>> open_lane(LaneChoice lane);

/// Of what a decoder takes, the part that lies in memory of a device of that kind.
std::uint64_t device_bytes(const vae::StackMemory& memory, accel::Kind kind);
/// Says in one message what the decoder takes of the device, and what there is; before the first step.
void state_memory(const vae::Decoder& decoder, const accel::DeviceInfo& device);

/// "2 threads", "132 compute units".
std::string count_units(const accel::DeviceInfo& device);

/// Whether this build has a decoder's passes for the device.
bool decodes(accel::Device& device);

/// What --weights takes, for help texts.
std::string weights_help();

}  // namespace kinetograph::cli
