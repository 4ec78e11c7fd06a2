// Text results (JSON, Graphviz) to a file or to standard output.
#pragma once

#include <kinetograph/engine/base/replacing_file.hpp>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace kinetograph::cli {

/// Destination of one text. A file is created at once, so that an unwritable one fails before long work, and appears
/// complete or not at all.
class TextOutput {
  public:
    /// `path` "-" is standard output. Errors: Io naming the path.
    static Result<TextOutput> create(std::string_view path);
    Result<void> write(std::string_view text);

  private:
    explicit TextOutput(std::optional<ReplacingFile> file) : file_(std::move(file)) {}
    std::optional<ReplacingFile> file_;  // none: standard output
};

/// A report as text, indented by two. Bytes of a name that are not UTF-8 become U+FFFD: a file name may contain any.
std::string json_text(const nlohmann::ordered_json& json);
/// A figure that may not exist.
nlohmann::ordered_json json_or_null(const std::optional<double>& value);

/// Writes all of `text` to standard output. Errors: Io.
Result<void> print(std::string_view text);

}  // namespace kinetograph::cli
