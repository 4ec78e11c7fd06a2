"""Three nodes: a decoder, the frames that it makes of latents, and a video of them in the node itself."""

import os
import pathlib

import comfy.latent_formats
import comfy.model_management
import comfy.utils
import folder_paths
import torch

import kinetograph
from kinetograph.decoder import family_of
from kinetograph.video import preferred_suffix

DECODER = "KINETOGRAPH_DECODER"  # the type of a link between nodes

_FOLDERS = ("vae", "vae_approx")  # ComfyUI's names for where checkpoints of VAEs are

# ComfyUI's latents are what a VAE takes. These families decode what the diffusion model made, to which a format of
# ComfyUI leads back.
_FORMATS = {"taew2.1": "Wan21", "taew2.2": "Wan22", "taehv": "HunyuanVideo", "taehv1.5": "HunyuanVideo15"}


class _Decoder:
    """What goes over a link of the type DECODER."""

    def __init__(self, path, device, precision):
        name = _FORMATS.get(family_of(path))
        self._format = None if name is None else getattr(comfy.latent_formats, name)()
        self._decoder = _with_room(lambda: kinetograph.Decoder(path, device=device, precision=precision,
                                                               normalized=False))

    def clips(self, samples, dtype):
        """The frames [T, height, width, 3] of each item of a batch. Ends when the user stops the workflow."""
        latents = samples["samples"]
        if getattr(latents, "is_nested", False) or latents.ndim not in (4, 5):
            raise ValueError(f"latents {list(latents.shape)}: Kinetograph decodes [batch, channels, frames, height, "
                             "width], or pictures [batch, channels, height, width]")
        latents = (latents if latents.ndim == 5 else latents.unsqueeze(2)).cpu()
        if self._format is not None:
            latents = self._format.process_in(latents)
        progress = comfy.utils.ProgressBar(latents.shape[0] * latents.shape[2])

        def step(_first, _frames):
            comfy.model_management.throw_exception_if_processing_interrupted()
            progress.update(1)

        return [_with_room(lambda: self._decoder.decode(clip, dtype=dtype, on_frames=step)) for clip in latents]


def _with_room(function):
    """What the function gives; once more without ComfyUI's models on the GPU if there is no memory for it."""
    try:
        return function()
    except kinetograph.OutOfMemory:
        comfy.model_management.unload_all_models()
        comfy.model_management.soft_empty_cache()
        return function()


class Load:
    DESCRIPTION = "Opens the decoder of a video VAE (Wan 2.1 and 2.2, Qwen-Image, LightVAE, TAEHV) with Kinetograph."
    CATEGORY = "kinetograph"
    RETURN_TYPES, RETURN_NAMES, FUNCTION = (DECODER,), ("decoder",), "load"

    @classmethod
    def INPUT_TYPES(cls):
        names = sorted({name for folder in _FOLDERS for name in folder_paths.get_filename_list(folder)})
        devices = ["auto", *(device["name"] for device in kinetograph.devices() if device["available"])]
        return {"required": {"weights": (names, {"tooltip": "A checkpoint in models/vae or models/vae_approx."}),
                             "device": (devices, {"default": "auto"}),
                             "precision": (["bf16", "fp16", "fp32"], {"default": "bf16"})}}

    @classmethod
    def IS_CHANGED(cls, weights, **_):
        return os.stat(_path_of(weights)).st_mtime_ns

    def load(self, weights, device, precision):
        return (_Decoder(_path_of(weights), device, precision),)


def _path_of(weights):
    for folder in _FOLDERS:
        path = folder_paths.get_full_path(folder, weights)
        if path is not None:
            return path
    raise FileNotFoundError(f"{weights}: in none of ComfyUI's folders {' and '.join(_FOLDERS)}")


class Decode:
    DESCRIPTION = "Decodes latents into frames, the clips of a batch one after another."
    CATEGORY = "kinetograph"
    RETURN_TYPES, FUNCTION = ("IMAGE",), "decode"

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {"samples": ("LATENT",), "decoder": (DECODER,)}}

    def decode(self, samples, decoder):
        frames = torch.cat(decoder.clips(samples, "float32"))
        return (frames.add_(1).div_(2).to(comfy.model_management.intermediate_device()),)


class Preview:
    DESCRIPTION = "Decodes latents and plays them in the node; with a tiny decoder (TAEW, TAEHV) in a moment."
    CATEGORY = "kinetograph"
    RETURN_TYPES, FUNCTION, OUTPUT_NODE = (), "preview", True

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {"samples": ("LATENT",), "decoder": (DECODER,),
                             "fps": ("FLOAT", {"default": 16.0, "min": 1.0, "max": 120.0, "step": 1.0,
                                               "tooltip": "16 for Wan 2.1 and the 14B models of 2.2, 24 for the 5B "
                                                          "model of 2.2."})}}

    def preview(self, samples, decoder, fps):
        video = kinetograph.Video(torch.cat(decoder.clips(samples, "uint8")), fps)
        folder, name, counter, subfolder, _ = folder_paths.get_save_image_path(
            "kinetograph", folder_paths.get_temp_directory(), video.width, video.height)
        suffix = preferred_suffix() if len(video) > 1 else ".png"
        path = video.save(pathlib.Path(folder) / f"{name}_{counter:05}_{suffix}")
        shown = {"filename": path.name, "subfolder": subfolder, "type": "temp"}
        return {"ui": {"images": [shown], "animated": (len(video) > 1,)}}


NODE_CLASS_MAPPINGS = {"KinetographLoad": Load, "KinetographDecode": Decode, "KinetographPreview": Preview}
NODE_DISPLAY_NAME_MAPPINGS = {"KinetographLoad": "Load Decoder (Kinetograph)",
                              "KinetographDecode": "Decode Latents (Kinetograph)",
                              "KinetographPreview": "Preview Latents (Kinetograph)"}
