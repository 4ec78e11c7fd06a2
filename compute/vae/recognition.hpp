// Recognises the family of a file, and the names under which it has the decoder's parameters.
#pragma once

#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>

#include <span>
#include <string>
#include <string_view>

namespace kinetograph::vae {

/// How the keys of one file are made from a family's own.
struct KeyScheme {
    const families::Family* family = nullptr;
    KeyNaming naming = KeyNaming::Original;
    std::string prefix;  ///< of a file that wraps the model: "", "vae.", "first_stage_model.", ...

    std::string key(std::string_view original) const;
};

/// The family whose parameters are in `file`, and the scheme under which most of them are; whatever stands before the
/// keys, up to a dot, is the prefix. `_class_name` in the metadata, as diffusers' config.json spells it, decides
/// between families that share their keys. Errors: NotFound when no parameter is there, or naming those that are
/// missing (at most ten, then a count); InvalidArgument when another known family's tensors or class are there instead,
/// or when two prefixes hold a whole decoder.
Result<KeyScheme> recognise(const formats::TensorSource& file);

/// "a, b, c and 4 more": at most ten of `items`.
std::string first_ten(std::span<const std::string> items);

}  // namespace kinetograph::vae
