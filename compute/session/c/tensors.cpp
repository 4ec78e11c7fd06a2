#include "tensors.hpp"

#include <kinetograph/engine/accel/open.hpp>

namespace kinetograph::c {
namespace {

/// dlpack.h, version 0.8: https://dmlc.github.io/dlpack/latest/c_api.html
struct DlTensor {
    void* data;
    std::int32_t device_type, device_id, ndim;
    std::uint8_t code, bits;
    std::uint16_t lanes;
    std::int64_t *shape, *strides;  ///< in elements
    std::uint64_t byte_offset;
};
struct DlManagedTensor {
    DlTensor tensor;
    void* context;
    void (*deleter)(DlManagedTensor*);
};
constexpr std::uint8_t kUnsigned = 1, kFloat = 2;

struct Exported {
    DlManagedTensor managed{};
    std::array<std::int64_t, 3> shape{}, strides{};
    std::shared_ptr<const Root> root;
    std::shared_ptr<Clip> clip;
    std::uint64_t id = 0;
};

/// In a child of fork() nothing happens: the frame is the parent's.
void drop(DlManagedTensor* tensor) {
    auto* const exported = static_cast<Exported*>(tensor->context);
    if (exported->root->is_forked()) return;
    // A deleter cannot return an error. What is kept after one is released with the clip.
    static_cast<void>(without_exceptions("a tensor's deleter", [&]() -> Result<void> {
        exported->clip->drop(exported->id);
        return {};
    }));
    delete exported;
}

struct Pixels {
    std::uint8_t code, bits;
    std::int64_t channels;
};

Result<Pixels> pixel_layout(std::uint32_t format) {
    switch (format) {
        case KG_FORMAT_RGBA8:
            return Pixels{kUnsigned, 8, 4};
        case KG_FORMAT_RGB32F:
            return Pixels{kFloat, 32, 3};
        case KG_FORMAT_RGBA16F:
            return Pixels{kFloat, 16, 4};
        case KG_FORMAT_RGB16F:
            return Pixels{kFloat, 16, 3};
        default:
            return fail(ErrorCode::Unsupported,
                        "frames of two planes are no tensor: RGBA8, RGB32F, RGBA16F and RGB16F are");
    }
}

}  // namespace

Result<void*> export_frame(std::shared_ptr<Clip> clip, std::shared_ptr<const Root> root, std::uint64_t id,
                           std::uint32_t layout) {
    if (layout > KG_LAYOUT_HWC4) return fail(ErrorCode::InvalidArgument, "{} is no kg_layout", layout);
    KG_TRY(const Pixels pixels, pixel_layout(clip->format()));
    if (layout == KG_LAYOUT_HWC4 && pixels.channels != 4)
        return fail(ErrorCode::Unsupported, "frames of {} have three channels, and no KG_LAYOUT_HWC4",
                    pixels.bits == 32 ? "RGB32F" : "RGB16F");
    KG_TRY(const kg_frame frame, clip->share(id));
    if (frame.storage == KG_STORAGE_IMAGE) {
        clip->drop(id);
        return fail(ErrorCode::Unsupported, "an image is no tensor: frames of KG_STORAGE_DEVICE are");
    }
    auto exported = std::make_unique<Exported>();
    const std::int64_t height = frame.height, width = frame.width;
    const std::int64_t row = static_cast<std::int64_t>(frame.row_bytes[0]) * 8 / pixels.bits;
    const std::int64_t channels = layout == KG_LAYOUT_HWC4 ? 4 : 3;
    if (layout == KG_LAYOUT_CHW) {
        exported->shape = {channels, height, width};
        exported->strides = {1, row, pixels.channels};
    } else {
        exported->shape = {height, width, channels};
        exported->strides = {row, pixels.channels, 1};
    }
    const bool on_device = frame.storage == KG_STORAGE_DEVICE;
    exported->managed = {
        .tensor = {.data = const_cast<void*>(frame.planes[0]),
                   .device_type = accel::find_backend(on_device ? clip->model().session->device().info().kind
                                                                : accel::DeviceInfo::kHost)
                                      ->dlpack_type,
                   .device_id = on_device ? static_cast<std::int32_t>(clip->model().ordinal) : 0,
                   .ndim = 3,
                   .code = pixels.code,
                   .bits = pixels.bits,
                   .lanes = 1,
                   .shape = exported->shape.data(),
                   .strides = exported->strides.data(),
                   .byte_offset = 0},
        .context = exported.get(),
        .deleter = drop};
    exported->root = std::move(root);
    exported->clip = std::move(clip);
    exported->id = id;
    return &exported.release()->managed;
}

}  // namespace kinetograph::c
