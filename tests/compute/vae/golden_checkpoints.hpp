// The tensor lists of the golden data's checkpoints.json: names, shapes, check sums and first values.
#pragma once

#include <kinetograph/tests/golden/golden.hpp>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace kinetograph::test {

/// The entry of one model ("wan21 dim=96").
inline nlohmann::json golden_checkpoint(const std::string& model) {
    std::ifstream file(golden::folder() / "checkpoints.json");
    return nlohmann::json::parse(file).at(model);
}

inline std::uint32_t hex32(const nlohmann::json& text) {
    return static_cast<std::uint32_t>(std::stoul(text.get<std::string>(), nullptr, 16));
}

inline std::uint64_t hex64(const nlohmann::json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); }

}  // namespace kinetograph::test
