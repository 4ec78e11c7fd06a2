// kinetograph info: what this machine and this build can do, what is missing, and why.
#include <fmt/ranges.h>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/conv/onednn/library.hpp>
#include <kinetograph/compute/conv/self_check.hpp>
#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/engine/base/processor.hpp>
#include <kinetograph/engine/interop/topology.hpp>
#include <kinetograph/engine/vulkan/inspect.hpp>
#include <kinetograph/kernels/conv/images.hpp>
#include <kinetograph/tools/kinetograph/build_commit.hpp>
#include <kinetograph/tools/kinetograph/command.hpp>
#include <kinetograph/tools/kinetograph/decode_request.hpp>
#include <kinetograph/tools/kinetograph/text_output.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kinetograph::cli {
namespace {

/// The report on one kind of lane.
struct LaneReport {
    std::string_view name;
    bool decodes = false;   ///< `--lane NAME` works
    std::string situation;  ///< one sentence: the device that serves it, or what is missing and why
};

/// The kernels of this build for one kind of accelerator.
struct DeviceCode {
    std::string_view name;
    std::size_t images = 0;
    std::string_view compiler;  ///< or why there are none
};

std::vector<DeviceCode> device_code() {
    std::vector<DeviceCode> all;
    for (const accel::Backend& backend : accel::backends())
        for (const std::string_view format : backend.image_formats)
            for (const conv::Images& images : conv::images())
                if (images.format == format) all.push_back({backend.name, images.count(), images.compiler()});
    return all;
}

struct Report {
    accel::DeviceInfo cpu;
    std::vector<LaneReport> lanes;
    std::vector<accel::Availability> accelerators;  ///< the available ones
    std::vector<vulkan::DeviceReport> gpus;
    std::string vulkan_error;  ///< empty if Vulkan could be queried
    std::string topology;
};

LaneReport inspect_lane(const accel::Backend& backend) {
    auto device = backend.open(0, {});
    if (!device) return {backend.name, false, device.error().message};
    const accel::DeviceInfo& info = (*device)->info();
    if (info.is_host()) return {backend.name, true, fmt::format("{}; {}", info.driver, info.features)};
    const bool on = decodes(**device);
    const std::string relay =
        info.can_import_timeline
            ? ""
            : fmt::format("; a thread of the host relays Vulkan's timelines ({})", info.can_import_timeline.reason);
    return {backend.name, on,
            fmt::format("{}; {}; {}{}{}", info.name, info.driver, info.features, relay,
                        on ? "" : "; this build does not decode on it")};
}

Result<std::vector<vulkan::DeviceReport>> inspect_vulkan() {
    KG_TRY(auto loader, vulkan::Loader::open());
    KG_TRY(auto instance, vulkan::Instance::create(loader));
    return vulkan::inspect_devices(*instance);
}

std::string version(std::uint32_t api) {
    return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(api), VK_API_VERSION_MINOR(api), VK_API_VERSION_PATCH(api));
}

Result<Report> inspect() {
    KG_TRY(auto device, open_lane("cpu"));
    Report report{
        .cpu = device->info(), .lanes = {}, .accelerators = {}, .gpus = {}, .vulkan_error = {}, .topology = {}};
    auto gpus = inspect_vulkan();
    if (gpus) {
        report.gpus = std::move(*gpus);
    } else {
        report.vulkan_error = gpus.error().message;
    }
    const auto usable = std::ranges::find_if(report.gpus, &vulkan::DeviceReport::usable);
    const bool presents = usable != report.gpus.end();
    for (const accel::Backend& backend : accel::backends()) report.lanes.push_back(inspect_lane(backend));
    report.accelerators = accel::inspect_accelerators();
    std::erase_if(report.accelerators, [](const accel::Availability& one) { return !one.device; });
    KG_TRY(auto decoding, open_lane("auto"));
    report.topology = interop::choose_topology(decoding->info(), presents ? &*usable : nullptr).reason;
    return report;
}

double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024 * 1024); }
std::string hex(const std::array<std::uint8_t, 16>& uuid) { return fmt::format("{:02x}", fmt::join(uuid, "")); }

/// "avx2; KINETOGRAPH_CPU=avx2 leaves out avx512f avx512_vnni".
std::string instructions_text() {
    const Processor& here = processor();
    std::string text = here.features.empty() ? "no AVX2" : here.features;
    if (here.cap)
        text += fmt::format("; KINETOGRAPH_CPU={} leaves out {}", to_string(*here.cap),
                            here.unused.empty() ? "nothing" : here.unused);
    return text;
}

