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

std::string reasons(std::span<const Gate> gates, const Subject& subject) {
    std::string text;
    for (const Gate& gate : gates) {
        if (gate.holds(subject)) continue;
        if (!text.empty()) text += "; ";
        text += "wants ";
        text += gate.requirement;
        text += ", met " + gate.value(subject);
    }
    return text;
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
        default:
            return "a type that no convolution computes with";
    }
}

std::string met(const Dhw& axes) {
    return std::to_string(axes.d) + ',' + std::to_string(axes.h) + ',' + std::to_string(axes.w);
}

}  // namespace kinetograph::conv
