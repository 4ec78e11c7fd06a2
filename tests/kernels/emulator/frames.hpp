#pragma once

#include <functional>
#include <random>

#include "problem_folder.hpp"

namespace kinetograph::emulator {

/// Consecutive frames, each at a multiple of 16 bytes, as a kernel and a reference read them. Initially zero.
class Frames {
  public:
    Frames(Element element, size_t frames, size_t elements);

    std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(memory_)); }
    const std::vector<const std::byte*>& inputs() const { return inputs_; }
    const std::vector<std::byte*>& outputs() const { return outputs_; }
    size_t frames() const { return inputs_.size(); }
    Element element() const { return element_; }

    double get(size_t frame, size_t index) const;
    void set(size_t frame, size_t index, float value);  ///< rounded to the element

    Frames& fill_normal(uint32_t seed);              ///< normal numbers
    Frames& fill_whole(uint32_t seed, int largest);  ///< whole numbers from -largest to largest

    /// value(frame, index) for every element, zeros between the frames: the reference of the whole buffer for an
    /// Expectation.
    std::vector<double> reference(const std::function<double(size_t, size_t)>& value) const;

  private:
    struct alignas(16) Block {
        std::byte bytes[16];
    };
    Element element_;
    size_t elements_, pitch_;
    std::vector<Block> memory_;
    std::vector<const std::byte*> inputs_;
    std::vector<std::byte*> outputs_;
};

/// Writes problems one after the other; collects errors until the end.
class ProblemWriter {
  public:
    explicit ProblemWriter(const char* path) : folder_(path) {}

    void add(const Problem& problem);

    /// Closes the folder and prints the number of problems. Returns the program's exit code: 1 if a problem could not
    /// be written, with the reason printed.
    int finish() const;

  private:
    ProblemFolder folder_;
    std::vector<std::string> faults_;
};

}  // namespace kinetograph::emulator
