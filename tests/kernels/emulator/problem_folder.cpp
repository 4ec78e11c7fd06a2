#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <kinetograph/kernels/host_model/wave_launch.hpp>
#include <utility>

#include "problem_folder.hpp"

namespace kinetograph::emulator {
namespace {

const char* name_of(Element element) {
    switch (element) {
        case Element::U32:
            return "u32";
        case Element::F32:
            return "f32";
        case Element::BF16:
            return "bf16";
        case Element::F16:
            return "f16";
        case Element::F8E4M3:
            return "f8e4m3";
        default:
            return "";
    }
}

/// Offsets of device addresses in the parameters: every aligned word that points into a buffer of the problem.
nlohmann::json find_pointers(const Problem& problem) {
    auto pointers = nlohmann::json::array();
    for (size_t offset = 0; offset + sizeof(uint64_t) <= problem.parameters.size(); offset += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, problem.parameters.data() + offset, sizeof word);
        for (const ProblemBuffer& buffer : problem.buffers) {
            const auto begin = reinterpret_cast<uint64_t>(buffer.memory.data());
            if (word >= begin && word < begin + buffer.memory.size())
                pointers.push_back({{"offset", offset}, {"buffer", buffer.name}, {"distance", word - begin}});
        }
    }
    return pointers;
}

}  // namespace

ProblemFolder::ProblemFolder(std::filesystem::path path) : path_(std::move(path)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
}

std::string ProblemFolder::save(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return name;
}

std::optional<std::string> ProblemFolder::write(const Problem& problem) {
    const host_model::ModelKernel* kernel = host_model::find_model_kernel(problem.kernel);
    if (kernel == nullptr) return fmt::format("{}: this program has no kernel {}", problem.name, problem.kernel);
    if (kernel->parameter_bytes != problem.parameters.size())
        return fmt::format("{}: {} takes {} bytes of parameters, given {}", problem.name, problem.kernel,
                           kernel->parameter_bytes, problem.parameters.size());
    const std::string number = fmt::format("{:03}", problems_.size());
    nlohmann::json entry{{"name", problem.name},
                         {"kernel", problem.kernel},
                         {"grid", {problem.grid.x, problem.grid.y, problem.grid.z}},
                         {"block", {kernel->threads, 1, 1}},
                         {"parameters", save(number + ".parameters", problem.parameters)},
                         {"pointers", find_pointers(problem)}};
    for (const ProblemBuffer& buffer : problem.buffers)
        entry["buffers"][buffer.name] = save(number + "." + buffer.name, buffer.memory);

    const auto outcome =
        host_model::launch_waves(*kernel, {.grid = problem.grid, .seed = problems_.size()}, problem.parameters.data());
    if (outcome.fault) return fmt::format("{}: the host model stopped: {}", problem.name, *outcome.fault);
    for (const Expectation& expected : problem.expectations) {
        for (const ProblemBuffer& buffer : problem.buffers) {
            if (buffer.name != expected.buffer) continue;
            nlohmann::json what{{"buffer", expected.buffer},
                                {"element", name_of(expected.element)},
                                {"model", save(number + "." + buffer.name + ".model", buffer.memory)},
                                {"model_tolerance", expected.model_tolerance}};
            if (!expected.reference.empty()) {
                what["reference"] =
                    save(number + "." + buffer.name + ".reference", std::as_bytes(std::span(expected.reference)));
                what["reference_tolerance"] = expected.reference_tolerance;
            }
            entry["expectations"].push_back(std::move(what));
        }
    }
    problems_.push_back(std::move(entry));
    return std::nullopt;
}

void ProblemFolder::close() const { std::ofstream(path_ / "problems.json") << problems_.dump(1) << '\n'; }

}  // namespace kinetograph::emulator
