#include <kinetograph/engine/accel/gpu/entry_points.hpp>

#include <algorithm>

namespace kinetograph::accel::gpu {

EntryPointBase::EntryPointBase(EntryPointTable& table, const char* symbol, Need need) : symbol_(symbol), need_(need) {
    table.all_.push_back(this);
}

std::string_view EntryPointBase::name() const {
    const std::string_view symbol = symbol_;
    for (const std::string_view version : {"_v2", "R0600"})
        if (symbol.ends_with(version)) return symbol.substr(0, symbol.size() - version.size());
    return symbol;
}

std::uint64_t EntryPointTable::calls() const {
    std::uint64_t sum = 0;
    for (const EntryPointBase* entry_point : all_) sum += entry_point->calls();
    return sum;
}

std::uint64_t EntryPointTable::calls(std::string_view symbol) const {
    const auto found =
        std::ranges::find(all_, symbol, [](const auto* entry) { return std::string_view(entry->symbol()); });
    return found == all_.end() ? 0 : (*found)->calls();
}

}  // namespace kinetograph::accel::gpu
