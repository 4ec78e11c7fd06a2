// CheckpointFile: a checkpoint in memory that a test renames, rounds, breaks and writes to disk.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <map>
#include <string>
#include <vector>

namespace kinetograph::test {

struct StoredTensor {
    std::string name;
    tensor::DType dtype = tensor::DType::F32;
    tensor::Shape shape;
    std::vector<std::byte> bytes;

    template <class Element>
    static StoredTensor of(std::string name, tensor::DType dtype, tensor::Shape shape,
                           std::span<const Element> values) {
        const auto bytes = std::as_bytes(values);
        return {std::move(name), dtype, std::move(shape), {bytes.begin(), bytes.end()}};
    }
};

/// `values` as `dtype`, which is F32, F16 or BF16.
inline StoredTensor stored(std::string name, tensor::DType dtype, tensor::Shape shape,
                           const std::vector<float>& values) {
    if (dtype == tensor::DType::F32) {
        return StoredTensor::of(std::move(name), dtype, std::move(shape), std::span<const float>(values));
    }
    std::vector<std::uint16_t> halves(values.size());
    std::ranges::transform(values, halves.begin(), dtype == tensor::DType::F16 ? tensor::to_f16 : tensor::to_bf16);
    return StoredTensor::of(std::move(name), dtype, std::move(shape), std::span<const std::uint16_t>(halves));
}

struct CheckpointFile {
    std::vector<StoredTensor> tensors;
    std::map<std::string, std::string> metadata;

    /// The synthetic decoder of width `dim` under its original names.
    static CheckpointFile synthetic(std::int64_t dim, tensor::DType dtype = tensor::DType::F32,
                                    const std::string& family = "wan2.1") {
        const auto checkpoint = vae::Checkpoint::open("synthetic:" + family + ",dim=" + std::to_string(dim)).value();
        CheckpointFile file;
        for (const std::string& name : checkpoint.tensor_names()) {
            file.tensors.push_back(stored(name, dtype, *checkpoint.shape(name), *checkpoint.load(name)));
        }
        return file;
    }

    CheckpointFile& rename(const std::function<std::string(const std::string&)>& renamed) {
        for (StoredTensor& tensor : tensors) tensor.name = renamed(tensor.name);
        return *this;
    }

    CheckpointFile& remove(std::string_view name) {
        EXPECT_EQ(std::erase_if(tensors, [&](const auto& tensor) { return tensor.name == name; }), 1U) << name;
        return *this;
    }

    StoredTensor& at(std::string_view name) {
        const auto found = std::ranges::find(tensors, name, &StoredTensor::name);
        if (found == tensors.end()) throw std::out_of_range(std::string(name));
        return *found;
    }

    void write(const std::filesystem::path& path) const {
        std::vector<tensor::NamedTensor> views;
        for (const StoredTensor& tensor : tensors) {
            views.push_back({tensor.name, {tensor.dtype, tensor.shape, tensor.bytes.data(), tensor.bytes.size()}});
        }
        const auto written = tensor::write_safetensors(path, views, metadata);
        ASSERT_TRUE(written) << written.error().message;
    }
};

}  // namespace kinetograph::test
