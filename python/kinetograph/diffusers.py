"""Drop-in for diffusers' AutoencoderKLWan and AutoencoderKLQwenImage: their decode(), by Kinetograph."""

from __future__ import annotations

from typing import Any

from ._replacement import Replacement


def replace_vae(pipe: Any, *, precision: str | None = None) -> Replacement:
    """Makes ``pipe.vae`` decode with Kinetograph, on the device that the VAE is on.

    `pipe` is a pipeline, or a VAE itself. Encoding, configuration and the pipeline's latent statistics stay as they are;
    decode() takes what it took and gives a DecoderOutput, or a tuple with return_dict=False. `precision` is that of Decoder;
    by default the VAE's on the CPU, bf16 or fp16 on a GPU. The result has restore().
    """
    from diffusers.models.autoencoders.vae import DecoderOutput

    vae = getattr(pipe, "vae", pipe)
    weights = {name: tensor for name, tensor in vae.state_dict().items()
               if name.startswith(("decoder.", "post_quant_conv."))}
    made = Replacement(vae, weights, {"_class_name": type(vae).__name__}, precision)

    def decode(z: Any, return_dict: bool = True) -> Any:
        import torch

        sample = torch.stack([made.clip(clip) for clip in z]).to(z.dtype)
        return DecoderOutput(sample=sample) if return_dict else (sample,)

    made.patch(vae, "decode", decode)
    return made