std::string to_text(const Report& report) {
    std::string text = fmt::format("kinetograph {}, commit {}\n\n", KINETOGRAPH_VERSION, kBuildCommit);
    text += fmt::format("processor   {}, {} threads, {:.1f} GiB\n", report.cpu.name, report.cpu.compute_units,
                        gib(report.cpu.memory_bytes));
    text += fmt::format("            {}; {}\n", instructions_text(), conv::onednn::library_text());
    text += "\nlanes that decode\n";
    for (const LaneReport& lane : report.lanes) {
        text += fmt::format("  {:<10}{:<5}{}\n", lane.name, lane.decodes ? "on" : "off", lane.situation);
    }
    text += "\naccelerators\n";
    for (const accel::Availability& one : report.accelerators) {
        text +=
            fmt::format("  {:<10}{}, {:.1f} GiB, {}{}\n", one.name(), one.device->name, gib(one.device->memory_bytes),
                        one.device->features, one.device->is_host() ? "" : ", uuid " + accel::uuid_text(*one.device));
        if (const std::string checks = conv::self_check_text(*one.device); !checks.empty())
            text += fmt::format("            {}\n", checks);
    }
    text += "\ndevice code in this build\n";
    for (const DeviceCode& code : device_code()) {
        text += code.images == 0 ? fmt::format("  {:<10}none: {}\n", code.name, code.compiler)
                                 : fmt::format("  {:<10}{} images by {}\n", code.name, code.images, code.compiler);
    }
    text += "\nVulkan devices\n";
    if (!report.vulkan_error.empty()) text += fmt::format("  none: {}\n", report.vulkan_error);
    for (const vulkan::DeviceReport& gpu : report.gpus) {
        text += fmt::format("  {} ({}), {}, Vulkan {}, {:.1f} GiB, uuid {}: {}\n", gpu.name, gpu.type, gpu.driver,
                            version(gpu.api_version), gib(gpu.device_memory_bytes), hex(gpu.uuid),
                            gpu.usable() ? "usable" : "declined");
        for (const std::string& reason : gpu.declined) text += fmt::format("    declined: {}\n", reason);
        for (const std::string& thing : gpu.missing) text += fmt::format("    missing: {}\n", thing);
    }
    text += "\nconvolution back ends, best first\n";
    std::size_t width = 0;
    for (const conv::Candidate& candidate : conv::candidates()) width = std::max(width, candidate.name.size());
    for (const conv::Candidate& candidate : conv::candidates()) {
        text += fmt::format("  {:<{}}  {}\n", candidate.name, width, candidate.summary);
    }
    return text + fmt::format("\ntopology    {}\n", report.topology);
}

nlohmann::ordered_json to_json(const Report& report) {
    nlohmann::ordered_json json{{"version", KINETOGRAPH_VERSION}, {"commit", kBuildCommit}};
    json["processor"] = {{"name", report.cpu.name},
                         {"threads", report.cpu.compute_units},
                         {"memory_bytes", report.cpu.memory_bytes},
                         {"features", processor().features},
                         {"cap", processor().cap ? nlohmann::ordered_json(to_string(*processor().cap)) : nullptr},
                         {"left_out", processor().unused},
                         {"onednn", conv::onednn::library_text()}};
    for (const LaneReport& lane : report.lanes) {
        json["lanes"].push_back({{"name", lane.name}, {"decodes", lane.decodes}, {"situation", lane.situation}});
    }
    for (const accel::Availability& one : report.accelerators) {
        json["accelerators"].push_back({{"name", one.name()},
                                        {"device", one.device->name},
                                        {"features", one.device->features},
                                        {"memory_bytes", one.device->memory_bytes},
                                        {"uuid", accel::uuid_text(*one.device)},
                                        {"self_checks", conv::self_check_text(*one.device)}});
    }
    for (const DeviceCode& code : device_code()) {
        json["device_code"].push_back({{"name", code.name}, {"images", code.images}, {"compiler", code.compiler}});
    }
    json["vulkan_error"] =
        report.vulkan_error.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(report.vulkan_error);
    json["vulkan_devices"] = nlohmann::ordered_json::array();
    for (const vulkan::DeviceReport& gpu : report.gpus) {
        json["vulkan_devices"].push_back({{"name", gpu.name},
                                          {"driver", gpu.driver},
                                          {"type", gpu.type},
                                          {"api_version", version(gpu.api_version)},
                                          {"uuid", hex(gpu.uuid)},
                                          {"memory_bytes", gpu.device_memory_bytes},
                                          {"usable", gpu.usable()},
                                          {"declined", gpu.declined},
                                          {"missing", gpu.missing}});
    }
    for (const conv::Candidate& candidate : conv::candidates()) {
        json["convolution_backends"].push_back({{"name", candidate.name}, {"summary", candidate.summary}});
    }
    json["topology"] = report.topology;
    return json;
}

Result<void> run(const std::string& path) {
    KG_TRY(auto report, inspect());
    if (path.empty()) return print(to_text(report));
    KG_TRY(auto out, TextOutput::create(path));
    return out.write(json_text(to_json(report)));
}

}  // namespace

void add_info(CLI::App& app, Action& action) {
    auto json = std::make_shared<std::string>();
    CLI::App* command =
        app.add_subcommand("info", "Devices, drivers and back ends: what is there, what is missing, why");
    command->add_option("--json", *json, "Write it here as JSON instead; -: to standard output")->type_name("FILE");
    command->final_callback([json, &action] { action = [json] { return run(*json); }; });
}

}  // namespace kinetograph::cli
