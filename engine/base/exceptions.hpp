// Exceptions of the libraries below us, turned into Errors.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <exception>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace kinetograph {

/// What `work`, a function that returns a Result, returns. One that throws returns an Error instead, with `what` in
/// front: OutOfMemory for std::bad_alloc, Unsupported with the exception's text otherwise. A thread of our own begins
/// with this: an exception that left it would end the process.
template <class Work>
std::invoke_result_t<Work> without_exceptions(std::string_view what, Work&& work) {
    try {
        return std::forward<Work>(work)();
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "{}: the host is out of memory", what);
    } catch (const std::exception& exception) {
        return fail(ErrorCode::Unsupported, "{}: {}", what, exception.what());
    }
}

}  // namespace kinetograph
