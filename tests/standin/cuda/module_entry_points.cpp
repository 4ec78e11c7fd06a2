// Entry points of the stand-in: modules, kernels, launches and tensor maps.
#include <kinetograph/engine/accel/cuda/tensor_map.hpp>
#include <kinetograph/tests/standin/cuda/device_code.hpp>
#include <kinetograph/tests/standin/cuda/entry_points.hpp>
#include <kinetograph/tests/standin/cuda/tensor_map.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::accel::cuda {

namespace {

constexpr int kSharedUnasked = 48 << 10;       // dynamic shared memory that needs no attribute
constexpr std::uint32_t kPortableCluster = 8;  // CTAs

std::string as_text(const void* image) {
    return {static_cast<const char*>(image), strnlen(static_cast<const char*>(image), 128)};
}

/// Writes the driver's message to the caller's buffer, if there is one.
void write_log(unsigned count, const JitOption* options, void** values, std::string_view text) {
    char* buffer = nullptr;
    std::size_t bytes = 0;
    for (unsigned i = 0; i < count; ++i) {
        if (options[i] == JitOption::ErrorLogBuffer) buffer = static_cast<char*>(values[i]);
        if (options[i] == JitOption::ErrorLogBufferBytes) bytes = reinterpret_cast<std::size_t>(values[i]);
    }
    if (buffer == nullptr || bytes == 0) return;
    buffer[text.copy(buffer, bytes - 1)] = '\0';
}

Status load(const void* image, standin::Module& module) {
    if (standin::is_placeholder(image)) return Status::Success;
    if (as_text(image).find("kinetograph_fills_an_sm") != std::string::npos) {  // the one text of PTX that it takes
        module.kernels = {"kinetograph_fills_an_sm"};
        return posed_chip().architecture >= 90 ? Status::Success : Status::InvalidPtx;
    }
    if (as_text(image).starts_with(".version") || as_text(image).starts_with("//")) return Status::InvalidPtx;
    const auto code = read_fat_binary(image);
    if (!code) return Status::InvalidImage;
    const int chip = posed_chip().architecture;
    if (std::ranges::none_of(*code, [&](const DeviceCode& entry) { return entry.runs_on(chip); }))
        return Status::NoBinaryForGpu;
    module.kernels = kernel_names(*code);
    if (module.kernels->empty()) module.kernels.reset();  // PTX alone, which is compressed
    return Status::Success;
}

/// Offset of a kernel's one parameter in the driver: a struct aligned to 64 bytes does not begin at 0.
constexpr std::size_t kParameterOffset = 48;

/// Checks the shape of a launch; Success if a chip could run it.
Status check_shape(const standin::Function& function, const standin::KernelCall& call) {
    if (call.grid.volume() == 0 || call.block.volume() == 0 || call.block.volume() > function.kernel.max_threads)
        return Status::InvalidValue;
    if (call.dynamic_shared_bytes > static_cast<std::uint32_t>(function.dynamic_shared_limit.value_or(kSharedUnasked)))
        return Status::InvalidValue;
    const Extent3 cluster = call.cluster;
    if (cluster.volume() == 1) return Status::Success;
    const std::uint64_t most = function.large_clusters ? 2 * kPortableCluster : kPortableCluster;
    const bool whole = cluster.volume() != 0 && call.grid.x % cluster.x == 0 && call.grid.y % cluster.y == 0 &&
                       call.grid.z % cluster.z == 0;
    if (posed_chip().architecture < 90 || !whole || cluster.volume() > most) return Status::InvalidClusterSize;
    return Status::Success;
}

std::optional<Element> map_element(TensorMapDataType type) {
    switch (type) {
        case TensorMapDataType::Uint8:
            return Element::U8;
        case TensorMapDataType::Uint16:
            return Element::U16;
        case TensorMapDataType::Float16:
            return Element::F16;
        case TensorMapDataType::Bfloat16:
            return Element::BF16;
        case TensorMapDataType::Float32:
            return Element::F32;
        default:
            return std::nullopt;
    }
}

isa::Swizzle map_swizzle(TensorMapSwizzle swizzle) {
    switch (swizzle) {
        case TensorMapSwizzle::None:
            return isa::Swizzle::None;
        case TensorMapSwizzle::Span32:
            return isa::Swizzle::Span32;
        case TensorMapSwizzle::Span64:
            return isa::Swizzle::Span64;
        case TensorMapSwizzle::Span128:
            return isa::Swizzle::Span128;
    }
    return isa::Swizzle::None;
}

struct MapTensor {
    TensorMapDataType type;
    std::uint32_t rank;
    void* address;
    const std::uint64_t* dimensions;
    const std::uint64_t* stride_bytes;
    const std::uint32_t* element_strides;
    TensorMapSwizzle swizzle;
};

/// The tensor as both encoding calls describe it.
std::optional<isa::TensorMapDesc> describe(const MapTensor& tensor) {
    const auto element = map_element(tensor.type);
    if (!element || tensor.rank < 1 || tensor.rank > 5) return std::nullopt;
    isa::TensorMapDesc desc;
    desc.stored_swizzle = std::nullopt;  // the driver is not told
    desc.element = *element;
    desc.swizzle = map_swizzle(tensor.swizzle);
    desc.rank = tensor.rank;
    desc.address = tensor.address;
    std::copy_n(tensor.dimensions, tensor.rank, desc.size.begin());
    std::copy_n(tensor.stride_bytes, tensor.rank - 1, desc.stride_bytes.begin());
    std::copy_n(tensor.element_strides, tensor.rank, desc.element_stride.begin());
    return desc;
}

Status encode(const isa::TensorMapDesc& desc, TensorMap* map) {
    if (isa::broken_limit(desc)) return Status::InvalidValue;
    const isa::TensorMap made = tensor_map(desc);
    std::ranges::copy(made.words, map->words.begin());
    const bool blackwell = posed_chip().architecture / 10 == 10;
    if (blackwell && isa::spanned_bytes(desc) < accel::cuda::kSmallTensorBytes)
        map->words[1] |= accel::cuda::kWrongMapBit;  // as drivers before 13.2 do
    return Status::Success;
}

}  // namespace

