// Modules of SPIR-V: one kernel, of which every choice of specialization constants is a pipeline.
#pragma once

#include <kinetograph/engine/accel/gpu/module.hpp>
#include <kinetograph/engine/accel/vulkan/recording.hpp>
#include <kinetograph/engine/accel/vulkan/spirv.hpp>

#include <map>

namespace kinetograph::accel::vulkan {

class Context;

/// Its kernels are called "<image>", or "<image>:<n0>,<n1>,..." with values for the specialization constants 0, 1, ...;
/// n0 is the number of a workgroup's threads (local_size_x_id = 0).
class SpirvModule final : public gpu::GpuModule {
  public:
    /// Errors: Corrupt (no SPIR-V of a compute kernel), Unsupported (it declares a capability that the device lacks).
    static Result<std::shared_ptr<Module>> load(std::shared_ptr<Context> context, std::string_view name,
                                                std::span<const std::byte> image);
    ~SpirvModule() override;

  private:
    /// What the device has of it.
    struct Loaded {
        const vk::Device& device;
        VkShaderModule module = VK_NULL_HANDLE;
        Mutex mutex;
        std::map<std::string, Pipeline, std::less<>> pipelines KG_GUARDED_BY(mutex);
        explicit Loaded(const vk::Device& of) : device(of) {}
        ~Loaded();
        Loaded(const Loaded&) = delete;
        Loaded& operator=(const Loaded&) = delete;
    };
    SpirvModule(std::shared_ptr<Context> context, std::string_view name, SpirvKernel kernel);
    Result<Found> find(const std::string& name) const override;
    const gpu::Context& context() const override;
    Result<std::vector<std::uint32_t>> constants_of(std::string_view name) const;
    Result<std::uint32_t> threads_of(std::span<const std::uint32_t> constants) const;
    Result<VkPipeline> create_pipeline(std::span<const std::uint32_t> constants, std::uint32_t threads) const;

    std::shared_ptr<Context> context_;
    std::string image_;
    SpirvKernel kernel_;
    std::shared_ptr<Loaded> loaded_;
};

}  // namespace kinetograph::accel::vulkan
