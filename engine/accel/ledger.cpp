#include <kinetograph/engine/accel/ledger.hpp>

#include <algorithm>
#include <limits>

namespace kinetograph::accel {

namespace {

std::uint64_t left_of(const MemoryBudget& budget, std::uint64_t held) {
    if (budget.bytes == 0) return std::numeric_limits<std::uint64_t>::max();
    return budget.bytes - std::min(held, budget.bytes);
}

}  // namespace

bool Ledger::add(std::uint64_t bytes) {
    const Lock lock(mutex_);
    if (bytes > left_of(budget_, held_)) return false;
    held_ += bytes;
    peak_ = std::max(peak_, held_);
    return true;
}

void Ledger::remove(std::uint64_t bytes) {
    const Lock lock(mutex_);
    held_ -= bytes;
}

std::uint64_t Ledger::held() const {
    const Lock lock(mutex_);
    return held_;
}

std::uint64_t Ledger::peak() const {
    const Lock lock(mutex_);
    return peak_;
}

std::uint64_t Ledger::left() const {
    const Lock lock(mutex_);
    return left_of(budget_, held_);
}

void Ledger::set_budget(MemoryBudget budget) {
    const Lock lock(mutex_);
    budget_ = std::move(budget);
}

std::uint64_t Ledger::budget() const {
    const Lock lock(mutex_);
    return budget_.bytes;
}

bool Ledger::relieve(std::string_view name, std::uint64_t bytes, std::uint64_t free) const {
    MemoryBudget budget;
    {
        const Lock lock(mutex_);
        budget = budget_;
    }
    return budget.on_pressure && budget.on_pressure({name, bytes, free, budget.bytes});
}

}  // namespace kinetograph::accel
