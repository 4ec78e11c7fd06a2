// The files of a command line: none may be both read and written, or written twice.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <span>
#include <string>

namespace kinetograph::cli {

struct NamedFile {
    enum class Use : std::uint8_t {
        Read,
        Written,
        Frames,  ///< written by media::create_sink: one file or a sequence of pictures
    };
    std::string role;  ///< for messages: "--json", "LATENTS"
    std::string path;  ///< empty: not asked for; "-": standard output; "synthetic:...": no file
    Use use = Use::Read;
};

/// Errors: InvalidArgument with both roles and the file, where a file that is written is also another one of `files`.
Result<void> check_distinct(std::span<const NamedFile> files);

}  // namespace kinetograph::cli
