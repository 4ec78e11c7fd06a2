#!/usr/bin/env python3
"""Writes two files of tests/golden/data with PyTorch and diffusers.

    python3 -m pip install torch diffusers==0.42.1
    tests/golden/make_family_golden.py tests/golden/data

families.safetensors: small clips of odd sides on narrow synthetic checkpoints. FAMILY.latents [C, T, h, w] and
FAMILY.frames [3, T', H, W], float32, not clamped, of synthetic:FAMILY,dim=N with the widths below. wan21_dim1.pth: the
parameters of synthetic:wan2.1,dim=1 in bf16, as torch.save writes them.
"""
import pathlib
import re
import sys

import torch
from diffusers import AutoencoderKL, AutoencoderKLFlux2, AutoencoderKLQwenImage, AutoencoderTiny

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench/peers"))
from peer_decoders import autoencoder, diffusers_name  # noqa: E402
from tensor_files import write_safetensors  # noqa: E402
from wan21_pytorch import synthetic_tensor, synthetic_weights  # noqa: E402

CASES = {  # [family] -> width, shape of the latents [C, T, h, w]
    "wan2.2": (16, (48, 3, 1, 3)),
    "lightvae": (24, (16, 3, 3, 5)),
    "qwen-image": (16, (16, 1, 3, 5)),
    "taef1": (8, (16, 1, 3, 5)),
    "sd": (8, (4, 1, 3, 5)),
    "flux.1": (8, (16, 1, 3, 5)),
    "flux.2": (8, (32, 1, 3, 5)),
}
PICTURES = ("taef1", "sd", "flux.1", "flux.2")  # of one frame
KL_NAMES = (  # of diffusers' AutoencoderKL, and latent-diffusion's
    (r"mid_block\.resnets\.0\.", "mid.block_1."), (r"mid_block\.resnets\.1\.", "mid.block_2."),
    (r"mid_block\.attentions\.0\.", "mid.attn_1."), (r"group_norm\.", "norm."), (r"conv_norm_out", "norm_out"),
    (r"to_([qkv])\.", r"\1."), (r"to_out\.0\.", "proj_out."), (r"down_blocks\.", "down."), (r"resnets\.", "block."),
    (r"conv_shortcut\.", "nin_shortcut."), (r"(up|down)samplers\.0\.", r"\1sample."),
    (r"up_blocks\.(\d)", lambda stage: f"up.{3 - int(stage[1])}"))


def tiny(channels, dim):
    """diffusers' tiny autoencoder of pictures, both networks on parameters by the rule."""
    vae = AutoencoderTiny(latent_channels=channels, encoder_block_out_channels=(dim,) * 4,
                          decoder_block_out_channels=(dim,) * 4)
    vae.load_state_dict({name: synthetic_tensor(name, tuple(tensor.shape))
                         for name, tensor in vae.state_dict().items()})
    return vae.eval()


def original_kl_name(name):
    for pattern, original in KL_NAMES:
        name = re.sub(pattern, original, name)
    return name


def kl(channels, dim):
    """diffusers' AutoencoderKL, of 32 channels its AutoencoderKLFlux2, on parameters by the rule under their original
    names."""
    has_quantiser = channels != 16
    vae = (AutoencoderKLFlux2 if channels == 32 else AutoencoderKL)(
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
        block_out_channels=(dim, 2 * dim, 4 * dim, 4 * dim), layers_per_block=2, latent_channels=channels,
        norm_num_groups=dim, use_quant_conv=has_quantiser, use_post_quant_conv=has_quantiser)
    vae.load_state_dict({name: synthetic_tensor(original_kl_name(name), tuple(tensor.shape))
                         for name, tensor in vae.state_dict().items() if not name.startswith("bn.")}, strict=False)
    return vae.eval()


def model_of(family, dim):
    if family in PICTURES:
        return (tiny if family == "taef1" else kl)(CASES[family][1][0], dim)
    weights = synthetic_weights(f"synthetic:{'wan2.2' if family == 'wan2.2' else 'wan2.1'},dim={dim}")
    if family != "qwen-image":
        return autoencoder(weights, "cpu", torch.float32)
    vae = AutoencoderKLQwenImage(base_dim=dim)
    vae.load_state_dict({diffusers_name(name): tensor for name, tensor in weights.items()}, strict=False)
    return vae.eval()


def unclamped(decode, latents):
    """Decodes without the clamp that the model applies last."""
    clamp, torch.clamp = torch.clamp, lambda values, **_: values
    try:
        return decode(latents[None], return_dict=False)[0][0]
    finally:
        torch.clamp = clamp


def main():
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)  # one thread: sums always in the same order
    tensors = {}
    for family, (dim, shape) in CASES.items():
        latents = synthetic_tensor("latents", shape)
        model = model_of(family, dim)
        frames = (model.decode(latents[None, :, 0]).sample[0][:, None] if family in PICTURES
                  else unclamped(model.decode, latents))
        tensors |= {f"{family}.latents": latents, f"{family}.frames": frames}
        print(f"{family}: dim {dim}, {tuple(shape)} to {tuple(frames.shape)}, largest {frames.abs().max():.3f}")
    folder = pathlib.Path(sys.argv[1])
    write_safetensors(folder / "families.safetensors", tensors, {"format": "pt"})
    torch.save({name: tensor.bfloat16() for name, tensor in synthetic_weights("synthetic:wan2.1,dim=1").items()},
               folder / "wan21_dim1.pth")


if __name__ == "__main__":
    main()
