// The two files in which the authors of TAESD publish each of their autoencoders, as one file with diffusers' names.
#pragma once

#include <kinetograph/compute/formats/tensor_source.hpp>

namespace kinetograph::vae {

/// Files like taesd_decoder.safetensors and taesd_encoder.safetensors have the layers of one network, "1.weight", or as
/// ComfyUI joins the two, "taesd_decoder.1.weight". Their numbers are those of AutoencoderTiny, but that the decoder's
/// first layer, which has no parameters, counts. Other files are returned as they are. Sources: taesd.py of
/// madebyollin/taesd; DecoderTiny and EncoderTiny of diffusers.
///
/// If `beside` is given and the file is a decoder alone, whose name says so, it gets the encoder in the file of that
/// name with "encoder" in the place of "decoder", if there is one. Errors: InvalidArgument (an encoder alone); those of
/// formats::open for the other file.
Result<formats::TensorSource> with_taesd_names(formats::TensorSource file, const tensor::ReadOptions* beside = nullptr);

}  // namespace kinetograph::vae
