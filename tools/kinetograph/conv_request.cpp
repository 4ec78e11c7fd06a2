#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/tools/kinetograph/conv_request.hpp>
#include <kinetograph/tools/kinetograph/option_kinds.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>

namespace kinetograph::cli {
namespace {

const std::map<std::string, conv::Activation> kActivations{
    {"none", conv::Activation::None}, {"silu", conv::Activation::Silu}, {"relu", conv::Activation::Relu}};
const std::map<std::string, conv::Norm> kNorms{
    {"none", conv::Norm::None}, {"beside", conv::Norm::Beside}, {"instead", conv::Norm::Instead}};
const std::map<std::string, conv::Activation> kNormActivations{{"none", conv::Activation::None},
                                                               {"silu", conv::Activation::Silu}};
const std::map<std::string, tensor::DType> kDTypes{{"fp32", tensor::DType::F32},
                                                   {"bf16", tensor::DType::BF16},
                                                   {"fp16", tensor::DType::F16},
                                                   {"fp8", tensor::DType::F8E4M3},
                                                   {"fp8-e5m2", tensor::DType::F8E5M2}};

/// `name a,b,c` sets the fields `to`; any other form is bad usage.
template <std::size_t N>
CLI::Option* add_fields(CLI::App& command, const std::string& name, const std::array<std::int64_t*, N>& to,
                        const std::string& form, const std::string& description) {
    auto values = std::make_shared<std::array<std::int64_t, N>>();
    return add_numbers(command, name, *values, form, description)->each([values, to](const std::string& text) {
        const auto numbers = *parse_numbers<N>(text);
        for (std::size_t i = 0; i < N; ++i) *to[i] = numbers[i];
    });
}

/// `name X` sets `value`; a text that is no number is bad usage.
template <class T>
void add_number(CLI::App& command, const std::string& name, T& value, const std::string& description) {
    constexpr bool kWhole = std::is_integral_v<T>;
    command.add_option(name, value, description)
        ->check([](const std::string& text) {
            T number{};
            return CLI::detail::lexical_cast(text, number) ? ""
                                                           : text + (kWhole ? " is no whole number" : " is no number");
        })
        ->type_name(kWhole ? "N" : "X");
}

/// Why `name` is bad usage; empty if a method has that name.
std::string complaint_of(const std::string& name) {
    const auto candidates = conv::candidates();
    if (std::ranges::find(candidates, name, &conv::Candidate::name) != candidates.end()) return "";
    std::string names;
    for (const conv::Candidate& candidate : candidates)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", candidate.name);
    return fmt::format("no back end is called {}; there are {}", name, names);
}

}  // namespace

ProblemOptions add_conv_options(CLI::App& command, conv::ConvProblem& p) {
    ProblemOptions options;
    options.input =
        add_fields(command, "--input", std::array{&p.n, &p.d, &p.h, &p.w, &p.c_in}, "N,D,H,W,C", "Activations");
    options.filter = add_fields(command, "--filter", std::array{&p.filter.k, &p.filter.q, &p.filter.r, &p.filter.s},
                                "K,Q,R,S", "Output channels; taps in time, rows, columns");
    add_fields(command, "--stride", std::array{&p.stride.d, &p.stride.h, &p.stride.w}, "d,h,w", "Default 1,1,1");
    add_fields(command, "--dilation", std::array{&p.dilation.d, &p.dilation.h, &p.dilation.w}, "d,h,w",
               "Default 1,1,1");
    add_fields(command, "--pad",
               std::array{&p.pad.front, &p.pad.back, &p.pad.top, &p.pad.bottom, &p.pad.left, &p.pad.right},
               "front,back,top,bottom,left,right", "Zeros around the input (default none)");
    add_number(command, "--groups", p.groups, "Number of groups of channels that see only each other (default 1)");
    command.add_flag("--upsample", p.upsample, "The taps see the input doubled in rows and columns");
    add_number(command, "--alpha", p.weight.scale, "Scales the sums before the bias (default 1)");
    command.add_flag("--channel-scales", p.channel_scales, "Scale each output channel's sums by a factor of its own");
    command.add_flag("--residual", p.residual, "Add a residual after the activation");
    add_number(command, "--beta", p.beta, "Scales the residual (default 1)");
    add_choice(command, "--activation", p.activation, kActivations,
               "silu: after the bias; relu: after the residual (default none)");
    add_number(command, "--negative-slope", p.negative_slope, "Factor of what relu finds below zero (default 0)");
    add_choice(command, "--norm", p.norm, kNorms,
               "RMS norm of the output for the next layer, stored beside it or instead of it (default none)");
    add_choice(command, "--norm-activation", p.norm_activation, kNormActivations, "After the norm (default silu)");
    // Of output and filter, in whatever order the options come.
    const auto wanted = std::make_shared<std::optional<tensor::DType>>();
    const auto wanted_of_filter = std::make_shared<std::optional<tensor::DType>>();
    add_choice(command, "--dtype", p.input.element, kDTypes, "Element type of activations and filter (default bf16)")
        ->each([&p, wanted, wanted_of_filter](const std::string& word) {
            const tensor::DType dtype = kDTypes.at(word);
            p.weight.element = wanted_of_filter->value_or(dtype);
            p.output = p.normed = wanted->value_or(is_fp8(dtype) ? tensor::DType::BF16 : dtype);
        });
    command
        .add_option_function<std::string>(
            "--filter-dtype",
            [&p, wanted_of_filter](const std::string& word) {
                p.weight.element = *(*wanted_of_filter = kDTypes.at(word));
            },
            "Element type of the filter: that of activations (default), or of fp8 the other format")
        ->type_name("fp8|fp8-e5m2")
        ->check([](const std::string& word) {
            return kDTypes.contains(word) ? "" : word + " is none of fp32, bf16, fp16, fp8, fp8-e5m2";
        });
    command
        .add_option_function<std::string>(
            "--output-dtype",
            [&p, wanted](const std::string& word) { p.output = p.normed = *(*wanted = kDTypes.at(word)); },
            "Element type of the output: fp32, or that of activations, of fp8 bf16 (default)")
        ->type_name("fp32|bf16|fp16")
        ->check([](const std::string& word) {
            return word == "fp32" || word == "bf16" || word == "fp16" ? "" : word + " is none of fp32, bf16, fp16";
        });
    return options;
}

void add_backend_option(CLI::App& command, std::string& backend, const std::string& description) {
    const auto check = [](const std::string& words) { return complaint_of(words.substr(0, words.find(':'))); };
    command.add_option("--backend", backend, description)->type_name("NAME[:KERNEL]")->check(check);
}

void add_preferred_backend_option(CLI::App& command, std::string& backend) {
    command
        .add_option("--backend", backend, "Take this candidate for the convolutions that it is open to, best or not")
        ->type_name("NAME")
        ->check(complaint_of);
}

}  // namespace kinetograph::cli
