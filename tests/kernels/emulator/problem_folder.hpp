#pragma once

#include <cstdint>
#include <filesystem>
#include <kinetograph/kernels/conv/element.hpp>
#include <kinetograph/kernels/host_model/launch.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Hands kernel launches to run_problems.py, which executes the compiled kernel in an instruction emulator. Parameters,
/// buffers and what must come out are made here, once; the other side only executes and compares.
namespace kinetograph::emulator {

/// What a launch must have left in a buffer.
struct Expectation {
    std::string buffer;
    Element element = Element::U32;
    /// Of the whole buffer against what the host model's run of the same source left there: 0 means bit for bit; above
    /// that, ||difference|| / ||model||.
    double model_tolerance = 0;
    /// One value an element, from arithmetic in fp64 that shares no code with the kernel; empty where the model is
    /// enough.
    std::vector<double> reference;
    double reference_tolerance = 0;  ///< ||difference|| / ||reference||
};

struct ProblemBuffer {
    std::string name;
    std::span<std::byte> memory;  ///< as the kernel shall find it; its address stands somewhere in the parameters
};

struct Problem {
    std::string name;    ///< a sentence fragment that says what it covers
    std::string kernel;  ///< as KG_KERNEL names it
    host_model::Dim3 grid{};
    std::span<const std::byte> parameters;
    std::vector<ProblemBuffer> buffers;
    std::vector<Expectation> expectations = {};
};

/// A folder of problems: problems.json and a file a buffer. `write` runs the kernel in the host model first and says
/// what went wrong with that; nothing then.
class ProblemFolder {
  public:
    /// Empties the folder `path`, or makes it.
    explicit ProblemFolder(std::filesystem::path path);

    std::optional<std::string> write(const Problem& problem);

    /// Writes problems.json; without it the folder is no folder of problems.
    void close() const;

    size_t size() const { return problems_.size(); }

  private:
    std::string save(const std::string& name, std::span<const std::byte> bytes) const;

    std::filesystem::path path_;
    nlohmann::json problems_ = nlohmann::json::array();
};

}  // namespace kinetograph::emulator
