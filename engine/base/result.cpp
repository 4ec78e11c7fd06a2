#include <kinetograph/engine/base/result.hpp>

namespace kinetograph {

std::string_view to_string(ErrorCode code) {
    switch (code) {
        case ErrorCode::InvalidArgument:
            return "InvalidArgument";
        case ErrorCode::NotFound:
            return "NotFound";
        case ErrorCode::Corrupt:
            return "Corrupt";
        case ErrorCode::Unsupported:
            return "Unsupported";
        case ErrorCode::OutOfRange:
            return "OutOfRange";
        case ErrorCode::OutOfMemory:
            return "OutOfMemory";
        case ErrorCode::Io:
            return "Io";
        case ErrorCode::DeviceLost:
            return "DeviceLost";
        case ErrorCode::Cancelled:
            return "Cancelled";
    }
    return "?";
}

}  // namespace kinetograph
