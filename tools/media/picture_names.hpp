// PictureNames: the file names of a picture sequence.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace kinetograph::media {

class PictureNames {
  public:
    /// `pattern` has one `%d` or `%05d` in its file name; a plain name gets `-%05d` in front of its extension.
    /// Errors: InvalidArgument for any other use of %, and for a name that is an extension only.
    static Result<PictureNames> parse(std::string_view pattern);

    /// Path of frame `index`, from 0.
    std::filesystem::path path(std::int64_t index) const;
    /// The frame whose file has the name `name`, without its folder; none if no frame has it.
    std::optional<std::int64_t> index_of(std::string_view name) const;
    /// The file name of which parse() makes these names.
    std::string pattern() const;
    const std::filesystem::path& folder() const { return folder_; }
    /// The name of a clip's only picture: the pattern itself if it has no number.
    std::filesystem::path only() const { return plain_.empty() ? path(0) : folder_ / plain_; }
    bool is_plain() const { return !plain_.empty(); }

  private:
    std::filesystem::path folder_;
    std::string prefix_, suffix_, plain_;  ///< plain_: the name of a pattern without a number
    int digits_ = 1;                       ///< minimum width of the number
};

}  // namespace kinetograph::media