STANDIN_EXPORT Status cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned count, JitOption* options,
                                         void** values) {
    STANDIN_ENTER(HealthyContext);
    STANDIN_LEAVE_UNLESS(refuse_during_captures(__func__));
    auto made = std::make_unique<standin::Module>();
    made->device = current_device();
    if (const Status loaded = load(image, *made); loaded != Status::Success) {
        if (loaded == Status::InvalidPtx)
            write_log(count, options, values, "ptxas fatal: the stand-in has no compiler");
        return loaded;
    }
    *module = handle_of(machine().modules.add(std::move(made)));
    return Status::Success;
}

STANDIN_EXPORT Status cuModuleUnload(ModuleHandle module) {
    STANDIN_ENTER(Context);
    if (unknown(machine().modules, of(module), __func__)) return Status::InvalidHandle;
    STANDIN_LEAVE_UNLESS(refuse_during_captures(__func__));
    machine().wait_until_idle();
    machine().modules.remove(of(module)).reset();
    return machine().fault();
}

STANDIN_EXPORT Status cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().modules, of(module), __func__)) return Status::InvalidHandle;
    *function = handle_of(of(module)->find(name));
    return *function != nullptr ? Status::Success : Status::NotFound;
}

STANDIN_EXPORT Status cuFuncGetAttribute(int* value, FunctionAttribute attribute, FunctionHandle function) {
    STANDIN_ENTER(HealthyContext);
    const standin::Kernel& kernel = of(function)->kernel;
    switch (attribute) {
        case FunctionAttribute::MaxThreadsPerBlock:
            *value = static_cast<int>(kernel.max_threads);
            return Status::Success;
        case FunctionAttribute::SharedBytes:
            *value = static_cast<int>(kernel.shared_bytes);
            return Status::Success;
        case FunctionAttribute::LocalBytes:
            *value = 0;
            return Status::Success;
        case FunctionAttribute::Registers:  // what its largest block leaves to each thread
            *value = std::min(255, 65536 / static_cast<int>(kernel.max_threads));
            return Status::Success;
        case FunctionAttribute::BinaryVersion:
            *value = posed_chip().architecture;
            return Status::Success;
        case FunctionAttribute::MaxDynamicSharedBytes:
            *value = of(function)->dynamic_shared_limit.value_or(kSharedUnasked);
            return Status::Success;
        case FunctionAttribute::NonPortableClusterSizeAllowed:
            *value = of(function)->large_clusters ? 1 : 0;
            return Status::Success;
    }
    return Status::InvalidValue;
}

STANDIN_EXPORT Status cuFuncSetAttribute(FunctionHandle function, FunctionAttribute attribute, int value) {
    STANDIN_ENTER(HealthyContext);
    switch (attribute) {
        case FunctionAttribute::MaxDynamicSharedBytes:
            if (value < 0 || value > posed_chip().shared_bytes) return Status::InvalidValue;
            of(function)->dynamic_shared_limit = value;
            return Status::Success;
        case FunctionAttribute::NonPortableClusterSizeAllowed:
            of(function)->large_clusters = value != 0;
            return Status::Success;
        default:
            return Status::InvalidValue;
    }
}

STANDIN_EXPORT Status cuFuncGetParamInfo(FunctionHandle function, std::size_t index, std::size_t* offset,
                                         std::size_t* bytes) {
    STANDIN_ENTER(HealthyContext);
    if (index != 0) return Status::InvalidValue;  // every kernel takes one struct
    *offset = kParameterOffset;
    if (bytes != nullptr) *bytes = of(function)->kernel.argument_bytes;
    return Status::Success;
}

