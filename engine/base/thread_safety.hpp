// Mutex and Lock: std::mutex with the attributes by which clang's thread-safety analysis checks who holds what.
// Source: clang's documentation, Thread Safety Analysis.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define KG_THREAD_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define KG_THREAD_ATTRIBUTE(...)
#endif

/// A member that may be touched only while the mutex is held.
#define KG_GUARDED_BY(mutex) KG_THREAD_ATTRIBUTE(guarded_by(mutex))
/// A pointer member whose target may be touched only while the mutex is held.
#define KG_POINTEE_GUARDED_BY(mutex) KG_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
/// A function whose caller holds the mutex. On a lambda that a wait calls: `[&]() KG_REQUIRES(mutex_) { ... }`.
#define KG_REQUIRES(...) KG_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// A function whose caller does not hold the mutex, because the function takes it.
#define KG_EXCLUDES(...) KG_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
/// A function that returns the mutex, for callers that hold it over several calls.
#define KG_RETURNS(mutex) KG_THREAD_ATTRIBUTE(lock_returned(mutex))
/// A mutex that is taken after another, where a thread holds both.
#define KG_ACQUIRED_AFTER(...) KG_THREAD_ATTRIBUTE(acquired_after(__VA_ARGS__))

namespace kinetograph {

class KG_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
  public:
    void lock() KG_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
    void unlock() KG_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
    bool try_lock() KG_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

  private:
    std::mutex mutex_;
};

struct Deferred {};
inline constexpr Deferred kDeferred{};

/// Holds a Mutex for a scope; unlock() and lock() in between for calls that may take long. With kDeferred it begins
/// unlocked.
class KG_THREAD_ATTRIBUTE(scoped_lockable) Lock {
  public:
    explicit Lock(Mutex& mutex) KG_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
    Lock(Mutex& mutex, Deferred) KG_EXCLUDES(mutex) : mutex_(mutex), held_(false) {}
    ~Lock() KG_THREAD_ATTRIBUTE(release_capability()) {
        if (held_) mutex_.unlock();
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    void lock() KG_THREAD_ATTRIBUTE(acquire_capability()) {
        mutex_.lock();
        held_ = true;
    }
    bool try_lock() KG_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return held_ = mutex_.try_lock(); }
    void unlock() KG_THREAD_ATTRIBUTE(release_capability()) {
        held_ = false;
        mutex_.unlock();
    }

  private:
    Mutex& mutex_;
    bool held_ = true;
};

/// Waits release a Lock and take it again: to the analysis it is held throughout.
using Condition = std::condition_variable_any;

}  // namespace kinetograph
