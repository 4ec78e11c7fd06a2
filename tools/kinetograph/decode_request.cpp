#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/compute/session/session.hpp>
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/tools/kinetograph/conv_request.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>

namespace kinetograph::cli {
namespace {

const std::map<std::string, conv::Sums> kSums{
    {"exact", conv::Sums::Exact}, {"fast", conv::Sums::Fast}, {"int8", conv::Sums::Int8}};
const std::map<std::string, vae::Precision> kPrecisions{
    {"fp32", vae::Precision::Fp32}, {"bf16", vae::Precision::Bf16}, {"fp16", vae::Precision::Fp16}};
const std::map<std::string, vae::LatentScale> kScales{
    {"auto", vae::LatentScale::Auto}, {"normalized", vae::LatentScale::Normalized}, {"raw", vae::LatentScale::Raw}};

/// "800M" as bytes: a whole number, then a power of 1024 by its letter, "b", both ("Mb", "MiB") or nothing, in either
/// case. None for any other text, for 0 and for more than 2^64 - 1.
std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    constexpr std::string_view kUnits = "bkmgtpe";
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    std::string unit(stop, end);
    for (char& letter : unit) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    const std::size_t power = unit.empty() ? 0 : kUnits.find(unit.front());
    if (error != std::errc{} || number == 0 || power == std::string::npos) return std::nullopt;
    const std::string rest = unit.empty() ? "" : unit.substr(1);
    const bool known = rest.empty() || (power > 0 && (rest == "b" || rest == "i" || rest == "ib"));
    if (!known || number > std::numeric_limits<std::uint64_t>::max() >> (10 * power)) return std::nullopt;
    return number << (10 * power);
}

}  // namespace

void add_lane_option(CLI::App& command, std::string& lane) {
    command
        .add_option(
            "--lane", lane,
            "Where to run (default auto); a GPU by its number or UUID: cuda:1; several for every step of a clip: "
            "cuda:0+cuda:1")
        ->check([](const std::string& text) {
            std::vector<std::string_view> lanes{"auto"};
            for (const accel::Backend& backend : accel::backends()) lanes.push_back(backend.name);
            for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
                end = text.find('+', begin);
                const std::string device = text.substr(begin, end - begin);
                if (std::ranges::find(lanes, device.substr(0, device.find(':'))) == lanes.end())
                    return fmt::format("{} is none of {}", device, fmt::join(lanes, "|"));
            }
            return std::string();
        })
        ->type_name("LANE[:DEVICE][+LANE...]");
}

CLI::Option* add_precision_option(CLI::App& command, vae::Precision& precision) {
    return add_choice(command, "--precision", precision, kPrecisions, "Element type of the arithmetic (default bf16)");
}

CLI::Option* add_sums_option(CLI::App& command, conv::Sums& sums) {
    return add_choice(command, "--sums", sums, kSums,
                      "How convolutions add: exact (default); fast, which also allows Winograd's, whose error is a "
                      "quarter larger; or "
                      "int8, where most multiply 8-bit integers");
}

void add_latent_frames_option(CLI::App& command, std::int64_t& latent_frames) {
    command
        .add_option(
            "--latent-frames", latent_frames,
            "Latent frames per step after the first (default 1); more is faster, needs more memory and delays frames")
        ->check(CLI::Range(1, 16).description(""))
        ->type_name("N");
}

void add_model_options(CLI::App& command, DecodeRequest& request) {
    command.add_option("--weights", request.weights, "Checkpoint: " + weights_help())
        ->required()
        ->check(check_name)
        ->type_name("CHECKPOINT");
    command.add_option("--family", request.checkpoint.family, "Whose decoder it is, where the file leaves it open")
        ->type_name("FAMILY");
    command
        .add_option("--statistics", request.checkpoint.statistics,
                    "Mean and deviation of the latents: a family's, none, or those of a JSON file (default: the "
                    "checkpoint's, else its latent space's)")
        ->type_name("FAMILY|none|FILE.json");
    add_lane_option(command, request.lane);
    add_precision_option(command, request.model.precision);
    add_sums_option(command, request.model.sums);
    add_preferred_backend_option(command, request.model.preferred_backend);
    command
        .add_option_function<std::string>(
            "--memory-budget", [&request](const std::string& text) { request.memory_budget = *parse_bytes(text); },
            "Most of the device's memory to take (2G, 800M): larger pictures are decoded in bands of rows")
        ->check([](const std::string& text) {
            if (parse_bytes(text)) return std::string();
            return text + " is no size; wanted a whole number above 0, of bytes or with K, M, G or T";
        })
        ->type_name("BYTES");
}

void add_decode_options(CLI::App& command, DecodeRequest& request) {
    add_model_options(command, request);
    add_choice(
        command, "--latents", request.model.latents, kScales,
        "normalized: apply z * std + mean; raw: it is applied already; auto: normalized, unless the file says raw "
        "(default)");
    command.add_flag_callback(
        "--no-clamp", [&request] { request.model.clamp = false; }, "Leave values outside [-1, 1] as they are");
}

void add_latents_options(CLI::App& command, vae::LatentsChoices& choices) {
    command
        .add_option("--tensor", choices.tensor,
                    "The one with the latents (default: by the usual names, or the only one that fits)")
        ->check(check_name)
        ->type_name("NAME");
    command
        .add_option_function<std::int64_t>(
            "--batch-item", [&choices](const std::int64_t& item) { choices.batch_item = item; },
            "Which clip of a batch, from 0")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}).description(""))
        ->type_name("N");
    command
        .add_option("--axes", choices.axes,
                    "Their order in the tensor: BTChw (default: that which has the checkpoint's channels)")
        ->check(check_name)
        ->type_name("ORDER");
    add_fps_option(command, choices.fps, "Frames a second (default: the file's, else that of the family's videos)");
}

