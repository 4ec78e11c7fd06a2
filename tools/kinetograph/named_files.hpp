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
        Frames,     ///< written by media::create_sink: one file or a sequence of pictures
        FileAClip,  ///< numbered files, as a sequence of pictures
    };
    std::string role;  ///< for messages: "--json", "LATENTS"
    std::string path;  ///< empty: not given; "-": standard output; "synthetic:...": not a file
    Use use = Use::Read;
};

/// Errors: InvalidArgument with both roles and the file, if a file that is written also has another role in `files`.
Result<void> check_distinct(std::span<const NamedFile> files);

/// The file that a profile::LineSink writes for `target`; empty for a socket, which overwrites nothing.
inline std::string file_of_lines(const std::string& target) { return target.starts_with("unix:") ? "" : target; }

}  // namespace kinetograph::cli
