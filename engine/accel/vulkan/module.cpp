#include <kinetograph/engine/accel/vulkan/module.hpp>

#include <kinetograph/engine/accel/vulkan/context.hpp>
#include <kinetograph/engine/vulkan/api.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace kinetograph::accel::vulkan {
namespace {

/// A capability that kernels may declare, and the feature that allows it. The driver's behaviour is undefined for one
/// that is not enabled.
struct KnownCapability {
    std::uint32_t number;
    const char* name;
    bool (*enabled)(const vk::ComputeFeatures& has);
};
constexpr auto kAlways = [](const vk::ComputeFeatures&) { return true; };
constexpr KnownCapability kCapabilities[] = {
    {0, "Matrix", kAlways},
    {1, "Shader", kAlways},
    {9, "Float16", [](const vk::ComputeFeatures& has) { return has.float16; }},
    {11, "Int64", [](const vk::ComputeFeatures& has) { return has.int64; }},
    {22, "Int16", [](const vk::ComputeFeatures& has) { return has.int16; }},
    {39, "Int8", [](const vk::ComputeFeatures& has) { return has.int8; }},
    {61, "GroupNonUniform", kAlways},
    {62, "GroupNonUniformVote", kAlways},
    {63, "GroupNonUniformArithmetic", kAlways},
    {64, "GroupNonUniformBallot", kAlways},
    {65, "GroupNonUniformShuffle", kAlways},
    {66, "GroupNonUniformShuffleRelative", kAlways},
    {67, "GroupNonUniformClustered", kAlways},
    {4433, "StorageBuffer16BitAccess", [](const vk::ComputeFeatures& has) { return has.storage16; }},
    {4448, "StorageBuffer8BitAccess", [](const vk::ComputeFeatures& has) { return has.storage8; }},
    {5116, "BFloat16TypeKHR", [](const vk::ComputeFeatures& has) { return has.bfloat16; }},
    {5118, "BFloat16CooperativeMatrixKHR", [](const vk::ComputeFeatures& has) { return has.bfloat16_matrices; }},
    {5345, "VulkanMemoryModel", [](const vk::ComputeFeatures& has) { return has.memory_model; }},
    {5346, "VulkanMemoryModelDeviceScope", [](const vk::ComputeFeatures& has) { return has.memory_model; }},
    {5347, "PhysicalStorageBufferAddresses", kAlways},
    {6016, "DotProductInputAll", [](const vk::ComputeFeatures& has) { return has.dot_products; }},
    {6017, "DotProductInput4x8Bit", [](const vk::ComputeFeatures& has) { return has.dot_products; }},
    {6018, "DotProductInput4x8BitPacked", [](const vk::ComputeFeatures& has) { return has.dot_products; }},
    {6019, "DotProduct", [](const vk::ComputeFeatures& has) { return has.dot_products; }},
    {6022, "CooperativeMatrixKHR", [](const vk::ComputeFeatures& has) { return has.matrices; }},
};

Result<void> check_capabilities(std::span<const std::uint32_t> declared, const vk::ComputeFeatures& has) {
    for (const std::uint32_t number : declared) {
        const auto* const known = std::ranges::find(kCapabilities, number, &KnownCapability::number);
        if (known == std::end(kCapabilities))
            return fail(ErrorCode::Unsupported, "it declares SPIR-V's capability {}, which no kernel here may", number);
        if (!known->enabled(has))
            return fail(ErrorCode::Unsupported, "it declares SPIR-V's capability {}, which the device lacks",
                        known->name);
    }
    return {};
}

}  // namespace

Result<std::shared_ptr<Module>> SpirvModule::load(std::shared_ptr<Context> context, std::string_view name,
                                                  std::span<const std::byte> image) {
    if (image.size() % sizeof(std::uint32_t) != 0)
        return fail(ErrorCode::Corrupt, "its {} bytes are no whole words of SPIR-V", image.size());
    std::vector<std::uint32_t> words(image.size() / sizeof(std::uint32_t));  // aligned, unlike the caller's perhaps
    std::memcpy(words.data(), image.data(), image.size());
    KG_TRY(auto kernel, read_spirv(words));
    const vk::Device& device = context->device();
    KG_CHECK(check_capabilities(kernel.capabilities, device.report().compute));
    std::shared_ptr<SpirvModule> module(new SpirvModule(std::move(context), name, std::move(kernel)));
    VkShaderModuleCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = words.size() * sizeof(std::uint32_t);
    info.pCode = words.data();
    if (const VkResult result =
            device.table().vkCreateShaderModule(device.handle(), &info, nullptr, &module->loaded_->module);
        result != VK_SUCCESS)
        return device.error(result, "vkCreateShaderModule");
    return module;
}

SpirvModule::SpirvModule(std::shared_ptr<Context> context, std::string_view name, SpirvKernel kernel)
    : GpuModule(name),
      context_(std::move(context)),
      image_(name),
      kernel_(std::move(kernel)),
      loaded_(std::make_shared<Loaded>(context_->device())) {}

