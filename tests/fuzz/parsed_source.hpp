// What every source that a format's reader accepts must satisfy, for the fuzz targets of the formats.
#pragma once

#include <kinetograph/compute/formats/tensor_source.hpp>

#include <cmath>

namespace kinetograph::fuzz {

inline void expect(bool promise) {
    if (!promise) __builtin_trap();
}

/// Parses the bytes as a file of any format.
inline void parse_as_file(const std::uint8_t* data, std::size_t size) {
    const auto source = formats::parse({std::as_bytes(std::span(data, size))}, "fuzz");
    if (!source) return expect(source.error().message.starts_with("fuzz: ") && source.error().message.size() < 4096);
    for (const auto& [name, view] : source->tensors()) {
        unsigned sum = 0;  // reads every byte, so that the address sanitizer checks it
        for (std::uint64_t i = 0; i < view.bytes; ++i) sum += std::to_integer<unsigned>(view.data[i]);
        volatile unsigned keep = sum;
        (void)keep;
        expect(tensor::is_whole(view));
        const auto values = tensor::to_f32(view, name);
        const auto bad = tensor::first_not_finite(view);
        expect(!bad || !values || !std::isfinite(values->at(static_cast<std::size_t>(*bad))));
        expect(source->find(name) != nullptr && !source->unreadable().contains(name));
    }
}

}  // namespace kinetograph::fuzz
