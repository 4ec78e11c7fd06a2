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
    SafetensorsSink(std::filesystem::path out, const ClipFormat& format, std::vector<float> frames)
        : out_(std::move(out)), format_(format), cthw_(std::move(frames)) {}

    Result<void> write(std::span<const float> hwc) override {
        if (written_ == format_.frames) {
            return fail(ErrorCode::OutOfRange, "{}: more frames than the {} announced", out_.string(), format_.frames);
        }
        const auto pixels = static_cast<std::size_t>(format_.width * format_.height);
        const auto frames = static_cast<std::size_t>(format_.frames);
        for (std::size_t channel = 0; channel < 3; ++channel) {
            float* plane = cthw_.data() + (channel * frames + static_cast<std::size_t>(written_)) * pixels;
            for (std::size_t i = 0; i < pixels; ++i) plane[i] = hwc[3 * i + channel];
        }
        ++written_;
        return {};
    }

    Result<void> finish() override {
        if (written_ != format_.frames) {
            return fail(ErrorCode::InvalidArgument, "{}: {} frames came, {} were announced", out_.string(), written_,
                        format_.frames);
        }
        const std::array tensors{tensor::NamedTensor{"frames",
                                                     {tensor::DType::F32,
                                                      {3, format_.frames, format_.height, format_.width},
                                                      reinterpret_cast<const std::byte*>(cthw_.data()),
                                                      cthw_.size() * sizeof(float)}}};
        return tensor::write_safetensors(out_, tensors, {{"fps", fmt::format("{}", format_.fps)}});
    }

  private:
    std::filesystem::path out_;
    ClipFormat format_;
    std::int64_t written_ = 0;
    std::vector<float> cthw_;  // [3, T, H, W]
};

}  // namespace

Result<std::unique_ptr<FrameSink>> create_safetensors_sink(std::string_view out, const ClipFormat& format) {
    if (format.frames == 0)
        return fail(ErrorCode::Unsupported, "{}: its header states the number of frames, which is not known beforehand",
                    out);
    KG_CHECK(ReplacingFile::create(out));  // an unwritable place is reported now, not after the decode
    const auto elements = static_cast<std::size_t>(3 * format.frames * format.height * format.width);
    try {
        return std::make_unique<SafetensorsSink>(out, format, std::vector<float>(elements));
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "{}: {} bytes for the clip's frames are not free", out,
                    elements * sizeof(float));
    }
}

}  // namespace kinetograph::media
