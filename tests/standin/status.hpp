// A status of the API that a stand-in library implements.
#pragma once

#include <type_traits>

namespace kinetograph::standin {

/// hipError_t or CUresult, which agree in the numbers of Code. Converts from and to the API's enumeration.
class Status {
  public:
    constexpr Status() = default;
    template <class Enumeration>
    requires std::is_enum_v<Enumeration>
    constexpr Status(Enumeration status) : number_(static_cast<int>(status)) {}
    template <class Enumeration>
    requires std::is_enum_v<Enumeration>
    constexpr operator Enumeration() const { return static_cast<Enumeration>(number_); }
    constexpr bool ok() const { return number_ == 0; }

  private:
    int number_ = 0;
};

enum class Code : int {
    Success = 0,
    InvalidValue = 1,
    LaunchFailure = 719,
    StreamCaptureUnsupported = 900,
    StreamCaptureInvalidated = 901,
    StreamCaptureImplicit = 906,
};

}  // namespace kinetograph::standin
