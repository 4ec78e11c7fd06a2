// Calibration: the numbers of a checkpoint's byte layers (nn::ByteLayer), found by decoding clips and kept in the
// checkpoint's file.
//
//   metadata  kinetograph.int8          "1": the version of this format
//             kinetograph.int8.recipe   nn::ByteRecipe's name
//             kinetograph.int8.filters  XXH3-64 of the layers' filters as float32, of which the numbers are
//             kinetograph.int8.*        what was measured: "psnr", "psnr.worst", "ssim", each of "clips"; "psnr.MODULE"
//                                       of a module's outputs
//   tensors   KEY.int8.input            F32 [2]: scale and zero point of the layer's input
//             KEY.int8.folds            F32 [c_in]
//             KEY.int8.steps            F32 [k]
#pragma once

#include <kinetograph/compute/vae/checkpoint.hpp>
#include <kinetograph/compute/vae/latents.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <span>

namespace kinetograph::vae {

struct Calibration {
    std::string recipe{};
    std::uint64_t filters = 0;  ///< hash
    std::vector<nn::ByteLayer> layers{};
    std::map<std::string, std::string> measured{};  ///< by what follows "kinetograph.int8."
};

/// The family's recipe of that name; of an empty name the default. Errors: Unsupported (the family has none, naming
/// those that do); InvalidArgument (no recipe has that name; the sentence lists them).
Result<const nn::ByteRecipe*> find_byte_recipe(const families::Family& family, std::string_view name);

/// Decodes the clips in bf16 on the device and takes the largest value of every channel of each layer's input. Errors:
/// Unsupported (the recipe fits no layer), those of Model, Clip and Runner; Cancelled.
Result<Calibration> calibrate(accel::Device& device, const Checkpoint& checkpoint, const nn::ByteRecipe& recipe,
                              std::span<const Latents> clips, const CallLimits& limits = {});

/// Latents for want of a clip: three latent frames of 12 x 16, half of each value the same in blocks of 4 x 4.
Latents synthetic_clip(const Checkpoint& checkpoint);

/// What the checkpoint's file holds. Errors: Unsupported (another version); InvalidArgument (the numbers of other
/// filters); Corrupt (a tensor is missing, or its shape or values make no sense).
Result<std::optional<Calibration>> read_calibration(const Checkpoint& checkpoint);

/// A checkpoint with the calibration in it: the decoder's tensors, lossless, under their original names, with the
/// metadata of the file that they come from. Errors: those of tensor::write_safetensors.
Result<void> write_calibrated(const std::filesystem::path& path, const Checkpoint& checkpoint,
                              const Calibration& calibration);

}  // namespace kinetograph::vae
