#include "handle_table.hpp"

#include <pthread.h>

#include <new>

namespace kinetograph::c {
namespace {

/// Handles look like aligned pointers, of 47 bits, to callers that look at them.
constexpr std::uintptr_t kFirst = 0x6B67'0000'0000, kStep = 16;

std::uintptr_t number_of(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

}  // namespace

/// fork() copies the mutex, which no other thread may hold then: the child does not have that thread.
HandleTable::HandleTable() : next_(kFirst) {
    ::pthread_atfork([]() KG_THREAD_ATTRIBUTE(no_thread_safety_analysis) { get().mutex_.lock(); },
                     []() KG_THREAD_ATTRIBUTE(no_thread_safety_analysis) { get().mutex_.unlock(); },
                     []() KG_THREAD_ATTRIBUTE(no_thread_safety_analysis) { get().mutex_.unlock(); });
}

HandleTable& HandleTable::get() {
    alignas(HandleTable) static std::byte memory[sizeof(HandleTable)];
    static HandleTable* const table = new (memory) HandleTable;
    return *table;
}

void* HandleTable::add(std::string_view type, std::shared_ptr<void> object) {
    const Lock lock(mutex_);
    entries_.emplace(next_, Entry{type, std::move(object)});
    void* const handle = reinterpret_cast<void*>(next_);
    next_ += kStep;
    return handle;
}

Result<HandleTable::Entries::iterator> HandleTable::entry(std::string_view type, const void* handle) {
    if (handle == nullptr) return fail(ErrorCode::InvalidArgument, "the handle is NULL");
    const std::uintptr_t number = number_of(handle);
    if (const auto found = entries_.find(number); found != entries_.end()) {
        if (found->second.type == type) return found;
        return fail(ErrorCode::InvalidArgument, "the handle is a {} and not a {}", found->second.type, type);
    }
    if (number >= kFirst && number < next_ && number % kStep == 0)
        return fail(ErrorCode::InvalidArgument, "the handle was destroyed before");
    return fail(ErrorCode::InvalidArgument, "{:#x} is no handle that this library has made", number);
}

Result<std::shared_ptr<void>> HandleTable::find(std::string_view type, const void* handle) {
    const Lock lock(mutex_);
    KG_TRY(const auto found, entry(type, handle));
    return found->second.object;
}

Result<std::shared_ptr<void>> HandleTable::take(std::string_view type, const void* handle) {
    const Lock lock(mutex_);
    KG_TRY(const auto found, entry(type, handle));
    auto object = std::move(found->second.object);
    entries_.erase(found);
    return object;
}

}  // namespace kinetograph::c
