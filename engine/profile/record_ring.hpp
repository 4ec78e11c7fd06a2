// RecordRing: records of a few words, written by any number of threads and read without stopping them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace kinetograph::profile {

/// A reader's place: everything before it has been read.
struct RingCursor {
    std::uint64_t next = 0;
    std::uint64_t missed = 0;  ///< records overwritten before they were read
};

/// Makes `value` at least `least`, also while other threads do the same.
inline void raise(std::atomic<std::uint64_t>& value, std::uint64_t least) {
    for (std::uint64_t known = value.load(std::memory_order_relaxed);
         known < least &&
         !value.compare_exchange_weak(known, least, std::memory_order_release, std::memory_order_relaxed);) {
    }
}

/// Bounded and free of locks: beyond `capacity` records the oldest are overwritten. Any thread may add and read.
template <std::size_t kWords>
class RecordRing {
  public:
    using Words = std::array<std::uint64_t, kWords>;

    explicit RecordRing(std::size_t capacity)
        : capacity_(capacity > 0 ? capacity : 1), slots_(std::make_unique<Slot[]>(capacity_)) {}

    std::size_t capacity() const { return capacity_; }
    std::uint64_t total_added() const { return next_.load(std::memory_order_acquire); }
    void clear() { raise(cleared_, next_.load(std::memory_order_acquire)); }

    /// Allocates nothing.
    void add(const Words& words) {
        const std::uint64_t ticket = next_.fetch_add(1, std::memory_order_acq_rel);
        Slot& slot = slots_[ticket % capacity_];
        const std::uint64_t writing = 2 * (ticket / capacity_) + 1;
        std::uint64_t state = slot.state.load(std::memory_order_relaxed);
        // Another thread has been writing here for a whole lap, or this thread was delayed that long: drop the record.
        if (state % 2 != 0 || state > writing ||
            !slot.state.compare_exchange_strong(state, writing, std::memory_order_acq_rel)) {
            raise(skipped_, ticket + 1);
            return;
        }
        // Stores that release: a reader that sees one of the words also sees that the slot is being written.
        for (std::size_t i = 0; i < kWords; ++i) slot.words[i].store(words[i], std::memory_order_release);
        slot.state.store(writing + 1, std::memory_order_release);
    }

    /// Calls `take(const Words&)` for every record that was added since the last call with this cursor, in order.
    template <class Take>
    void read(RingCursor& cursor, Take&& take) const {
        const std::uint64_t end = next_.load(std::memory_order_acquire);
        const std::uint64_t cleared = cleared_.load(std::memory_order_acquire);
        if (cursor.next < cleared) cursor.next = cleared;
        if (const std::uint64_t oldest = end > capacity_ ? end - capacity_ : 0; cursor.next < oldest) {
            cursor.missed += oldest - cursor.next;
            cursor.next = oldest;
        }
        for (Words words; cursor.next < end; ++cursor.next) {
            const Read read = this->read(cursor.next, words);
            if (read == Read::NotYet) return;  // later records wait too, to keep the order
            if (read == Read::Done)
                take(words);
            else
                ++cursor.missed;
        }
    }

  private:
    struct Slot {
        /// 2 * lap + 1 while a record of that lap is written, 2 * lap + 2 once it is there; laps from 0.
        std::atomic<std::uint64_t> state{0};
        std::array<std::atomic<std::uint64_t>, kWords> words{};
    };
    enum class Read : std::uint8_t { Done, NotYet, Gone };

    Read read(std::uint64_t ticket, Words& words) const {
        const Slot& slot = slots_[ticket % capacity_];
        const std::uint64_t written = 2 * (ticket / capacity_) + 2;
        const std::uint64_t before = slot.state.load(std::memory_order_acquire);
        if (before > written) return Read::Gone;
        if (before < written) return ticket < skipped_.load(std::memory_order_acquire) ? Read::Gone : Read::NotYet;
        for (std::size_t i = 0; i < kWords; ++i) words[i] = slot.words[i].load(std::memory_order_acquire);
        return slot.state.load(std::memory_order_relaxed) == written ? Read::Done : Read::Gone;
    }

    std::size_t capacity_;
    std::unique_ptr<Slot[]> slots_;
    std::atomic<std::uint64_t> next_{0};     ///< ticket of the next record
    std::atomic<std::uint64_t> skipped_{0};  ///< tickets before this one may have been dropped
    std::atomic<std::uint64_t> cleared_{0};  ///< tickets before this one are forgotten
};

}  // namespace kinetograph::profile
