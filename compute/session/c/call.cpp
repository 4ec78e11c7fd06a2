#include "call.hpp"

namespace kinetograph::c {
namespace {

/// Of the calling thread, for kg_last_error.
thread_local std::string last_error;

const pid_t loader = ::getpid();

kg_result result_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::InvalidArgument:
            return KG_ERROR_INVALID_ARGUMENT;
        case ErrorCode::NotFound:
            return KG_ERROR_NOT_FOUND;
        case ErrorCode::Corrupt:
            return KG_ERROR_CORRUPT;
        case ErrorCode::Unsupported:
            return KG_ERROR_UNSUPPORTED;
        case ErrorCode::OutOfRange:
            return KG_ERROR_OUT_OF_RANGE;
        case ErrorCode::OutOfMemory:
            return KG_ERROR_OUT_OF_MEMORY;
        case ErrorCode::Io:
            return KG_ERROR_IO;
        case ErrorCode::DeviceLost:
            return KG_ERROR_DEVICE_LOST;
        case ErrorCode::Cancelled:
            return KG_ERROR_CANCELLED;
    }
    return KG_ERROR_INVALID_ARGUMENT;
}

}  // namespace

bool is_child_of_fork() { return ::getpid() != loader; }

kg_result report(kg_result result, std::string_view message) {
    last_error.clear();
    for (const char c : message) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F)
            last_error += fmt::format("\\x{:02x}", byte);
        else
            last_error += c;
    }
    return result;
}

kg_result report(const Error& error) { return report(result_of(error.code), error.message); }

Result<std::uint32_t> size_of(const void* structure, std::size_t known, const char* type) {
    std::uint32_t size = 0;
    std::memcpy(&size, structure, sizeof(size));
    constexpr std::uint32_t kSmallest = 2 * sizeof(std::uint32_t), kLargest = 64 * 1024;
    if (size >= kSmallest && size <= kLargest) return size;
    return fail(ErrorCode::InvalidArgument, "{}.size is {}: it is set to sizeof({}), {} for this library", type, size,
                type, known);
}

}  // namespace kinetograph::c

const char* kg_last_error(void) { return kinetograph::c::last_error.c_str(); }
uint32_t kg_version(void) { return KG_VERSION; }
