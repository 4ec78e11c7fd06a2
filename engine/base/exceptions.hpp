// Exceptions of other libraries, turned into Errors.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <exception>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace kinetograph {

/// Returns the Result that `work` returns. If it throws, returns an Error with `what` in front: OutOfMemory for
/// std::bad_alloc, otherwise Unsupported with the exception's text, if it is a std::exception. Every thread of the
/// library does its work inside this: an exception that escapes a thread ends the process.
template <class Work>
std::invoke_result_t<Work> without_exceptions(std::string_view what, Work&& work) {
    try {
        return std::forward<Work>(work)();
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "{}: the host is out of memory", what);
    } catch (const std::exception& exception) {
        return fail(ErrorCode::Unsupported, "{}: {}", what, exception.what());
    } catch (...) {
        return fail(ErrorCode::Unsupported, "{}: it has thrown what is no std::exception", what);
    }
}

}  // namespace kinetograph
