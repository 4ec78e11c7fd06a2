// Ledger: bytes of a device's own memory that are held now, that were held at most, and that may be held.
#pragma once

#include <kinetograph/engine/accel/memory_budget.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

namespace kinetograph::accel {

/// Counts the bytes of Device::allocate, from any thread.
class Ledger {
  public:
    /// False, without counting anything, if the budget does not leave that much.
    bool add(std::uint64_t bytes) KG_EXCLUDES(mutex_);
    void remove(std::uint64_t bytes) KG_EXCLUDES(mutex_);
    std::uint64_t held() const KG_EXCLUDES(mutex_);
    std::uint64_t peak() const KG_EXCLUDES(mutex_);
    /// What the budget leaves; the largest number without one.
    std::uint64_t left() const KG_EXCLUDES(mutex_);

    void set_budget(MemoryBudget budget) KG_EXCLUDES(mutex_);
    std::uint64_t budget() const KG_EXCLUDES(mutex_);  ///< 0: none
    /// Asks the application, with no lock held, to make room; true if it has.
    bool relieve(std::string_view name, std::uint64_t bytes, std::uint64_t free) const KG_EXCLUDES(mutex_);

  private:
    mutable Mutex mutex_;
    MemoryBudget budget_ KG_GUARDED_BY(mutex_);
    std::uint64_t held_ KG_GUARDED_BY(mutex_) = 0;
    std::uint64_t peak_ KG_GUARDED_BY(mutex_) = 0;
};

/// Returns the Result of `allocate()`, which is called once more if it was out of memory and the application has made
/// room. `free()` returns how many bytes are free.
template <class Allocate, class Free>
auto allocate_or_relieve(const Ledger& ledger, std::string_view name, std::uint64_t bytes, const Allocate& allocate,
                         const Free& free) {
    auto made = allocate();
    if (!made && made.error().code == ErrorCode::OutOfMemory && ledger.relieve(name, bytes, free())) made = allocate();
    return made;
}

/// The Error of an allocation that the budget refuses.
inline tl::unexpected<Error> over_budget(const Ledger& ledger, std::string_view name, std::uint64_t bytes,
                                         std::string_view device) {
    return fail(ErrorCode::OutOfMemory, "\"{}\" needs {} bytes, the budget of {} bytes on {} leaves {}", name, bytes,
                ledger.budget(), device, ledger.left());
}

}  // namespace kinetograph::accel
