#pragma once

#include <cstdint>
#include <filesystem>
#include <kinetograph/kernels/host_model/launch.hpp>
#include <kinetograph/kernels/isa/element.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Writes kernel launches for run_problems.py, which executes the compiled kernel in an instruction emulator.
/// Parameters, buffers and expected results are made here; the other side only executes and compares.
namespace kinetograph::emulator {

/// The expected contents of a buffer after a launch.
struct Expectation {
    std::string buffer;
    Element element = Element::U32;
    /// Limit of ||difference|| / ||model|| over the whole buffer, against the host model's run of the same source; 0:
    /// equal bit for bit.
    double model_tolerance = 0;
    /// One value per element, from arithmetic in fp64 that shares no code with the kernel; empty if the model suffices.
    std::vector<double> reference;
    double reference_tolerance = 0;  ///< ||difference|| / ||reference||
};

struct ProblemBuffer {
    std::string name;
    std::span<std::byte> memory;  ///< initial contents; its address occurs in the parameters
};

struct Problem {
    std::string name;    ///< a phrase that says what it covers
    std::string kernel;  ///< the name in KG_KERNEL
    host_model::Dim3 grid{};
    std::span<const std::byte> parameters;
    std::vector<ProblemBuffer> buffers;
    std::vector<Expectation> expectations = {};
};

/// A folder of problems: problems.json and a file per buffer. `write` first runs the kernel in the host model and
/// returns that run's fault, if any.
class ProblemFolder {
  public:
    /// Empties the folder `path`, or creates it.
    explicit ProblemFolder(std::filesystem::path path);

    std::optional<std::string> write(const Problem& problem);

    /// Writes problems.json, which completes the folder.
    void close() const;

    size_t size() const { return problems_.size(); }

  private:
    std::string save(const std::string& name, std::span<const std::byte> bytes) const;

    std::filesystem::path path_;
    nlohmann::json problems_ = nlohmann::json::array();
};

}  // namespace kinetograph::emulator
