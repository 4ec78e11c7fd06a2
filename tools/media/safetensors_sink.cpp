#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/engine/base/replacing_file.hpp>
#include <kinetograph/tools/media/safetensors_sink.hpp>

#include <array>
#include <filesystem>
#include <new>
#include <vector>

namespace kinetograph::media {
namespace {

class SafetensorsSink final : public FrameSink {
  public:
    SafetensorsSink(std::filesystem::path out, const ClipFormat& format) : out_(std::move(out)), format_(format) {}

    Result<void> reserve(std::int64_t frames) {
        const auto elements = static_cast<std::size_t>(3 * frames * format_.height * format_.width);
        try {
            thwc_.reserve(elements);
        } catch (const std::bad_alloc&) {
            return fail(ErrorCode::OutOfMemory, "{}: {} bytes for the clip's frames are not free", out_.string(),
                        elements * sizeof(float));
        }
        return {};
    }

    Result<void> write(std::span<const float> hwc) override {
        if (written_ == format_.frames && format_.frames != 0)
            return fail(ErrorCode::OutOfRange, "{}: more frames than the {} announced", out_.string(), format_.frames);
        if (thwc_.size() + hwc.size() > thwc_.capacity()) KG_CHECK(reserve(2 * (written_ + 1)));
        thwc_.insert(thwc_.end(), hwc.begin(), hwc.end());
        ++written_;
        return {};
    }

    Result<void> finish() override {
        const auto pixels = static_cast<std::size_t>(format_.width * format_.height);
        const auto frames = static_cast<std::size_t>(written_);
        std::vector<float> cthw(thwc_.size());
        for (std::size_t t = 0; t < frames; ++t)
            for (std::size_t i = 0; i < pixels; ++i)
                for (std::size_t c = 0; c < 3; ++c)
                    cthw[(c * frames + t) * pixels + i] = thwc_[3 * (t * pixels + i) + c];
        const std::array tensors{tensor::NamedTensor{"frames",
                                                     {tensor::DType::F32,
                                                      {3, written_, format_.height, format_.width},
                                                      reinterpret_cast<const std::byte*>(cthw.data()),
                                                      cthw.size() * sizeof(float)}}};
        return tensor::write_safetensors(out_, tensors, {{"fps", fmt::format("{}", format_.fps)}});
    }

    std::string written() const override { return out_.string(); }

  private:
    std::filesystem::path out_;
    ClipFormat format_;
    std::int64_t written_ = 0;
    std::vector<float> thwc_;  // [T, H, W, 3]
};

}  // namespace

Result<std::unique_ptr<FrameSink>> create_safetensors_sink(std::string_view out, const ClipFormat& format) {
    KG_CHECK(ReplacingFile::create(out));  // an unwritable place is reported now, not after the decode
    auto sink = std::make_unique<SafetensorsSink>(out, format);
    KG_CHECK(sink->reserve(format.frames));
    return sink;
}

}  // namespace kinetograph::media
