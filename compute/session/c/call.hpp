// What every call of kinetograph.h goes through: no exception leaves it, its error is kept for kg_last_error,
// structures of other versions are read and written.
#pragma once

#include "handle_table.hpp"
#include "kinetograph.h"

#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/engine/base/host_pages.hpp>
#include <kinetograph/engine/base/log.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <future>
#include <memory>
#include <span>

namespace kinetograph::c {

/// What an instance and everything made with it share.
struct Root {
    Log log;
    HostAllocator host;
    pid_t process = ::getpid();

    /// A child of fork() has none of the library's threads, and drivers do not work in it.
    bool is_forked() const { return ::getpid() != process; }
};

/// Whether the process is a child, by fork(), of the one that has loaded the library.
bool is_child_of_fork();

/// Runs `work`, which may contain OpenMP loops. OpenMP keeps worker threads for each thread that has run a loop. fork()
/// copies such a thread without its workers, and its next loop would wait for them forever. In a child the work
/// therefore runs on a new thread, which has no workers yet.
template <class Work>
std::invoke_result_t<Work> where_loops_run(Work&& work) {
    if (!is_child_of_fork()) return std::forward<Work>(work)();
    return std::async(std::launch::async, std::forward<Work>(work)).get();
}

/// Keeps the sentence for kg_last_error of this thread. Names in it are a caller's or a file's: control characters
/// become "\x1b".
kg_result report(kg_result result, std::string_view message);
kg_result report(const Error& error);

/// What a call's work returns: a status (KG_OK, KG_TIMEOUT, KG_END, KG_ERROR_BUSY) or an Error.
using Outcome = Result<kg_status>;

/// What a handle stands for, by the handle's type: specialised in handles.hpp, with `kName` and a member `root`.
template <class Handle>
struct Made;

template <class Handle>
Handle* hand_out(Made<Handle> made) {
    return static_cast<Handle*>(
        HandleTable::get().add(Made<Handle>::kName, std::make_shared<Made<Handle>>(std::move(made))));
}

/// Errors: InvalidArgument (no handle of that type, or no longer).
template <class Handle>
Result<std::shared_ptr<Made<Handle>>> find(const Handle* handle) {
    KG_TRY(auto object, HandleTable::get().find(Made<Handle>::kName, handle));
    return std::static_pointer_cast<Made<Handle>>(std::move(object));
}

/// Runs the work of `call` on what the handle stands for.
template <class Handle, class Work>
kg_result with(const char* call, const Handle* handle, Work&& work) {
    Outcome outcome = without_exceptions(call, [&]() -> Outcome {
        KG_TRY_IN(call, const auto made, find(handle));
        if (made->root->is_forked())
            return fail(ErrorCode::Unsupported, "{}: the handle was made before fork(): a child process opens its own",
                        call);
        return work(*made);
    });
    return outcome ? *outcome : report(outcome.error());
}

/// The same for work with loops of OpenMP.
template <class Handle, class Work>
kg_result with_loops(const char* call, const Handle* handle, Work&& work) {
    return with(call, handle, [&](Made<Handle>& made) { return where_loops_run([&] { return work(made); }); });
}

/// Destroys a handle, after `prepare(made)`, which may refuse. In a child of fork() it does nothing: what the parent
/// has made stays as it is.
template <class Handle, class Prepare>
kg_result destroy(const char* call, const Handle* handle, Prepare&& prepare) {
    if (handle == nullptr) return KG_OK;
    Outcome outcome = without_exceptions(call, [&]() -> Outcome {
        KG_TRY_IN(call, auto made, find(handle));
        if (made->root->is_forked()) return KG_OK;
        KG_TRY(const kg_status prepared, prepare(*made));
        if (prepared != KG_OK) return prepared;
        KG_CHECK_IN(call, HandleTable::get().take(Made<Handle>::kName, handle));
        return KG_OK;
    });
    return outcome ? *outcome : report(outcome.error());
}
template <class Handle>
kg_result destroy(const char* call, const Handle* handle) {
    return destroy(call, handle, [](const Made<Handle>&) -> Outcome { return KG_OK; });
}

/// Checks a pointer that a call reads or writes. Errors: InvalidArgument (it is null).
template <class T>
Result<void> check_given(const T* pointer, const char* name) {
    if (pointer == nullptr) return fail(ErrorCode::InvalidArgument, "{} is NULL", name);
    return {};
}

/// The `size` of a caller's structure.
Result<std::uint32_t> size_of(const void* structure, std::size_t known, const char* type);

/// A caller's structure as this library knows it. Members that it lacks, or all for null, are zero. Errors:
/// InvalidArgument (a size that it cannot have), Unsupported (something is set that this library does not know).
template <class Desc>
Result<Desc> read(const Desc* given, const char* type) {
    Desc known{};
    if (given == nullptr) return known;
    KG_TRY(const std::uint32_t size, size_of(given, sizeof(Desc), type));
    std::memcpy(&known, given, std::min<std::size_t>(size, sizeof(Desc)));
    const auto* bytes = reinterpret_cast<const std::byte*>(given);
    for (std::size_t i = sizeof(Desc); i < size; ++i)
        if (bytes[i] != std::byte{})
            return fail(ErrorCode::Unsupported,
                        "{}: byte {} of {} is set, and this library, version {}.{}, knows {}: it is older than the "
                        "header",
                        type, i, size, KG_VERSION_MAJOR, KG_VERSION_MINOR, sizeof(Desc));
    return known;
}

/// Fills a caller's structure, of which only `size` is set. What this library does not know becomes zero.
template <class Info>
Result<void> write(Info* to, const Info& known, const char* type) {
    KG_CHECK(check_given(to, type));
    KG_TRY(const std::uint32_t size, size_of(to, sizeof(Info), type));
    auto* bytes = reinterpret_cast<std::byte*>(to);
    const std::size_t common = std::min<std::size_t>(size, sizeof(Info));
    std::memcpy(bytes, &known, common);
    std::memset(bytes + common, 0, size - common);
    to->size = size;
    return {};
}

}  // namespace kinetograph::c
