"""Drop-in for diffusers' AutoencoderKL, AutoencoderKLFlux2, AutoencoderKLWan and AutoencoderKLQwenImage: their decode()
and encode(), by Kinetograph."""

from __future__ import annotations

from typing import Any, Callable

from ._library import InvalidArgument
from ._replacement import Replacement, offload_previous

_PARTS = ("decoder", "post_quant_conv")
_ENCODER_PARTS = ("encoder", "quant_conv")
_STATISTICS = "bn"  # of FLUX.2's latents, which its pipelines go on reading themselves
_UNCLAMPED = ("AutoencoderKL", "AutoencoderKLFlux2")  # whose frames are not limited to [-1, 1]


def replace_vae(pipe: Any, *, precision: str | None = None) -> Replacement:
    """Makes ``pipe.vae`` decode with Kinetograph, on the VAE's device, or on the GPU that its latents are on; and
    encode, where the device has the convolutions.

    `pipe` is a pipeline, or a VAE itself, also of a subclass, in a wrapper or compiled by torch.compile(). Its
    configuration and the pipeline's latent statistics stay as they are; decode() takes what it took and gives a
    DecoderOutput, or a tuple with return_dict=False, and encode() a distribution, as before. In an offloaded pipeline
    they first move the previous model off the GPU, as the VAE's own do. `precision` is that of Decoder; by default the
    VAE's on the CPU, bf16 or fp16 on a GPU. restore() of the result undoes the replacement.
    """
    from diffusers.models.autoencoders.vae import DecoderOutput

    vae = _vae_in(getattr(pipe, "vae", pipe))
    parts = {name for name, _ in vae.named_children()}
    has_encoder = _ENCODER_PARTS[0] in parts and hasattr(vae, _ENCODER_PARTS[1])
    prefixes = tuple(f"{part}." for part in (*_PARTS, _STATISTICS, *(_ENCODER_PARTS if has_encoder else ())))
    metadata = _metadata(vae)
    made = Replacement(vae, prefixes, metadata, precision, clamp=metadata.get("_class_name") not in _UNCLAMPED)

    def decode(z: Any, return_dict: bool = True, generator: Any = None) -> Any:
        import torch

        offload_previous(vae)
        sample = torch.stack([_of_frames(made.clip, each) for each in z]).to(z.dtype)
        return DecoderOutput(sample=sample) if return_dict else (sample,)

    # A subclass may have a decode() around diffusers' own, which does its part by _decode().
    base = _class_of(vae)
    around = base is not None and type(vae).decode is not base.decode
    made.patch(vae, "_decode" if around else "decode", decode)
    if has_encoder and made.encodes:
        made.patch(vae, *_encode(vae, base, made))
    return made


def _encode(vae: Any, base: Any, made: Replacement) -> tuple[str, Any]:
    """The method that makes moments, under an encode() that slices batches and wraps; of a module that only has the
    structure, encode() itself."""

    def moments(pictures: Any) -> Any:
        import torch

        offload_previous(vae)
        return torch.stack([_of_frames(made.moments, each) for each in pictures]).to(pictures.dtype)

    if base is not None and hasattr(vae, "_encode"):
        return "_encode", moments

    def encode(x: Any, return_dict: bool = True) -> Any:
        from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution
        from diffusers.models.modeling_outputs import AutoencoderKLOutput

        posterior = DiagonalGaussianDistribution(moments(x))
        return AutoencoderKLOutput(latent_dist=posterior) if return_dict else (posterior,)
    return "encode", encode


def _of_frames(function: Callable[[Any], Any], given: Any) -> Any:
    """Of a clip [C, T, h, w], or of a picture [C, h, w] as of a clip of one frame."""
    return function(given) if given.ndim == 4 else function(given[:, None])[:, 0]


def _vae_in(given: Any) -> Any:
    """The module with the parts of a VAE: the one that is given, or the one within it. A VAE of pictures may have None
    for the convolution before its decoder."""
    roots = [given] if hasattr(given, "modules") else vars(given).values()
    modules = [module for root in roots if hasattr(root, "modules") for module in root.modules()]
    found = []
    for module in modules:
        parts = {name for name, _ in module.named_children()}
        if _PARTS[0] in parts and (_PARTS[1] in parts or hasattr(module, _PARTS[1])):
            found.append(module)
    if len(found) != 1:
        raise InvalidArgument(f"a {type(given).__name__} has {len(found) or 'no'} module{'s' * (len(found) > 1)} with "
                              f"a {' and a '.join(_PARTS)}: replace_vae() takes a pipeline or VAE with one")
    return found[0]


def _class_of(vae: Any) -> Any:
    """diffusers' own class that the module is of, or derived from; None for a module that only has the structure."""
    return next((kind for kind in type(vae).__mro__ if kind.__module__.startswith("diffusers.")
                 and any(base.__name__ == "ModelMixin" for base in kind.__mro__[1:])), None)


def _metadata(vae: Any) -> dict[str, str]:
    """The module's class as config.json states it: diffusers' own, else the one that its configuration names.

    Qwen-Image's is left to the structure, which is that of Wan 2.1: a checkpoint of that class decodes one latent
    frame, the module any number.
    """
    base = _class_of(vae)
    name = base.__name__ if base is not None else dict(getattr(vae, "config", {})).get("_class_name")
    return {} if name in (None, "AutoencoderKLQwenImage") else {"_class_name": name}
