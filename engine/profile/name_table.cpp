#include <kinetograph/engine/profile/name_table.hpp>

#include <cassert>
#include <functional>

namespace kinetograph::profile {

NameTable::NameTable() { intern(""); }

/// The entry of `text`, or null and the slot in which it belongs.
const NameTable::Entry* NameTable::find(std::size_t hash, std::string_view text, std::size_t& slot) const {
    for (slot = hash % kSlots;; slot = (slot + 1) % kSlots) {
        const Entry* entry = (*slots_)[slot].load(std::memory_order_acquire);
        if (entry == nullptr || (entry->hash == hash && entry->text == text)) return entry;
    }
}

NameId NameTable::intern(std::string_view text) {
    const std::size_t hash = std::hash<std::string_view>{}(text);
    std::size_t slot = 0;
    if (const Entry* known = find(hash, text, slot)) return known->id;
    const Lock lock(adding_);
    if (const Entry* known = find(hash, text, slot)) return known->id;
    const std::size_t id = entries_.size();
    if (id == kMost) return kMost - 1;
    const Entry& added = id + 1 == kMost
                             ? entries_.emplace_back(Entry{0, static_cast<NameId>(id), "(more names)"})
                             : entries_.emplace_back(Entry{hash, static_cast<NameId>(id), std::string(text)});
    (*by_id_)[id].store(&added, std::memory_order_release);
    if (id + 1 < kMost) (*slots_)[slot].store(&added, std::memory_order_release);
    size_.store(id + 1, std::memory_order_release);
    return added.id;
}

std::string_view NameTable::text(NameId id) const {
    const Entry* entry = (*by_id_)[id].load(std::memory_order_acquire);
    assert(entry != nullptr && "a number that this table has not given");
    return entry->text;
}

}  // namespace kinetograph::profile
