// Error and Result: how failures other than programming errors are reported.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace kinetograph {

/// The kind of failure; the sentence in `Error::message` says exactly what.
enum class ErrorCode : std::uint8_t {
    InvalidArgument,  ///< the caller's value makes no sense here
    NotFound,         ///< a file, tensor, device or library is absent
    Corrupt,          ///< data violates its format
    Unsupported,      ///< understood, but this machine or build cannot do it
    OutOfRange,       ///< a size or index beyond a documented limit
    OutOfMemory,      ///< an allocation of stated size was refused
    Io,               ///< the operating system refused to read or write
    DeviceLost,       ///< the device stopped answering
    Cancelled,        ///< stopped at the caller's request
};

/// The enumerator's name, for logs and JSON.
std::string_view to_string(ErrorCode code);

/// One failure: a code to branch on and one sentence for a person, which names the thing (pass, tensor, file, device),
/// what was found and what was wanted.
struct Error {
    ErrorCode code = ErrorCode::InvalidArgument;
    std::string message;
};

/// A value, or the Error that prevented it.
template <class T>
using Result = tl::expected<T, Error>;

/// The failing side of a Result, its sentence formatted as by fmt: `return fail(ErrorCode::NotFound, "{}: no such
/// file", path);`
template <class... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// Passes a callee's Error on, optionally with the caller's context before its sentence.
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
inline tl::unexpected<Error> fail(Error error, std::string_view context) {
    error.message = fmt::format("{}: {}", context, error.message);
    return tl::unexpected<Error>(std::move(error));
}

}  // namespace kinetograph

/// Takes the value out of a Result, or returns its Error from the enclosing function, which returns a Result too:
/// `KG_TRY(auto file, File::open(path));` or, for a variable that exists, `KG_TRY(file_, File::open(path));`
#define KG_TRY(variable, ...) KG_TRY_INTO(KG_TRY_NAME(kg_result_, __LINE__), variable, __VA_ARGS__)
/// Runs what returns a Result<void>, or returns its Error from the enclosing function: `KG_CHECK(file.flush());`
#define KG_CHECK(...) \
    if (auto&& kg_result = (__VA_ARGS__); !kg_result) return ::kinetograph::fail(KG_ERROR_OF(kg_result))
/// Both with the caller's context before the sentence, evaluated only then: `KG_CHECK_IN(file.name(), file.flush());`
#define KG_TRY_IN(context, variable, ...) \
    KG_TRY_IN_INTO(KG_TRY_NAME(kg_result_, __LINE__), context, variable, __VA_ARGS__)
#define KG_CHECK_IN(context, ...) \
    if (auto&& kg_result = (__VA_ARGS__); !kg_result) return ::kinetograph::fail(KG_ERROR_OF(kg_result), context)

#define KG_TRY_INTO(result, variable, ...)                                         \
    auto result = (__VA_ARGS__);                                                   \
    if (!result) return ::kinetograph::fail(std::move(result).error()); /*NOLINT*/ \
    variable = *std::move(result)
#define KG_TRY_IN_INTO(result, context, variable, ...)                                      \
    auto result = (__VA_ARGS__);                                                            \
    if (!result) return ::kinetograph::fail(std::move(result).error(), context); /*NOLINT*/ \
    variable = *std::move(result)
#define KG_TRY_NAME(prefix, line) KG_TRY_JOIN(prefix, line)
#define KG_TRY_JOIN(prefix, line) prefix##line
#define KG_ERROR_OF(result) std::forward<decltype(result)>(result).error()
