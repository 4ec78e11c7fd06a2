// HandleTable: what the handles of kinetograph.h stand for. A handle is a number in the place of a pointer, is never
// followed, and is never given out twice: one that was destroyed stays invalid whatever is made after it.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <map>
#include <memory>
#include <string_view>

namespace kinetograph::c {

/// Thread-safe, in a child of fork() too.
class HandleTable {
  public:
    /// The one of the process. It is never destroyed: at exit, handles that are left are not.
    static HandleTable& get();

    /// Returns the new handle. `type`, "kg_clip", is a literal.
    void* add(std::string_view type, std::shared_ptr<void> object) KG_EXCLUDES(mutex_);
    /// What the handle stands for, which lives as long as the result. Errors: InvalidArgument (NULL, a destroyed
    /// handle, one of another type, anything else).
    Result<std::shared_ptr<void>> find(std::string_view type, const void* handle) KG_EXCLUDES(mutex_);
    /// The same, and makes the handle invalid.
    Result<std::shared_ptr<void>> take(std::string_view type, const void* handle) KG_EXCLUDES(mutex_);

  private:
    struct Entry {
        std::string_view type;
        std::shared_ptr<void> object;
    };
    using Entries = std::map<std::uintptr_t, Entry>;
    HandleTable();
    Result<Entries::iterator> entry(std::string_view type, const void* handle) KG_REQUIRES(mutex_);

    Mutex mutex_;
    std::uintptr_t next_ KG_GUARDED_BY(mutex_);
    Entries entries_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::c
