"""Frames as bytes for a connection: raw, JPEG, or H.264 in fragmented MP4."""

from __future__ import annotations

import fractions
import json
from typing import Any, Protocol

import av
import numpy

from .._wire import FRAME, pack
from . import fmp4
from .frame_log import Shown
from .limits import Refused

_SAFETENSORS = {"uint8": "U8", "float16": "F16", "float32": "F32"}
_KEY_SECONDS = 2  # between the frames at which a decoder can begin


def facts_of(frame: Shown) -> dict[str, Any]:
    """What a message says of its frame; `age` is how long ago its latents arrived, in seconds."""
    return {"index": frame.index, "clip": frame.clip, "time": round(frame.time, 6), "sequence": frame.sequence,
            "stamp": frame.stamp, "age": round(frame.decoded - frame.arrived, 6)}


class Encoder(Protocol):
    def encode(self, frame: Shown) -> list[bytes | str]:
        """Messages of the next frame: binary ones, and texts in JSON."""


class Raw:
    """Safetensors [height, width, 4] of uint8 (RGBA, as the decoder stores it), or [height, width, 3] of floats."""

    def encode(self, frame: Shown) -> list[bytes | str]:
        pixels = frame.pixels
        return [pack(FRAME, _SAFETENSORS[pixels.dtype.name], pixels.shape, pixels, facts_of(frame))]


class Jpeg:
    """Safetensors of one axis: the bytes of a JPEG file."""

    def __init__(self, quality: int = 3) -> None:
        self._quality = quality  # 2, the best, to 31

    def encode(self, frame: Shown) -> list[bytes | str]:
        data = still(frame.pixels, "mjpeg", "yuvj420p", self._quality)
        return [pack(FRAME, "U8", (len(data),), data, facts_of(frame))]


class H264:
    """Packets of H.264, without delay; the first one and one every two seconds begin anew."""

    def __init__(self, width: int, height: int, fps: float, profile: str = "main") -> None:
        if width % 2 or height % 2:
            raise Refused(f"H.264 takes even sizes, and not {width} x {height}")
        self._codec: Any = av.CodecContext.create("libx264", "w")
        self._codec.width, self._codec.height, self._codec.pix_fmt = width, height, "yuv420p"
        self._codec.time_base = fractions.Fraction(1, fmp4.TIMESCALE)
        self._codec.framerate = fractions.Fraction(fps).limit_denominator(1001)
        self._codec.gop_size = max(1, round(_KEY_SECONDS * fps))
        self._codec.thread_count = 1
        self._codec.options = {"preset": "veryfast", "tune": "zerolatency", "crf": "20", "profile": profile,
                               "x264-params": "colorprim=bt709:transfer=bt709:colormatrix=bt709"}

    def encode(self, frame: Shown, at: int) -> Any:
        """The frame's packet, which is shown `at` 1/TIMESCALE s; each later than the one before."""
        picture = _picture(frame.pixels).reformat(format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG")
        picture.pts = at
        (packet,) = self._codec.encode(picture)
        return packet


class FragmentedMp4:
    """H.264, a fragment a frame. Before the first one the stream's beginning, and a text with the codec's name; before
    each fragment a text with its number and the frame's facts. The times follow each other without a gap, also where
    frames were skipped."""

    def __init__(self, width: int, height: int, fps: float) -> None:
        self._codec, self._size, self._fps = H264(width, height, fps), (width, height), fps
        self._sent = 0

    def encode(self, frame: Shown) -> list[bytes | str]:
        begin, end = (round(n * fmp4.TIMESCALE / self._fps) for n in (self._sent, self._sent + 1))
        packet = self._codec.encode(frame, begin)
        units = fmp4.units_of(bytes(packet))
        messages: list[bytes | str] = []
        if self._sent == 0:
            parameter_sets = fmp4.parameter_sets_of(units)
            messages += [json.dumps({"codec": fmp4.codec_of(parameter_sets)}),
                         fmp4.beginning(parameter_sets, *self._size)]
        messages.append(json.dumps({"number": self._sent, "start": begin / fmp4.TIMESCALE, **facts_of(frame)}))
        pictures = [unit for unit in units if unit[0] & 31 in (1, 5)]
        messages.append(fmp4.fragment(self._sent + 1, begin, end - begin, pictures, packet.is_keyframe))
        self._sent += 1
        return messages


def encoder_of(name: str, dtype: str, width: int, height: int, fps: float) -> Encoder:
    if name == "raw":
        return Raw()
    if dtype != "uint8":
        raise Refused(f"{name[:20]} takes frames of uint8, and the session's are {dtype}: they go out raw")
    if name == "jpeg":
        return Jpeg()
    if name == "h264":
        return FragmentedMp4(width, height, fps)
    raise Refused(f"frames go out as raw, jpeg or h264, and not {name[:20]}")


def still(pixels: Any, codec: str, pix_fmt: str, quality: int | None = None) -> bytes:
    """One picture in a file of its own, "mjpeg" or "png"."""
    context: Any = av.CodecContext.create(codec, "w")
    context.height, context.width = pixels.shape[:2]
    context.pix_fmt, context.time_base = pix_fmt, fractions.Fraction(1, 1)
    if quality is not None:
        context.qmin = context.qmax = quality
    picture = _picture(pixels).reformat(format=pix_fmt, dst_color_range="JPEG" if codec == "mjpeg" else None)
    return b"".join(bytes(packet) for packet in (*context.encode(picture), *context.encode(None)))


def _picture(pixels: Any) -> Any:
    if pixels.dtype != numpy.uint8:
        pixels = ((numpy.clip(pixels.astype("float32"), -1, 1) + 1) * 127.5 + 0.5).astype("uint8")
    return av.VideoFrame.from_ndarray(numpy.ascontiguousarray(pixels), "rgba" if pixels.shape[2] == 4 else "rgb24")
