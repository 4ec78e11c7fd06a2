// How compiler inputs are folded into a Fingerprint: two independent 64-bit streams, a few cycles a word.
#pragma once

#include <kinetograph/engine/graph/plan.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::graph {

/// Upper and lower half of the 128-bit product, folded (the "mum" step of wyhash, Wang Yi 2019).
inline std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

inline void mix(Fingerprint& fingerprint, std::uint64_t word) {
    fingerprint.low = fold_multiply(fingerprint.low ^ word, 0x9e3779b97f4a7c15U) + 0xa0761d6478bd642fU;
    fingerprint.high = fold_multiply(fingerprint.high + word, 0xe7037ed1a0b428dbU) ^ 0x8ebc6af09c88c6e3U;
}

inline void mix(Fingerprint& fingerprint, std::string_view text) {
    mix(fingerprint, text.size());
    for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
        mix(fingerprint, word);
    }
}

/// The part of a plan's fingerprint that depends on the options alone: an executor computes it once, as only frames
/// change.
Fingerprint fingerprint(const CompileOptions& options);
/// The plan's whole fingerprint, from a frame's topology and the fingerprint of the options.
inline Fingerprint combine(Fingerprint frame, const Fingerprint& options) {
    mix(frame, options.low);
    mix(frame, options.high);
    return frame;
}

}  // namespace kinetograph::graph
