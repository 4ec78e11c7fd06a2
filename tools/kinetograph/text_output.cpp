#include <kinetograph/tools/kinetograph/text_output.hpp>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>

namespace kinetograph::cli {

Result<TextOutput> TextOutput::create(std::string_view path) {
    if (path == "-") return TextOutput(std::nullopt);
    KG_TRY(auto file, ReplacingFile::create(path));
    return TextOutput(std::move(file));
}

Result<void> TextOutput::write(std::string_view text) {
    if (!file_) return print(text);
    KG_CHECK(file_->write(std::as_bytes(std::span(text))));
    return file_->commit();
}

std::string json_text(const nlohmann::ordered_json& json) {
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

nlohmann::ordered_json json_or_null(const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

Result<void> print(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!written) return fail(ErrorCode::Io, "standard output: {}", std::generic_category().message(errno));
    return {};
}

}  // namespace kinetograph::cli
