/// gfx950_problems FOLDER ... OBJECT.hsaco ...: runs the problems that tests/kernels/emulator writes on a real MI355X,
/// through the HIP accelerator, and compares as run_problems.py does. Exit codes: 0 agree, 1 differ, 77 no such GPU.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <kinetograph/engine/accel/hip/device.hpp>
#include <kinetograph/kernels/isa/amd/small_floats.hpp>
#include <map>
#include <nlohmann/json.hpp>

namespace kinetograph {
namespace {

using Bytes = std::vector<std::byte>;
constexpr int kSkipped = 77;

Bytes read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> contents{std::istreambuf_iterator<char>(file), {}};
    Bytes bytes(contents.size());
    std::memcpy(bytes.data(), contents.data(), contents.size());
    return bytes;
}

std::vector<double> values(const Bytes& bytes, const std::string& element) {
    const size_t size = element == "f8e4m3" ? 1 : element == "bf16" || element == "f16" ? 2 : 4;
    std::vector<double> result(bytes.size() / size);
    for (size_t i = 0; i < result.size(); ++i) {
        uint32_t bits = 0;
        std::memcpy(&bits, bytes.data() + i * size, size);
        if (element == "f32") result[i] = std::bit_cast<float>(bits);
        if (element == "u32") result[i] = bits;
        if (element == "bf16") result[i] = isa::amd::from_bf16(bits);
        if (element == "f16") result[i] = isa::amd::from_f16(bits);
        if (element == "f8e4m3") result[i] = isa::amd::from_f8e4m3(bits);
    }
    return result;
}

/// ||found - wanted|| / ||wanted||; infinite if only one of them has a NaN.
double distance(const std::vector<double>& found, const std::vector<double>& wanted) {
    double difference = 0, scale = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
        if (std::isnan(found[i]) != std::isnan(wanted[i])) return INFINITY;
        if (std::isnan(wanted[i]) || found[i] == wanted[i]) continue;
        difference += (found[i] - wanted[i]) * (found[i] - wanted[i]);
        scale += wanted[i] * wanted[i];
    }
    if (difference == 0) return 0;
    for (size_t i = 0; i < wanted.size(); ++i)
        if (found[i] == wanted[i]) scale += wanted[i] * wanted[i];
    return std::sqrt(difference / (scale == 0 ? 1 : scale));
}

/// What is wrong with a buffer; empty if nothing.
std::string judge(const nlohmann::json& expected, const Bytes& found, const std::filesystem::path& folder) {
    const std::string element = expected["element"], buffer = expected["buffer"];
    const Bytes model = read_file(folder / expected["model"].get<std::string>());
    const double gap = distance(values(found, element), values(model, element));
    if (model != found && (expected["model_tolerance"] == 0 || gap > expected["model_tolerance"].get<double>()))
        return fmt::format("{} is {:.2e} from the host model's", buffer, gap);
    if (!expected.contains("reference")) return {};
    const Bytes bytes = read_file(folder / expected["reference"].get<std::string>());
    std::vector<double> reference(bytes.size() / sizeof(double));
    std::memcpy(reference.data(), bytes.data(), bytes.size());
    const double far = distance(values(found, element), reference);
    if (!(far <= expected["reference_tolerance"].get<double>()))
        return fmt::format("{} is {:.2e} from the reference", buffer, far);
    return {};
}

accel::Extent3 extent(const nlohmann::json& three) { return {three[0], three[1], three[2]}; }

class Prover {
  public:
    Prover(accel::Device& device, const std::vector<std::filesystem::path>& objects) : device_(device) {
        for (const auto& path : objects) {
            auto loaded = device_.load(path.stem().string(), read_file(path));
            if (!loaded) throw std::runtime_error(loaded.error().message);
            modules_.push_back(*loaded);
        }
        auto stream = device_.create_stream("problems");
        if (!stream) throw std::runtime_error(stream.error().message);
        stream_ = std::move(*stream);
    }

    /// What is wrong with the problem's results; empty if nothing.
    std::string run(const nlohmann::json& problem, const std::filesystem::path& folder) {
        const std::string name = problem["kernel"];
        std::shared_ptr<accel::Kernel> kernel;
        for (const auto& module : modules_)
            if (auto found = module->kernel(name)) kernel = *found;
        if (!kernel) return "no code object has the kernel " + name;
        Bytes arguments = read_file(folder / problem["parameters"].get<std::string>());
        std::map<std::string, std::unique_ptr<accel::Memory>> buffers;
        for (const auto& [key, file] : problem["buffers"].items()) {
            const Bytes contents = read_file(folder / file.get<std::string>());
            auto memory = device_.allocate(key, contents.size());
            if (!memory) return memory.error().message;
            if (auto sent = stream_->upload((*memory)->data(), contents); !sent) return sent.error().message;
            buffers[key] = std::move(*memory);
        }
        for (const auto& pointer : problem["pointers"]) {
            const std::byte* const address =
                buffers[pointer["buffer"]]->data() + pointer["distance"].get<std::ptrdiff_t>();
            std::memcpy(arguments.data() + pointer["offset"].get<size_t>(), &address, sizeof address);
        }
        stream_->launch({.name = name,
                         .kernel = *kernel,
                         .grid = extent(problem["grid"]),
                         .block = extent(problem["block"]),
                         .arguments = arguments});
        if (auto done = stream_->synchronize(); !done) return done.error().message;
        for (const auto& expected : problem["expectations"]) {
            const accel::Memory& memory = *buffers[expected["buffer"]];
            Bytes found(memory.bytes());
            if (auto read = stream_->read_back(found, memory.data()); !read) return read.error().message;
            if (std::string wrong = judge(expected, found, folder); !wrong.empty()) return wrong;
        }
        return {};
    }

  private:
    accel::Device& device_;
    std::vector<std::shared_ptr<accel::Module>> modules_;
    std::unique_ptr<accel::Stream> stream_;
};

int run_all(std::span<const char* const> arguments) {
    std::vector<std::filesystem::path> folders, objects;
    for (const char* argument : arguments) {
        const std::filesystem::path path(argument);
        (path.extension() == ".hsaco" ? objects : folders).push_back(path);
    }
    auto device = accel::hip::create_device();
    if (!device) {
        fmt::print("SKIPPED: {}\n", device.error().message);
        return kSkipped;
    }
    const accel::DeviceInfo& info = (*device)->info();
    if (info.architecture != "gfx950") {
        fmt::print("SKIPPED: {} is {}, the code objects are for gfx950\n", info.name, info.architecture);
        return kSkipped;
    }
    fmt::print("{} ({}), {}\n", info.name, info.features, info.driver);
    Prover prover(**device, objects);
    size_t count = 0, failures = 0;
    for (const auto& folder : folders) {
        for (const auto& problem : nlohmann::json::parse(std::ifstream(folder / "problems.json"))) {
            const std::string wrong = prover.run(problem, folder);
            ++count;
            failures += wrong.empty() ? 0 : 1;
            fmt::print("{}  {}  [{}]  {}\n", wrong.empty() ? "agrees" : "FAILED", problem["name"].get<std::string>(),
                       problem["kernel"].get<std::string>(), wrong);
        }
    }
    fmt::print("{} problems executed on {}, {} failed\n", count, info.name, failures);
    return failures == 0 && count != 0 ? 0 : 1;
}

}  // namespace
}  // namespace kinetograph

int main(int argc, char** argv) {
    try {
        return kinetograph::run_all(std::span<const char* const>(argv + 1, argv + argc));
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
