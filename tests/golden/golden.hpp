// Reference outputs and comparison with them.
#pragma once

#include <gtest/gtest.h>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/tests/source_tree.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace kinetograph::golden {

/// The files' folder; README.md beside it describes them.
inline std::filesystem::path folder() { return test::source_tree() / "tests/golden/data"; }

/// A golden file's tensor as float32, with its shape.
struct Tensor {
    tensor::Shape shape;
    std::vector<float> values;
};

class File {
  public:
    /// Throws if the file cannot be read: it is part of the repository.
    explicit File(const std::string& name) : file_(opened(name)) {}
    Tensor tensor(const std::string& name) const {
        const tensor::TensorView* view = file_.find(name);
        if (view == nullptr) throw std::runtime_error(file_.name() + " has no tensor " + name);
        return {view->shape, *tensor::to_f32(*view, name)};
    }

  private:
    static tensor::SafetensorsFile opened(const std::string& name) {
        auto file = tensor::SafetensorsFile::open(folder() / name);
        if (!file) throw std::runtime_error(file.error().message);
        return std::move(*file);
    }

    tensor::SafetensorsFile file_;
};

struct Difference {
    double relative_l2 = 0;  ///< ||out - reference|| / ||reference||
    double max_abs = 0;
};

inline Difference difference(std::span<const float> out, std::span<const float> reference) {
    if (out.size() != reference.size() || out.empty()) return {INFINITY, INFINITY};
    double error = 0, norm = 0, largest = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double d = static_cast<double>(out[i]) - reference[i];
        error += d * d;
        norm += static_cast<double>(reference[i]) * reference[i];
        largest = std::isnan(d) ? INFINITY : std::max(largest, std::abs(d));
    }
    return {std::isnan(error) ? INFINITY : std::sqrt(error / norm), largest};
}

struct Limit {
    double relative_l2;
    double max_abs;
};

inline testing::AssertionResult within(std::span<const float> out, std::span<const float> reference, Limit limit) {
    const Difference found = difference(out, reference);
    const bool good = found.relative_l2 <= limit.relative_l2 && found.max_abs <= limit.max_abs;
    return (good ? testing::AssertionSuccess() : testing::AssertionFailure())
           << "relative L2 " << found.relative_l2 << " (limit " << limit.relative_l2 << "), max abs " << found.max_abs
           << " (limit " << limit.max_abs << "), " << out.size() << " values against " << reference.size();
}

/// The upper rows of each of `frames` frames, `count` values in all: the part of a large activation that is stored.
inline std::vector<float> upper_rows(std::span<const float> values, std::int64_t frames, std::size_t count) {
    const std::size_t whole = values.size() / static_cast<std::size_t>(frames);
    const std::size_t kept = std::min(whole, count / static_cast<std::size_t>(frames));
    std::vector<float> result;
    for (std::size_t begin = 0; begin + whole <= values.size(); begin += whole) {
        const auto rows = values.subspan(begin, kept);
        result.insert(result.end(), rows.begin(), rows.end());
    }
    return result;
}

/// Frames [first, first + count) of a [C, T, H, W] tensor as [count, C, H, W]: a step's input.
inline std::vector<float> tchw(const Tensor& cthw, std::int64_t first, std::int64_t count) {
    const std::int64_t channels = cthw.shape[0], frames = cthw.shape[1], pixels = cthw.shape[2] * cthw.shape[3];
    std::vector<float> result;
    for (std::int64_t t = first; t < first + count; ++t)
        for (std::int64_t c = 0; c < channels; ++c)
            result.insert(result.end(), cthw.values.begin() + (c * frames + t) * pixels,
                          cthw.values.begin() + (c * frames + t + 1) * pixels);
    return result;
}

/// The same frames as [count, H, W, C]: a step's output.
inline std::vector<float> thwc(const Tensor& cthw, std::int64_t first, std::int64_t count) {
    const std::int64_t channels = cthw.shape[0], pixels = cthw.shape[2] * cthw.shape[3];
    const std::vector<float> planar = tchw(cthw, first, count);
    std::vector<float> result(planar.size());
    for (std::int64_t t = 0; t < count; ++t)
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t p = 0; p < pixels; ++p)
                result[static_cast<std::size_t>((t * pixels + p) * channels + c)] =
                    planar[static_cast<std::size_t>((t * channels + c) * pixels + p)];
    return result;
}

}  // namespace kinetograph::golden
