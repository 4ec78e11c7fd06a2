// FrameReader: the pictures of a file, a sequence of files, or a pipe, in order, cut to a size.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kinetograph::media {

struct PixelSize {
    std::int64_t width = 0, height = 0;
    friend bool operator==(const PixelSize&, const PixelSize&) = default;
};

/// How a picture becomes one of another size: it is scaled, and a part around its middle is taken.
struct Framing {
    PixelSize scaled, cut;
    std::int64_t left() const { return (scaled.width - cut.width) / 2; }
    std::int64_t top() const { return (scaled.height - cut.height) / 2; }
    friend bool operator==(const Framing&, const Framing&) = default;
};

/// `wanted`: the least scale at which the picture covers that size; nothing: no scaling, and each side is cut to a
/// multiple of `multiple`. Errors: InvalidArgument (a wanted side that is no multiple, a picture of less than one).
Result<Framing> framing_of(PixelSize source, std::optional<PixelSize> wanted, std::int64_t multiple);

/// What is known before the first picture.
struct ReaderFacts {
    PixelSize size;           ///< of the pictures as they are shown: turned, if the file says so
    double fps = 0;           ///< that the file states, 0.01 to 1000; 0: none, as of pictures and pipes
    std::int64_t frames = 0;  ///< that the file states; 0: not known beforehand
};

class FrameReader {
  public:
    FrameReader() = default;
    FrameReader(const FrameReader&) = delete;
    FrameReader& operator=(const FrameReader&) = delete;
    virtual ~FrameReader() = default;

    virtual const std::string& name() const = 0;  ///< for messages
    virtual const ReaderFacts& facts() const = 0;
    /// From now on pictures come as `framing`, of facts().size, says. Called before next(). Errors: Unsupported (a
    /// pipe, whose pictures are not scaled).
    virtual Result<void> set_framing(const Framing& framing) = 0;
    /// The next picture as rgb24, [cut.height, cut.width, 3]; false at the end. Errors: Io and Corrupt, naming the
    /// file and the picture; InvalidArgument (its size is another than the first one's).
    virtual Result<bool> next(std::vector<std::uint8_t>& rgb) = 0;
};

/// Opens a file that libav reads; a sequence of pictures, frames/%05d.png, from its smallest number on; or "-", raw
/// rgb24 of `piped` pixels on standard input. Errors: NotFound (no such file or picture), InvalidArgument (a sequence
/// that lacks a number, a pipe without a size), Unsupported (a file without pictures, a codec that libav lacks),
/// Corrupt, Io; each names the file.
Result<std::unique_ptr<FrameReader>> open_reader(const std::string& in, std::optional<PixelSize> piped);

/// The files that open_reader() reads for `in`: one, those of a sequence by number, or none of a pipe. Errors: as of
/// open_reader().
Result<std::vector<std::filesystem::path>> files_of(const std::string& in);

}  // namespace kinetograph::media
