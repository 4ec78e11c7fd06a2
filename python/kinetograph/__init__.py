"""Kinetograph: video-VAE latents into frames, in real time, and frames into latents.

    decoder = kinetograph.Decoder("vae.safetensors")
    frames = decoder.decode(latents)                 # [T, height, width, 3] uint8, where the latents are
    with decoder.stream() as stream:                 # or chunk by chunk, as a generator makes them
        stream.push(chunk)
        for frame in stream.frames(): ...
    latents = kinetograph.Encoder(decoder).encode(frames)    # the other direction: [C, T, h, w] float32
"""

from . import diffusers, wan
from ._library import (Busy, Cancelled, DeviceLost, Error, InvalidArgument, Io, NotFound, OutOfMemory, Unsupported,
                       devices)
from ._info import info
from .client import AsyncClient, Client
from .decoder import Decoder
from .encoder import Encoder, EncoderStream
from .frame import Frame
from .preview import Preview
from .reencoder import Reencoder
from .state import State
from .stream import Stream
from .streaming import StreamingDecoder
from .video import Video

__version__ = "0.1.0"
__all__ = ["AsyncClient", "Busy", "Cancelled", "Client", "Decoder", "DeviceLost", "Encoder", "EncoderStream", "Error",
           "Frame", "InvalidArgument", "Io", "NotFound", "OutOfMemory", "Preview", "Reencoder", "State",
           "Stream", "StreamingDecoder", "Unsupported", "Video", "devices", "diffusers", "info", "wan"]
