#include <kinetograph/engine/accel/gpu/ledger.hpp>

#include <algorithm>

namespace kinetograph::accel::gpu {

void Ledger::add(std::uint64_t bytes) {
    std::lock_guard lock(mutex_);
    held_ += bytes;
    peak_ = std::max(peak_, held_);
}

void Ledger::remove(std::uint64_t bytes) {
    std::lock_guard lock(mutex_);
    held_ -= bytes;
}

std::uint64_t Ledger::held() const {
    std::lock_guard lock(mutex_);
    return held_;
}

std::uint64_t Ledger::peak() const {
    std::lock_guard lock(mutex_);
    return peak_;
}

}  // namespace kinetograph::accel::gpu
