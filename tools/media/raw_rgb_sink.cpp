#include <unistd.h>
#include <kinetograph/tools/media/raw_rgb_sink.hpp>
#include <kinetograph/tools/media/rgb24.hpp>

#include <cerrno>
#include <system_error>

namespace kinetograph::media {
namespace {

class RawRgbSink final : public FrameSink {
  public:
    explicit RawRgbSink(int descriptor) : descriptor_(descriptor) {}

    Result<void> write(std::span<const float> hwc) override {
        to_rgb24(hwc, rgb_);
        std::span<const std::uint8_t> left = rgb_;
        while (!left.empty()) {
            const ssize_t written = ::write(descriptor_, left.data(), left.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) {
                return fail(ErrorCode::Io, "standard output: {}", std::generic_category().message(errno));
            }
            left = left.subspan(static_cast<std::size_t>(written));
        }
        return {};
    }

    Result<void> finish() override { return {}; }
    std::string written() const override { return "standard output"; }

  private:
    int descriptor_;
    std::vector<std::uint8_t> rgb_;  // [height, width, 3]
};

}  // namespace

Result<std::unique_ptr<FrameSink>> create_raw_rgb_sink(int descriptor, const ClipFormat&) {
    return std::make_unique<RawRgbSink>(descriptor);
}

}  // namespace kinetograph::media
