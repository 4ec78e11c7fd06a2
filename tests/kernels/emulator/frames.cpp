#include "frames.hpp"

#include <fmt/format.h>
#include <algorithm>

#include <cstdio>
#include <cstring>
#include <kinetograph/tests/kernels/stored_values.hpp>

namespace kinetograph::emulator {

Frames::Frames(Element element, size_t frames, size_t elements)
    : element_(element),
      elements_(elements),
      pitch_((elements * element_bytes(element) + 15) / 16 * 16),
      memory_(frames * pitch_ / 16) {
    for (size_t i = 0; i < frames; ++i) {
        inputs_.push_back(bytes().data() + i * pitch_);
        outputs_.push_back(bytes().data() + i * pitch_);
    }
}

double Frames::get(size_t frame, size_t index) const { return test::load_value(element_, inputs_[frame], index); }

void Frames::set(size_t frame, size_t index, float value) {
    test::store_value(element_, outputs_[frame], index, value);
}

Frames& Frames::fill_normal(uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (size_t frame = 0; frame < frames(); ++frame)
        for (size_t i = 0; i < elements_; ++i) set(frame, i, normal(random));
    return *this;
}

Frames& Frames::fill_whole(uint32_t seed, int largest) {
    std::mt19937 random(seed);
    const auto values = static_cast<uint32_t>(2 * largest + 1);
    for (size_t frame = 0; frame < frames(); ++frame)
        for (size_t i = 0; i < elements_; ++i)
            set(frame, i, static_cast<float>(static_cast<int>(random() % values) - largest));
    return *this;
}

std::vector<double> Frames::reference(const std::function<double(size_t, size_t)>& value) const {
    const size_t pitch = pitch_ / element_bytes(element_);
    std::vector<double> result(frames() * pitch, 0.0);
    for (size_t frame = 0; frame < frames(); ++frame)
        for (size_t i = 0; i < elements_; ++i) result[frame * pitch + i] = value(frame, i);
    return result;
}

void ProblemWriter::add(const Problem& problem) {
    if (const auto wrong = folder_.write(problem)) faults_.push_back(*wrong);
}

int ProblemWriter::finish() const {
    for (const std::string& fault : faults_) fmt::print(stderr, "{}\n", fault);
    folder_.close();
    fmt::print("{} problems written\n", folder_.size());
    return faults_.empty() ? 0 : 1;
}

}  // namespace kinetograph::emulator
