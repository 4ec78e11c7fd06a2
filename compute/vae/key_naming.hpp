// Under which names a file keeps the decoder's parameters, and whose file it is if it keeps something else.
#pragma once

#include <kinetograph/compute/tensor/safetensors.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/compute/vae/parameter_list.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kinetograph::vae {

/// The key that diffusers' AutoencoderKLWan gives to an original one: "decoder.conv1.weight" is
/// "decoder.conv_in.weight". `original` must be one of wan21_parameters.
/// Source      scripts/convert_wan_to_diffusers.py, huggingface/diffusers
std::string diffusers_name(std::string_view original);

/// How the keys of one file are made from the original ones.
struct KeyScheme {
    KeyNaming naming = KeyNaming::Original;
    std::string prefix;  ///< of a file that wraps the model: "", "vae.", "first_stage_model.", ...

    std::string key(std::string_view original) const;
};

/// The scheme under which most of `parameters` are in `file`; whatever stands before the keys, up to a dot, is the
/// prefix. Errors: NotFound when no parameter is there, or naming those that are missing (at most ten, then a count);
/// InvalidArgument when another known family's tensors are there instead, or when two prefixes hold a whole decoder.
Result<KeyScheme> find_key_scheme(const tensor::SafetensorsFile& file, std::span<const Parameter> parameters);

/// "a, b, c and 4 more": at most ten of `items`.
std::string first_ten(std::span<const std::string> items);

}  // namespace kinetograph::vae
