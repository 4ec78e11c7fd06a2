#include <kinetograph/tools/media/picture_names.hpp>

#include <charconv>

namespace kinetograph::media {

Result<PictureNames> PictureNames::parse(std::string_view pattern) {
    const std::filesystem::path path(pattern);
    std::string name = path.filename().string();
    const bool has_extension = path.has_extension();  // ".png" has none: it is a stem
    const std::string plain = name.find('%') == std::string::npos ? name : "";
    if (!plain.empty()) name = path.stem().string() + "-%05d" + path.extension().string();
    const std::size_t begin = name.find('%');
    const bool padded =
        name.size() > begin + 3 && name[begin + 1] == '0' && name[begin + 2] >= '1' && name[begin + 2] <= '9';
    const std::size_t end = begin + (padded ? 3 : 1);  // of the 'd'
    if (!has_extension || name[end] != 'd' || name.find('%', end) != std::string::npos ||
        path.parent_path().string().find('%') != std::string::npos) {
        return fail(ErrorCode::InvalidArgument,
                    "output {}: the file name must hold one number, as in frames/%05d.png, and no other %", pattern);
    }
    PictureNames names;
    names.folder_ = path.parent_path();
    names.prefix_ = name.substr(0, begin);
    names.suffix_ = name.substr(end + 1);
    names.plain_ = plain;
    names.digits_ = padded ? name[begin + 2] - '0' : 1;
    return names;
}

std::filesystem::path PictureNames::path(std::int64_t index) const {
    return folder_ / fmt::format("{}{:0{}}{}", prefix_, index, digits_, suffix_);
}

std::string PictureNames::pattern() const {
    if (is_plain()) return plain_;
    return prefix_ + (digits_ == 1 ? "%d" : fmt::format("%0{}d", digits_)) + suffix_;
}

std::optional<std::int64_t> PictureNames::index_of(std::string_view name) const {
    if (name.size() <= prefix_.size() + suffix_.size() || !name.starts_with(prefix_) || !name.ends_with(suffix_))
        return std::nullopt;
    const std::string_view number = name.substr(prefix_.size(), name.size() - prefix_.size() - suffix_.size());
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error != std::errc() || end != number.data() + number.size() || index < 0 || path(index).filename() != name)
        return std::nullopt;
    return index;
}

}  // namespace kinetograph::media