void add_fps_option(CLI::App& command, double& fps, const std::string& description) {
    command.add_option("--fps", fps, description)
        ->check([](const std::string& text) -> std::string {
            double given = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), given);
            if (error == std::errc{} && end == text.data() + text.size() && given >= 0.01 && given <= 1000) return "";
            return text + " is no number from 0.01 to 1000";  // a NaN fails both comparisons
        })
        ->type_name("FPS");
}

void log_notes(std::span<const vae::Note> notes) {
    for (const vae::Note& note : notes)
        spdlog::log(note.level == LogLevel::Info ? spdlog::level::info : spdlog::level::warn, "{}", note.text);
}

Result<vae::Checkpoint> open_checkpoint(const DecodeRequest& request) {
    KG_TRY(auto checkpoint, vae::Checkpoint::open(request.weights, {}, request.checkpoint));
    log_notes(checkpoint.notes());
    return checkpoint;
}

Result<vae::Latents> open_latents(const std::string& path, const DecodeRequest& request,
                                  const vae::LatentsWanted& wanted) {
    KG_TRY(auto latents, vae::Latents::open(path, wanted, request.latents));
    log_notes(latents.notes);
    return latents;
}

std::string_view to_string(conv::Sums sums) {
    for (const auto& [word, value] : kSums)
        if (value == sums) return word;
    return "?";
}

std::uint64_t device_bytes(const vae::StackMemory& memory, const accel::DeviceInfo& device) {
    return memory.total() - (device.is_host() ? 0 : memory.io);
}

std::string count_frames(std::int64_t frames) { return fmt::format("{} frame{}", frames, frames == 1 ? "" : "s"); }

std::string count_units(const accel::DeviceInfo& device) {
    return fmt::format("{} {}", device.compute_units, device.is_host() ? "threads" : "compute units");
}

void state_memory(const vae::StackMemory& memory, const accel::Device& on, std::string_view work) {
    const accel::DeviceInfo& device = on.info();
    constexpr double kMiB = 1024.0 * 1024.0;
    const auto mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / kMiB; };
    spdlog::info(
        "{} takes {:.1f} MiB of {} on {}: parameters {:.1f}, once for all clips of the model; "
        "transients {:.1f}, histories {:.1f} and frames {:.1f} of each clip{}{}",
        work, mib(device_bytes(memory, device)),
        on.budget_bytes() == 0 ? fmt::format("{:.0f}", mib(device.memory_bytes))
                               : fmt::format("a budget of {:.0f} MiB", mib(on.budget_bytes())),
        device.name, mib(memory.parameters), mib(memory.transients), mib(memory.histories), mib(memory.stream),
        device.is_host() ? fmt::format(", staging {:.1f}", mib(memory.io))
                         : fmt::format(", and {:.1f} MiB of the host's", mib(memory.io)),
        memory.bands == 1 ? ""
                          : fmt::format("; in {} bands of rows, with {:.0f} % more multiply-adds", memory.bands,
                                        100 * (memory.work_ratio - 1)));
    if (!on.companions().empty())
        spdlog::info("every step is computed by {}: {:.1f} MiB on the others together", accel::names(on),
                     mib(memory.others));
}

std::string weights_help() {
    return fmt::format(
        "safetensors, .pth, .gguf or a folder; FILE:PREFIX in a file of several; or synthetic:FAMILY[,dim=N] of {}",
        families::any_of(&families::Family::name));
}

bool decodes(accel::Device& device) { return nn::Operators::create(device).has_value(); }

accel::DeviceHooks device_hooks(std::uint64_t memory_budget) {
    const auto write = [](LogLevel level, std::string_view message) {
        switch (level) {
            case LogLevel::Info:  // state_memory() already informs the user
                return spdlog::debug("{}", message);
            case LogLevel::Warning:
                return spdlog::warn("{}", message);
            case LogLevel::Error:
                return spdlog::error("{}", message);
        }
    };
    return {.log = Log(write), .host = {}, .budget = {.bytes = memory_budget, .on_pressure = {}}};
}

bool may_compute_in_display(const std::string& lane) {
    const accel::Backend* backend = accel::find_backend(lane);
    return backend != nullptr && backend->in_vulkan != nullptr;
}

Result<std::unique_ptr<accel::Device>> open_lane(const std::string& lane, std::uint64_t memory_budget,
                                                 const vulkan::Display* display) {
    const accel::DeviceHooks hooks = device_hooks(memory_budget);
    if (lane == "auto" || (display != nullptr && may_compute_in_display(lane)))
        return session::open_device(lane, hooks, display);
    auto device = accel::open(lane, hooks);
    if (device || device.error().code == ErrorCode::InvalidArgument) return device;  // its message names the lane
    std::vector<std::string> there;
    for (const accel::Availability& other : accel::inspect_accelerators())
        if (other.device) there.push_back(other.ordinal == 0 ? std::string(other.kind) : other.name());
    return fail(device.error().code, "lane {}: {}; there is: {}", lane, device.error().message, fmt::join(there, ", "));
}

}  // namespace kinetograph::cli
