#include <kinetograph/compute/conv/element.hpp>
#include <kinetograph/compute/conv/known_devices.hpp>
#include <kinetograph/compute/conv/planned.hpp>
#include <kinetograph/compute/conv/self_check.hpp>
#include <kinetograph/compute/nn/attention_check.hpp>

#include <random>

namespace kinetograph::nn {
namespace {

/// Of a problem of `tokens`: no multiple of any tile's queries or keys, and one of 8 where `tokens` is, which methods
/// want.
std::int64_t few_tokens(std::int64_t tokens) { return 152 + tokens % 8; }

/// softmax(q k^T / sqrt(channels)) v in fp64. qkv [tokens, 3 * channels].
std::vector<double> attention_in_fp64(const std::vector<double>& qkv, std::int64_t tokens, std::int64_t channels) {
    std::vector<double> output(static_cast<std::size_t>(tokens * channels));
    std::vector<double> weights(static_cast<std::size_t>(tokens));
    for (std::int64_t query = 0; query < tokens; ++query) {
        double most = -1e300, sum = 0;
        for (std::int64_t key = 0; key < tokens; ++key) {
            double score = 0;
            for (std::int64_t c = 0; c < channels; ++c)
                score += qkv[query * 3 * channels + c] * qkv[(key * 3 + 1) * channels + c];
            weights[key] = score / std::sqrt(static_cast<double>(channels));
            most = std::max(most, weights[key]);
        }
        for (double& weight : weights) sum += weight = std::exp(weight - most);
        for (std::int64_t key = 0; key < tokens; ++key)
            for (std::int64_t c = 0; c < channels; ++c)
                output[query * channels + c] += weights[key] / sum * qkv[(key * 3 + 2) * channels + c];
    }
    return output;
}

/// The output's bytes. Errors: those of the device.
Result<std::vector<std::byte>> run_few(const conv::Kernels& kernels, const conv::OpPlan& plan,
                                       const std::vector<std::byte>& input, std::size_t output_bytes) {
    accel::Device& device = kernels.device();
    KG_TRY(const auto loaded, conv::load(kernels, plan.kernels));
    KG_TRY(auto stream, device.create_stream("self-check"));
    KG_TRY(const auto given, device.allocate("self-check", input.size()));
    KG_TRY(const auto made, device.allocate("self-check", output_bytes));
    KG_TRY(const auto workspace, device.allocate("self-check", std::max<std::uint64_t>(plan.workspace_bytes, 1)));
    KG_CHECK(stream->upload(given->data(), input));
    const std::byte* const inputs[] = {given->data()};
    std::byte* const outputs[] = {made->data()};
    const conv::OpTensors tensors{.input = inputs, .output = outputs, .workspace = workspace->data()};
    KG_CHECK(conv::enqueue_steps(*stream, "self-check", device, loaded,
                                 [&](const conv::EncodeMap& encode) { return plan.steps(tensors, encode); }));
    KG_CHECK(conv::wait_within(device, stream, conv::kSelfCheckPatience));
    std::vector<std::byte> output(output_bytes);
    KG_CHECK(stream->read_back(output, made->data()));
    return output;
}

Result<std::string> try_attention(const conv::Kernels& kernels, const conv::AttentionProblem& few,
                                  const conv::OpPlan& plan) {
    std::mt19937 random{1};
    std::uniform_real_distribution<double> draw(-1, 1);
    const auto element = few.input.element;
    const std::int64_t elements = few.tokens * 3 * few.channels;
    std::vector<std::byte> input(static_cast<std::size_t>(elements) * element_bytes(element));
    std::vector<double> qkv;
    for (std::int64_t i = 0; i < elements; ++i) {
        conv::store_element(input.data(), i, element, draw(random));
        qkv.push_back(conv::load_element(input.data(), i, element));
    }
    const std::vector<double> wanted = attention_in_fp64(qkv, few.tokens, few.channels);
    KG_TRY(const auto output, run_few(kernels, plan, input, wanted.size() * element_bytes(few.output.element)));
    std::vector<double> got;
    for (std::int64_t i = 0; i < std::ssize(wanted); ++i)
        got.push_back(conv::load_element(output.data(), i, few.output.element));
    constexpr double kLimit = 2e-2;  // weights and result rounded to bf16: some 4e-3. Wrong rows of values: 1
    const double error = conv::relative_error(got, wanted);
    if (error <= kLimit) return "";
    return fmt::format("{} tokens of {} channels have a relative error of {:.2g} against fp64, wanted {:.2g}",
                       few.tokens, few.channels, error, kLimit);
}

}  // namespace

Result<void> check_attention(const conv::Kernels& kernels, std::string_view method,
                             const conv::AttentionProblem& problem,
                             conv::OpPlan (*plan)(const conv::AttentionProblem&, const conv::Chip&)) {
    const accel::DeviceInfo& device = kernels.device().info();
    if (device.is_host()) return {};
    conv::AttentionProblem few = problem;
    few.tokens = few_tokens(problem.tokens);
    few.adds = false;
    const conv::OpPlan of_few = plan(few, conv::chip_of(device));
    const conv::KernelName& first = of_few.kernels.front();
    return conv::check_once(kernels.device(), fmt::format("{}:{}", method, first.kernel), first.image,
                            [&] { return try_attention(kernels, few, of_few); });
}

}  // namespace kinetograph::nn