SpirvModule::~SpirvModule() {
    if (!context_->given_up().has_ended()) context_->device().keep(std::move(loaded_));
}

SpirvModule::Loaded::~Loaded() {
    for (const auto& [name, pipeline] : pipelines)
        device.table().vkDestroyPipeline(device.handle(), pipeline.handle, nullptr);
    device.table().vkDestroyShaderModule(device.handle(), module, nullptr);
}

const gpu::Context& SpirvModule::context() const { return *context_; }

/// What follows the colon. Errors: NotFound (another image's name; no numbers).
Result<std::vector<std::uint32_t>> SpirvModule::constants_of(std::string_view name) const {
    const std::size_t colon = std::min(name.find(':', std::min(image_.size(), name.size())), name.size());
    if (name.substr(0, colon) != image_)
        return fail(ErrorCode::NotFound, "its one kernel is \"{}\", with constants \"{}:64,2,...\"", image_, image_);
    std::vector<std::uint32_t> constants;
    for (std::string_view rest = name.substr(colon); !rest.empty();) {
        rest.remove_prefix(1);
        std::uint32_t value = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        if (error != std::errc() || (!rest.empty() && rest.front() != ','))
            return fail(ErrorCode::NotFound, "after the colon come 32-bit integers with commas between them");
        constants.push_back(value);
    }
    return constants;
}

/// The threads of a workgroup. Errors: InvalidArgument (two or three dimensions; another number than the image's, which
/// is no constant), OutOfRange (more than the device has).
Result<std::uint32_t> SpirvModule::threads_of(std::span<const std::uint32_t> constants) const {
    std::array<std::uint32_t, 3> size = kernel_.local_size;
    for (std::size_t i = 0; i < size.size(); ++i)
        if (const auto id = kernel_.local_size_ids[i]; id && *id < constants.size()) size[i] = constants[*id];
    if (size[0] == 0 || size[1] != 1 || size[2] != 1)
        return fail(ErrorCode::InvalidArgument, "workgroups of {} x {} x {} threads: they must have one dimension",
                    size[0], size[1], size[2]);
    if (!constants.empty() && constants[0] != size[0])
        return fail(ErrorCode::InvalidArgument, "constant 0 is {}, but the image's workgroups have {} threads",
                    constants[0], size[0]);
    const ComputeLimits& limits = context_->limits();
    const std::uint64_t most =
        std::min<std::uint64_t>({limits.threads, limits.threads_x, std::uint64_t{limits.subgroup} * limits.subgroups});
    if (size[0] > most)
        return fail(ErrorCode::OutOfRange, "workgroups of {} threads, {} has at most {}", size[0],
                    context_->info().name, most);
    return size[0];
}

Result<VkPipeline> SpirvModule::create_pipeline(std::span<const std::uint32_t> constants, std::uint32_t threads) const {
    const vk::Device& device = context_->device();
    const ComputeLimits& limits = context_->limits();
    std::vector<VkSpecializationMapEntry> entries;
    for (std::uint32_t id = 0; id < constants.size(); ++id)
        entries.push_back({id, static_cast<std::uint32_t>(id * sizeof(std::uint32_t)), sizeof(std::uint32_t)});
    VkSpecializationInfo values{};
    values.mapEntryCount = static_cast<std::uint32_t>(entries.size());
    values.pMapEntries = entries.data();
    values.dataSize = constants.size_bytes();
    values.pData = constants.data();
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup{};
    subgroup.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    subgroup.requiredSubgroupSize = limits.subgroup;
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.layout = context_->layout();
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.pNext = limits.sets_subgroup ? &subgroup : nullptr;
    if (threads % limits.subgroup == 0) info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = loaded_->module;
    info.stage.pName = kernel_.entry_point.c_str();
    info.stage.pSpecializationInfo = &values;
    VkPipeline pipeline = VK_NULL_HANDLE;
    if (const VkResult result = device.table().vkCreateComputePipelines(device.handle(), device.pipeline_cache(), 1,
                                                                        &info, nullptr, &pipeline);
        result != VK_SUCCESS)
        return device.error(result, "vkCreateComputePipelines");
    return pipeline;
}

Result<SpirvModule::Found> SpirvModule::find(const std::string& name) const {
    KG_TRY(const auto constants, constants_of(name));
    KG_TRY(const std::uint32_t threads, threads_of(constants));
    const Lock lock(loaded_->mutex);
    auto& pipelines = loaded_->pipelines;
    auto found = pipelines.find(name);
    if (found == pipelines.end()) {
        KG_TRY(const VkPipeline pipeline, create_pipeline(constants, threads));
        context_->device().set_name(VK_OBJECT_TYPE_PIPELINE, reinterpret_cast<std::uint64_t>(pipeline), name);
        found = pipelines.emplace(name, Pipeline{pipeline, threads}).first;
    }
    Found result;
    result.function = reinterpret_cast<gpu::FunctionHandle>(&found->second);
    result.info.name = name;
    result.info.max_threads = threads;
    return result;
}

}  // namespace kinetograph::accel::vulkan