STANDIN_EXPORT Status cuLaunchKernelEx(const LaunchConfig* config, FunctionHandle function, void** parameters,
                                       void** extra) {
    STANDIN_ENTER(HealthyContext);
    standin::Stream* stream = of(config->stream);
    if (unknown(machine().streams, stream, __func__)) return Status::InvalidHandle;
    if (of(function)->module->device != stream->device) return Status::InvalidHandle;
    const standin::Kernel& kernel = of(function)->kernel;
    if (parameters == nullptr || extra != nullptr) {  // in one buffer, the struct would not begin at its start
        machine().complain(fmt::format("{} launched without the address of its parameter", kernel.name));
        return Status::InvalidValue;
    }
    const std::span given(static_cast<const std::byte*>(parameters[0]), kernel.argument_bytes);
    standin::KernelCall call{.grid = {config->grid_x, config->grid_y, config->grid_z},
                             .block = {config->block_x, config->block_y, config->block_z},
                             .dynamic_shared_bytes = config->dynamic_shared_bytes};
    for (const LaunchAttribute& attribute : std::span(config->attributes, config->attribute_count)) {
        if (attribute.id != LaunchAttributeId::ClusterDimension) return Status::InvalidValue;
        call.cluster = {attribute.cluster.x, attribute.cluster.y, attribute.cluster.z};
    }
    STANDIN_LEAVE_UNLESS(check_shape(*of(function), call));
    return stream->push(standin::launch(kernel, call, given));
}

/// Each GPC holds the clusters that its own SMs make up.
STANDIN_EXPORT Status cuOccupancyMaxActiveClusters(int* clusters, FunctionHandle function, const LaunchConfig* config) {
    STANDIN_ENTER(HealthyContext);
    if (config->attribute_count != 1 || config->attributes->id != LaunchAttributeId::ClusterDimension)
        return Status::InvalidValue;
    const auto& cluster = config->attributes->cluster;
    const standin::KernelCall call{.grid = {config->grid_x, config->grid_y, config->grid_z},
                                   .block = {config->block_x, config->block_y, config->block_z},
                                   .cluster = {cluster.x, cluster.y, cluster.z},
                                   .dynamic_shared_bytes = config->dynamic_shared_bytes};
    STANDIN_LEAVE_UNLESS(check_shape(*of(function), call));
    constexpr std::uint32_t kSharedOfAnSm = 228 << 10, kReserved = 1 << 10;
    const std::uint32_t blocks = kSharedOfAnSm / (config->dynamic_shared_bytes + kReserved);
    *clusters = 0;
    for (const std::uint32_t sms : posed_chip().gpcs)
        *clusters += static_cast<int>(sms * blocks / call.cluster.volume());
    return Status::Success;
}

STANDIN_EXPORT Status cuTensorMapEncodeTiled(TensorMap* map, TensorMapDataType type, std::uint32_t rank, void* address,
                                             const std::uint64_t* dimensions, const std::uint64_t* stride_bytes,
                                             const std::uint32_t* box, const std::uint32_t* element_strides,
                                             TensorMapInterleave interleave, TensorMapSwizzle swizzle,
                                             TensorMapL2Promotion /*promotion*/, TensorMapOutOfBounds out_of_bounds) {
    STANDIN_ENTER(Context);
    auto desc = describe({type, rank, address, dimensions, stride_bytes, element_strides, swizzle});
    if (!desc || interleave != TensorMapInterleave::None || out_of_bounds != TensorMapOutOfBounds::Zeros)
        return Status::InvalidValue;
    std::copy_n(box, rank, desc->box.begin());
    return encode(*desc, map);
}

STANDIN_EXPORT Status cuTensorMapEncodeIm2col(TensorMap* map, TensorMapDataType type, std::uint32_t rank, void* address,
                                              const std::uint64_t* dimensions, const std::uint64_t* stride_bytes,
                                              const int* lower_corner, const int* upper_corner,
                                              std::uint32_t channels_per_pixel, std::uint32_t pixels_per_column,
                                              const std::uint32_t* element_strides, TensorMapInterleave interleave,
                                              TensorMapSwizzle swizzle, TensorMapL2Promotion /*promotion*/,
                                              TensorMapOutOfBounds out_of_bounds) {
    STANDIN_ENTER(Context);
    auto desc = describe({type, rank, address, dimensions, stride_bytes, element_strides, swizzle});
    if (!desc || rank < 3 || interleave != TensorMapInterleave::None || out_of_bounds != TensorMapOutOfBounds::Zeros)
        return Status::InvalidValue;
    desc->mode = isa::MapMode::Im2col;
    std::copy_n(lower_corner, rank - 2, desc->lower_corner.begin());
    std::copy_n(upper_corner, rank - 2, desc->upper_corner.begin());
    desc->channels_per_pixel = channels_per_pixel;
    desc->pixels_per_column = pixels_per_column;
    return encode(*desc, map);
}

}  // namespace kinetograph::accel::cuda
