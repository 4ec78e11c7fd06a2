#include <charconv>
#include <kinetograph/kernels/conv/gate.hpp>

namespace kinetograph::conv {

int Chip::cuda_architecture() const {
    constexpr std::string_view kPrefix = "sm_";
    if (kind != "cuda" || !architecture.starts_with(kPrefix)) return 0;
    int number = 0;
    std::from_chars(architecture.data() + kPrefix.size(), architecture.data() + architecture.size(), number);
    return number;
}

std::string_view element_spelling(Element element) {
    switch (element) {
        case Element::F32:
            return "F32";
        case Element::F16:
            return "F16";
        case Element::BF16:
            return "BF16";
        case Element::F8E4M3:
            return "F8_E4M3";
        case Element::F8E5M2:
            return "F8_E5M2";
        case Element::I8:
            return "I8";
        case Element::U8:
            return "U8";
        case Element::I32:
            return "I32";
        default:
            return "another type";
    }
}

std::string met(const Dhw& axes) {
    return std::to_string(axes.d) + ',' + std::to_string(axes.h) + ',' + std::to_string(axes.w);
}

}  // namespace kinetograph::conv
