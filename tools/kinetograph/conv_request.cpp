#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/tools/kinetograph/conv_request.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>

#include <algorithm>

namespace kinetograph::cli {
namespace {

const std::map<std::string, conv::Activation> kActivations{{"none", conv::Activation::None},
                                                           {"silu", conv::Activation::Silu}};
const std::map<std::string, tensor::DType> kDTypes{{"fp32", tensor::DType::F32},
                                                   {"bf16", tensor::DType::BF16},
                                                   {"fp16", tensor::DType::F16},
                                                   {"fp8", tensor::DType::F8E4M3}};

}  // namespace

conv::ConvProblem ConvRequest::problem() const {
    return {.n = input[0],
            .d = input[1],
            .h = input[2],
            .w = input[3],
            .c_in = input[4],
            .upsample = upsample,
            .filter = {.k = filter[0], .q = filter[1], .r = filter[2], .s = filter[3]},
            .stride = {.d = stride[0], .h = stride[1], .w = stride[2]},
            .dilation = {.d = dilation[0], .h = dilation[1], .w = dilation[2]},
            .pad = {.front = pad[0], .back = pad[1], .top = pad[2], .bottom = pad[3], .left = pad[4], .right = pad[5]},
            .groups = groups,
            .dtype = dtype,
            .output_dtype = dtype == tensor::DType::F8E4M3 ? tensor::DType::BF16 : dtype,
            .residual = residual,
            .activation = activation};
}

ProblemOptions add_conv_options(CLI::App& command, ConvRequest& request) {
    ProblemOptions options;
    options.input = add_numbers(command, "--input", request.input, "N,D,H,W,C", "Activations");
    options.filter =
        add_numbers(command, "--filter", request.filter, "K,Q,R,S", "Output channels; taps in time, rows, columns");
    add_numbers(command, "--stride", request.stride, "d,h,w", "Default 1,1,1");
    add_numbers(command, "--dilation", request.dilation, "d,h,w", "Default 1,1,1");
    add_numbers(command, "--pad", request.pad, "front,back,top,bottom,left,right",
                "Zeros around the input (default none)");
    command.add_option("--groups", request.groups, "Of channels that see only each other (default 1)")->type_name("N");
    command.add_flag("--upsample", request.upsample, "The taps see the input doubled in rows and columns");
    command.add_flag("--residual", request.residual, "Add a residual after the activation");
    add_choice(command, "--activation", request.activation, kActivations, "After the bias (default none)");
    add_choice(command, "--dtype", request.dtype, kDTypes, "Of activations and filter (default bf16)");
    return options;
}

void add_backend_option(CLI::App& command, std::string& backend, const std::string& description) {
    const auto check = [](const std::string& name) -> std::string {
        const auto candidates = conv::candidates();
        if (std::ranges::find(candidates, name, &conv::Candidate::name) != candidates.end()) return "";
        std::string names;
        for (const conv::Candidate& candidate : candidates)
            names += fmt::format("{}{}", names.empty() ? "" : ", ", candidate.name);
        return fmt::format("no back end is called {}; there are {}", name, names);
    };
    command.add_option("--backend", backend, description)->type_name("NAME")->check(check);
}

}  // namespace kinetograph::cli
