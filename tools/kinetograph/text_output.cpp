#include <kinetograph/tools/kinetograph/text_output.hpp>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

namespace kinetograph::cli {

Result<TextOutput> TextOutput::create(std::string_view path) {
    if (path == "-") return TextOutput(std::nullopt);
    auto file = media::PendingPath::create_file(path);
    if (!file) return fail(file.error());
    return TextOutput(std::move(*file));
}

Result<void> TextOutput::write(std::string_view text) {
    if (!file_) return print(text);
    std::ofstream stream(file_->path(), std::ios::binary);
    stream << text;
    stream.close();
    if (!stream) {
        return fail(ErrorCode::Io, "{}: cannot be written: {}", file_->target().string(),
                    std::generic_category().message(errno));
    }
    return file_->commit();
}

Result<void> print(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!written) return fail(ErrorCode::Io, "standard output: {}", std::generic_category().message(errno));
    return {};
}

}  // namespace kinetograph::cli
