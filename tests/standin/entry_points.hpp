// Macros that the entry points of both stand-ins share. A stand-in's own entry_points.hpp is in its API's namespace.
#pragma once

#include <kinetograph/tests/standin/work.hpp>

#define STANDIN_EXPORT extern "C" __attribute__((visibility("default")))

/// Handles are addresses of the machine's objects.
#define STANDIN_HANDLE(Handle, Object)                                                               \
    inline standin::Object* of(Handle handle) { return reinterpret_cast<standin::Object*>(handle); } \
    inline Handle handle_of(standin::Object* object) { return reinterpret_cast<Handle>(object); }
