#!/usr/bin/env python3
"""Writes encoders.safetensors and wan21_diffusers_dim1.safetensors with PyTorch and diffusers.

    python3 -m pip install torch diffusers==0.42.1
    tests/golden/make_encoder_golden.py tests/golden/data

FAMILY.pictures [3, T, H, W] and FAMILY.moments [2 z_dim, T', h, w], float32: mean and logarithm of the variance as
diffusers' encoder makes them of a small clip, on parameters by the rule of the README, under their original names.
Qwen-Image's encoder makes the same bits of them as Wan 2.1's, which is asserted. Of the others the pictures are not
stored: `latents` of LARGER by the rule, divided by 1.7, of which TAEF1 and AutoencoderKL take the first. The encoders
of TAEHV and TAEF1 make latents alone; TAEHV's is an implementation of its own of what madebyollin/taehv publishes. The
second file is an AutoencoderKLWan of width 1 in bf16 as its save_pretrained() writes it, with parameters by the same
rule.
"""
import pathlib
import re
import shutil
import sys
import tempfile

import torch
import torch.nn.functional as F
from diffusers import AutoencoderKLQwenImage, AutoencoderKLWan

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench/peers"))
import make_taehv_golden as taehv  # noqa: E402
from make_family_golden import kl, tiny  # noqa: E402
from peer_decoders import diffusers_name  # noqa: E402
from tensor_files import write_safetensors  # noqa: E402
from wan21_pytorch import synthetic_tensor, synthetic_weights  # noqa: E402

DIM, PICTURES, LARGER = 8, (3, 9, 24, 40), (3, 9, 32, 48)
ORIGINAL = (  # of diffusers' names; the first that matches
    (r"^quant_conv\.", "conv1."),
    (r"^encoder\.conv_in\.", "encoder.conv1."),
    (r"^encoder\.conv_out\.", "encoder.head.2."),
    (r"^encoder\.norm_out\.", "encoder.head.0."),
    (r"^encoder\.mid_block\.resnets\.0\.", "encoder.middle.0."),
    (r"^encoder\.mid_block\.resnets\.1\.", "encoder.middle.2."),
    (r"^encoder\.mid_block\.attentions\.0\.", "encoder.middle.1."),
    (r"^encoder\.down_blocks\.(\d)\.resnets\.", r"encoder.downsamples.\1.downsamples."),  # Wan 2.2
    (r"^encoder\.down_blocks\.(\d)\.downsampler\.", r"encoder.downsamples.\1.downsamples.2."),
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


def wan22():
    return AutoencoderKLWan(base_dim=DIM, decoder_base_dim=DIM, z_dim=48, is_residual=True, in_channels=12,
                            out_channels=12, patch_size=2, scale_factor_spatial=16, latents_mean=[0.0] * 48,
                            latents_std=[1.0] * 48)


def taehv_latents(pictures, patch, channels):
    """Of pictures [3, T, H, W] in [-1, 1], one frame after the other; the last ones are repeated to a whole group."""
    frames = list(((pictures + 1) / 2).unbind(1))
    frames += frames[-1:] * (-len(frames) % 4)
    frames = [F.pixel_unshuffle(frame, patch) for frame in frames]
    frames = [F.relu(taehv.conv("encoder.0", frame, DIM)) for frame in frames]
    index = 2
    for together in (2, 2, 1):
        groups = [torch.cat(frames[i:i + together]) for i in range(0, len(frames), together)]
        frames = [taehv.conv(f"encoder.{index}.conv", group, DIM, taps=1, bias=False) for group in groups]
        weight = taehv.parameter(f"encoder.{index + 1}.weight", DIM, DIM, 3, 3)
        frames = [F.conv2d(frame[None], weight, padding=1, stride=2)[0] for frame in frames]
        for block in range(index + 2, index + 5):
            memory = taehv.Memory(f"encoder.{block}", F.relu)
            frames = [memory(frame)[0] for frame in frames]
        index += 5
    return torch.stack([taehv.conv(f"encoder.{index}", frame, channels) for frame in frames], 1)


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
    larger = synthetic_tensor("latents", LARGER) / 1.7
    tensors = {"wan2.1.pictures": pictures, "wan2.1.moments": moments, "wan2.2.moments": moments_by(wan22(), larger)}
    for name, (patch, channels) in {"taew2.1": (1, 16), "taew2.2": (2, 48)}.items():
        tensors[f"{name}.moments"] = taehv_latents(larger, patch, channels)
    tensors["taef1.moments"] = tiny(16, DIM).encode(larger[None, :, 0]).latents[0][:, None].contiguous()
    for name, channels in {"sd": 4, "flux.1": 16, "flux.2": 32}.items():
        moments = kl(channels, DIM).encode(larger[None, :, 0]).latent_dist.parameters[0]
        tensors[f"{name}.moments"] = moments[:, None].contiguous()
    for name, tensor in tensors.items():
        print(f"{name}: {tuple(tensor.shape)}, largest {tensor.abs().max():.3f}")
    folder = pathlib.Path(sys.argv[1])
    write_safetensors(folder / "encoders.safetensors", tensors, {"format": "pt"})
    write_by_diffusers(folder / "wan21_diffusers_dim1.safetensors")


if __name__ == "__main__":
    main()
