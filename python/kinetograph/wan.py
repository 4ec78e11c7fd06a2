"""Drop-in for the reference WanVAE (wan.modules.vae), Wan 2.2's Wan2_2_VAE, and for wrappers that decode chunk by chunk
(Self-Forcing)."""

from __future__ import annotations

from typing import Any

from ._library import InvalidArgument
from ._replacement import Replacement, uncompiled


def replace_vae(vae: Any, *, precision: str | None = None) -> Replacement:
    """Makes a WanVAE, a Wan2_2_VAE, or a wrapper with decode_to_pixel(), decode with Kinetograph.

    They hold the network as ``vae.model`` and its latent statistics as ``vae.mean`` and ``vae.std``, or as
    ``vae.scale``, the mean and the inverse of the standard deviation; these are still applied.
    ``decode(zs)`` takes a list of [C, T, h, w] and gives a list of [3, frames, height, width].
    ``decode_to_pixel(latent, use_cache)`` takes [B, T, C, h, w] and gives [B, frames, 3, height, width]; with use_cache
    it continues where the previous call ended, until ``vae.model.clear_cache()``. Where the library has the network's
    encoder (Wan 2.1), ``encode(videos)``, a list of [3, frames, height, width] to a list of [C, T, h, w], or
    ``encode_to_latent(pixel)``, [B, 3, frames, height, width] to [B, T, C, h, w], are replaced too. restore() of the
    result undoes the replacement.
    """
    import torch

    network = uncompiled(vae.model)
    _statistics(vae)  # checked now, not with the first clip
    made = Replacement(network, ("decoder.", "conv2.", "encoder.", "conv1."), {}, precision)

    def raw(latents: Any) -> Any:
        """[C, T, h, w] as the network takes them."""
        mean, std = (values.to(latents.device).view(-1, 1, 1, 1) for values in _statistics(vae))
        return latents.float() * std + mean

    def decode(zs: Any) -> list[Any]:
        return [made.clip(raw(z)) for z in zs]

    def decode_to_pixel(latent: Any, use_cache: bool = False) -> Any:
        clips = latent.permute(0, 2, 1, 3, 4)
        if use_cache and len(clips) != 1:
            raise ValueError(f"use_cache keeps the state of one clip, and there are {len(clips)}")
        videos = [made.chunk(raw(clip)) if use_cache else made.clip(raw(clip)) for clip in clips]
        return torch.stack(videos).permute(0, 2, 1, 3, 4)

    def mean_of(pictures: Any) -> Any:
        """The normalised latents of [3, frames, height, width]."""
        means = made.moments(pictures).chunk(2)[0]
        mean, std = (values.to(means.device).view(-1, 1, 1, 1) for values in _statistics(vae))
        return ((means - mean) / std).float()

    def encode(videos: Any) -> list[Any]:
        return [mean_of(video) for video in videos]

    def encode_to_latent(pixel: Any) -> Any:
        return torch.stack(encode(pixel)).permute(0, 2, 1, 3, 4)

    clear = network.clear_cache

    def clear_cache() -> None:
        made.reset()
        clear()

    if hasattr(vae, "decode_to_pixel"):
        made.patch(vae, "decode_to_pixel", decode_to_pixel)
    else:
        made.patch(vae, "decode", decode)
    made.patch(network, "clear_cache", clear_cache)
    for name, function in (("encode_to_latent", encode_to_latent), ("encode", encode)):
        if made.encodes and hasattr(vae, name):
            made.patch(vae, name, function)
            break
    return made


def _statistics(vae: Any) -> tuple[Any, Any]:
    """Mean and standard deviation of each channel of latents."""
    if hasattr(vae, "mean") and hasattr(vae, "std"):
        return vae.mean, vae.std
    if hasattr(vae, "scale"):
        mean, inverse = vae.scale
        return mean, 1.0 / inverse
    raise InvalidArgument(f"a {type(vae).__name__} has neither mean and std nor scale: the statistics of its latents")
