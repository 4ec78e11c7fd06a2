#include <kinetograph/compute/conv/hip/storage.hpp>
#include <kinetograph/compute/nn/hip/attention.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/attention_launch.hpp>

namespace kinetograph::nn::hip {
namespace {

using conv::hip::BoundKernel;
using conv::hip::storage_of;

class HipAttention final : public Attention {
  public:
    HipAttention(const AttentionProblem& problem, const gfx950::AttentionProblem& on_device,
                 std::shared_ptr<conv::Kernels> kernels)
        : problem_(problem), on_device_(on_device), plan_(gfx950::plan(on_device)), kernels_(std::move(kernels)) {}

    Result<void> load() {
        KG_TRY(auto values, BoundKernel::create(*kernels_, plan_.values));
        KG_TRY(auto attend, BoundKernel::create(*kernels_, plan_.attend));
        values_ = std::move(values);
        attend_ = std::move(attend);
        if (!plan_.join) return {};
        KG_TRY(join_, BoundKernel::create(*kernels_, *plan_.join));
        return {};
    }

    const AttentionProblem& problem() const override { return problem_; }
    std::uint64_t workspace_bytes() const override { return plan_.workspace_bytes; }
    std::string_view explanation() const override { return "mfma-gfx950"; }

    Result<void> enqueue(accel::Stream& stream, std::string_view pass_name,
                         const AttentionTensors& tensors) const override {
        if (tensors.qkv.size() != tensors.output.size() || tensors.workspace == nullptr)
            return fail(ErrorCode::InvalidArgument, "pass \"{}\": attention of {} input and {} output frames{}",
                        pass_name, tensors.qkv.size(), tensors.output.size(),
                        tensors.workspace == nullptr ? " without workspace" : "");
        for (std::size_t i = 0; i < tensors.qkv.size(); ++i) {
            const auto params = gfx950::make_params(on_device_, tensors.qkv[i], tensors.output[i], tensors.workspace);
            values_.launch(stream, pass_name, params.values);
            attend_.launch(stream, pass_name, params.attend);
            if (plan_.join) join_.launch(stream, pass_name, params.join);
        }
        return {};
    }

  private:
    AttentionProblem problem_;
    gfx950::AttentionProblem on_device_;
    gfx950::AttentionPlan plan_;
    std::shared_ptr<conv::Kernels> kernels_;
    BoundKernel values_, attend_, join_;
};

}  // namespace

Result<std::unique_ptr<Attention>> create_attention(std::shared_ptr<conv::Kernels> kernels, std::uint32_t compute_units,
                                                    const AttentionProblem& problem) {
    KG_TRY(auto storage, storage_of(problem.dtype, "attention"));
    const gfx950::AttentionProblem on_device{problem.tokens, problem.channels, storage, compute_units};
    if (const auto refused = gfx950::refusal(on_device)) return fail(ErrorCode::Unsupported, "{}", *refused);
    auto attention = std::make_unique<HipAttention>(problem, on_device, std::move(kernels));
    KG_CHECK(attention->load());
    return attention;
}

}  // namespace kinetograph::nn::hip
