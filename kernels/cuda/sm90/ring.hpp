#pragma once

#include <kinetograph/kernels/isa/target.hpp>

namespace kinetograph::sm90 {

/// A position in a ring of stages.
template <uint32_t kStages>
struct Ring {
    uint32_t slot = 0, parity = 0;
    KG_DEVICE void advance() {
        if (++slot == kStages) {
            slot = 0;
            parity ^= 1u;
        }
    }
    /// The slot `count` stages back, at most a lap.
    KG_DEVICE uint32_t slot_before(uint32_t count = 1) const {
        return slot >= count ? slot - count : slot + kStages - count;
    }
    KG_DEVICE void advance(uint32_t count) {
        slot += count;
        parity ^= slot / kStages & 1u;
        slot %= kStages;
    }
};

}  // namespace kinetograph::sm90
