// Recognises the family of a file, and the names under which it has the decoder's parameters.
#pragma once

#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/compute/formats/tensor_source.hpp>
#include <kinetograph/compute/vae/checkpoint.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace kinetograph::vae {

/// How the keys of one file are made from a family's own.
struct KeyScheme {
    const families::Family* family = nullptr;
    KeyNaming naming = KeyNaming::Original;
    std::string prefix;  ///< of a file that wraps the model: "", "vae.", "first_stage_model.", ...

    std::string key(std::string_view original) const;
};

inline constexpr std::int64_t kLargestDim =
    1024;  // 8.3 billion parameters: 4 * dim * 4 * dim * 27 is far from overflow

/// What a file was recognised as.
struct Recognised {
    KeyScheme scheme;
    families::Widths widths;
    std::vector<Note> notes{};  ///< what was guessed
};

/// The family whose parameters are in `file`, the scheme under which most of them are, and the widths that their shapes
/// tell; whatever stands before the keys, up to a dot, is the prefix. `family` and `prefix` say which one, if given.
/// `_class_name` in the metadata, as diffusers' config.json spells it, decides between families that share their keys.
/// Errors: NotFound when no parameter is there, or naming those that are missing (at most ten, then a count) and what
/// is there in their place; InvalidArgument when another known model's tensors or class are there instead, for a family
/// or prefix that there is not, for a shape that gives no width, or when two prefixes hold a whole decoder.
Result<Recognised> recognise(const formats::TensorSource& file, const std::string& family = {},
                             const std::optional<std::string>& prefix = {});

/// The widths of the encoder that `file` has beside a decoder of `widths`, under the same scheme. Errors: NotFound for
/// a file without an encoder, with its first tensor, or naming those of the tensors that are missing; InvalidArgument,
/// as recognise() for a shape. The family has an encoder.
Result<families::Widths> encoder_widths(const formats::TensorSource& file, const KeyScheme& scheme,
                                        const families::Widths& widths);

/// "FILE:PREFIX" as the file and the prefix; the whole as the file if there is a file of that name.
std::pair<std::string, std::optional<std::string>> split_prefix(std::string_view spec);

/// The same tensors without the parts of names that wrappers of modules put there: torch.compile's "_orig_mod",
/// "module" of data parallelism, those of checkpointing and of pickled modules; and with the names that diffusers gives
/// the parts of an attention since 0.17, and the convolutions beside the networks.
formats::TensorSource without_wrappers(formats::TensorSource file);

/// Whether a tensor so stored has the elements of that shape in its order: axes of 1 may be absent, and some writers of
/// gguf, which has four dimensions, merge the first two of a 3-D convolution's five.
bool is_of_shape(const tensor::Shape& stored, const tensor::Shape& wanted);

}  // namespace kinetograph::vae
