#!/usr/bin/env python3
"""Writes encoders.safetensors and wan21_diffusers_dim1.safetensors with PyTorch and diffusers.

    python3 -m pip install torch diffusers==0.42.1
    tests/golden/make_encoder_golden.py tests/golden/data

FAMILY.pictures [3, T, H, W] and FAMILY.moments [2 z_dim, T', h, w], float32: mean and logarithm of the variance as
diffusers' encoder makes them of a small clip, on parameters by the rule of the README, under their original names.
Qwen-Image's encoder makes the same bits of them as Wan 2.1's, which is asserted. The second file is an
AutoencoderKLWan of width 1 in bf16 as its save_pretrained() writes it, with parameters by the same rule.
"""
import pathlib
import re
import shutil
import sys
import tempfile

import torch
from diffusers import AutoencoderKLQwenImage, AutoencoderKLWan

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench/peers"))
from peer_decoders import diffusers_name  # noqa: E402
from tensor_files import write_safetensors  # noqa: E402
from wan21_pytorch import synthetic_tensor, synthetic_weights  # noqa: E402

DIM, PICTURES = 8, (3, 9, 24, 40)
ORIGINAL = (  # of diffusers' names; the first that matches
    (r"^quant_conv\.", "conv1."),
    (r"^encoder\.conv_in\.", "encoder.conv1."),
    (r"^encoder\.conv_out\.", "encoder.head.2."),
    (r"^encoder\.norm_out\.", "encoder.head.0."),
    (r"^encoder\.mid_block\.resnets\.0\.", "encoder.middle.0."),
    (r"^encoder\.mid_block\.resnets\.1\.", "encoder.middle.2."),
    (r"^encoder\.mid_block\.attentions\.0\.", "encoder.middle.1."),
    (r"^encoder\.down_blocks\.", "encoder.downsamples."),
)
IN_RESIDUAL_BLOCK = (("norm1", "residual.0"), ("conv1", "residual.2"), ("norm2", "residual.3"), ("conv2", "residual.6"),
                     ("conv_shortcut", "shortcut"))


def original_name(name):
    for pattern, original in ORIGINAL:
        renamed, count = re.subn(pattern, original, name)
        if count == 0:
            continue
        for module, in_original in IN_RESIDUAL_BLOCK:
            renamed = re.sub(rf"(downsamples\.\d+|middle\.\d)\.{module}\.", rf"\1.{in_original}.", renamed)
        return renamed
    raise ValueError(f"{name}: no part of an encoder")


def with_encoder(vae):
    shapes = {name: tuple(tensor.shape) for name, tensor in vae.state_dict().items()}
    weights = {name: synthetic_tensor(original_name(name), shape)
               for name, shape in shapes.items() if not name.startswith(("decoder.", "post_quant_conv."))}
    vae.load_state_dict(weights, strict=False)
    return vae


def moments_by(vae, pictures):
    return with_encoder(vae).eval().encode(pictures[None]).latent_dist.parameters[0].contiguous()


def write_by_diffusers(path):
    vae = with_encoder(AutoencoderKLWan(base_dim=1))
    decoder = {diffusers_name(name): tensor for name, tensor in synthetic_weights("synthetic:wan2.1,dim=1").items()}
    vae.load_state_dict(decoder, strict=False)
    with tempfile.TemporaryDirectory() as folder:
        vae.bfloat16().save_pretrained(folder)
        shutil.copy(pathlib.Path(folder) / "diffusion_pytorch_model.safetensors", path)


def main():
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)  # one thread: sums always in the same order
    pictures = synthetic_tensor("latents", PICTURES) / 1.7
    moments = moments_by(AutoencoderKLWan(base_dim=DIM), pictures)
    assert torch.equal(moments, moments_by(AutoencoderKLQwenImage(base_dim=DIM), pictures))
    print(f"{tuple(moments.shape)}, largest {moments.abs().max():.3f}")
    folder = pathlib.Path(sys.argv[1])
    write_safetensors(folder / "encoders.safetensors", {"wan2.1.pictures": pictures, "wan2.1.moments": moments},
                      {"format": "pt"})
    write_by_diffusers(folder / "wan21_diffusers_dim1.safetensors")


if __name__ == "__main__":
    main()
