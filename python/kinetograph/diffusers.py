"""Drop-in for diffusers' AutoencoderKLWan and AutoencoderKLQwenImage: their decode(), by Kinetograph."""

from __future__ import annotations

from typing import Any

from ._replacement import Replacement, offload_previous


def replace_vae(pipe: Any, *, precision: str | None = None) -> Replacement:
    """Makes ``pipe.vae`` decode with Kinetograph, on the VAE's device, or on the GPU that its latents are on.

    `pipe` is a pipeline, or a VAE itself. Encoding, configuration and the pipeline's latent statistics stay as they
    are; decode() takes what it took and gives a DecoderOutput, or a tuple with return_dict=False. In an offloaded
    pipeline it first moves the previous model off the GPU, as the VAE's own decode() does. `precision` is that of
    Decoder; by default the VAE's on the CPU, bf16 or fp16 on a GPU. restore() of the result undoes the replacement.
    """
    from diffusers.models.autoencoders.vae import DecoderOutput

    vae = getattr(pipe, "vae", pipe)
    made = Replacement(vae, ("decoder.", "post_quant_conv."), {"_class_name": type(vae).__name__}, precision)

    def decode(z: Any, return_dict: bool = True) -> Any:
        import torch

        offload_previous(vae)
        sample = torch.stack([made.clip(clip) for clip in z]).to(z.dtype)
        return DecoderOutput(sample=sample) if return_dict else (sample,)

    made.patch(vae, "decode", decode)
    return made
