// NameTable: names of passes and tracks as small numbers, so that what is recorded carries no strings.
#pragma once

#include <kinetograph/engine/base/thread_safety.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace kinetograph::profile {

using NameId = std::uint32_t;

/// Gives equal texts equal numbers, from 1 on; 0 is the empty text. Thread-safe. A known text is found without a lock.
/// Bounded: texts beyond kMost share one number, whose text is "(more names)".
class NameTable {
  public:
    static constexpr std::size_t kMost = 1U << 14U;

    NameTable();
    NameTable(const NameTable&) = delete;
    NameTable& operator=(const NameTable&) = delete;

    NameId intern(std::string_view text);
    /// Valid as long as the table. `id` is one that intern() returned.
    std::string_view text(NameId id) const;
    std::size_t size() const { return size_.load(std::memory_order_acquire); }

  private:
    struct Entry {
        std::size_t hash = 0;
        NameId id = 0;
        std::string text;
    };
    static constexpr std::size_t kSlots = 2 * kMost;
    using Slots = std::array<std::atomic<const Entry*>, kSlots>;
    const Entry* find(std::size_t hash, std::string_view text, std::size_t& slot) const;

    std::unique_ptr<Slots> slots_ = std::make_unique<Slots>();  // by hash, linear probing
    std::unique_ptr<Slots> by_id_ = std::make_unique<Slots>();
    std::atomic<std::size_t> size_{0};
    Mutex adding_;
    std::deque<Entry> entries_ KG_GUARDED_BY(adding_);
};

}  // namespace kinetograph::profile
