#include <unistd.h>
#include <kinetograph/tools/media/raw_rgb_reader.hpp>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace kinetograph::media {
namespace {

class RawRgbReader final : public FrameReader {
  public:
    RawRgbReader(int descriptor, PixelSize size)
        : descriptor_(descriptor),
          facts_{.size = size},
          framing_{size, size},
          picture_(static_cast<std::size_t>(3 * size.width * size.height)) {}

    const std::string& name() const override { return name_; }
    const ReaderFacts& facts() const override { return facts_; }
    Result<void> set_framing(const Framing& framing) override {
        if (framing.scaled != facts_.size)
            return fail(ErrorCode::Unsupported, "{}: raw pictures are not scaled", name_);
        framing_ = framing;
        return {};
    }

    Result<bool> next(std::vector<std::uint8_t>& rgb) override {
        KG_TRY(const std::size_t read, fill());
        if (read == 0) return false;
        if (read < picture_.size())
            return fail(ErrorCode::Corrupt, "{}: it ends {} bytes into picture {}, which has {} ({}x{} pixels, rgb24)",
                        name_, read, next_, picture_.size(), facts_.size.width, facts_.size.height);
        ++next_;
        const auto row = static_cast<std::size_t>(3 * framing_.cut.width);
        rgb.resize(row * static_cast<std::size_t>(framing_.cut.height));
        for (std::int64_t y = 0; y < framing_.cut.height; ++y) {
            const std::int64_t from = 3 * ((framing_.top() + y) * facts_.size.width + framing_.left());
            std::copy_n(picture_.begin() + from, row, rgb.begin() + y * static_cast<std::int64_t>(row));
        }
        return true;
    }

  private:
    /// Bytes of the next picture that were there.
    Result<std::size_t> fill() {
        std::size_t done = 0;
        while (done < picture_.size()) {
            const ssize_t got = ::read(descriptor_, picture_.data() + done, picture_.size() - done);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return fail(ErrorCode::Io, "{}: {}", name_, std::generic_category().message(errno));
            if (got == 0) break;
            done += static_cast<std::size_t>(got);
        }
        return done;
    }

    const int descriptor_;
    const std::string name_ = "standard input";
    const ReaderFacts facts_;
    Framing framing_;
    std::vector<std::uint8_t> picture_;  // [height, width, 3]
    std::int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<FrameReader> open_raw_rgb(int descriptor, PixelSize size) {
    return std::make_unique<RawRgbReader>(descriptor, size);
}

}  // namespace kinetograph::media
