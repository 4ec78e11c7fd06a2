"""Frames as a video: in a notebook, or in a file. By ffmpeg an MP4, without it an animated PNG."""

from __future__ import annotations

import base64
import contextlib
import fractions
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import zlib
from typing import Any, Iterable, Iterator

import numpy

from ._latents import device_of, is_cupy, is_jax, is_torch
from ._library import InvalidArgument


class Video:
    """Plays inline in Jupyter; save() writes it.

    frames  [T, height, width, 3] uint8 as Decoder.decode() gives them (torch, CuPy, JAX or NumPy, any device), or such
            frames one after another, as Stream.frames() does; they are copied
    fps     frames a second, up to 1000
    """

    def __init__(self, frames: Any, fps: float = 24.0) -> None:
        if not 0 < fps <= 1000:
            raise InvalidArgument(f"{fps} frames a second: there are up to 1000")
        self.fps = fps
        self._frames = [_picture(frame) for frame in (_on_host(frames) if hasattr(frames, "shape") else frames)]
        if not self._frames or any(frame.shape != self._frames[0].shape for frame in self._frames):
            shapes = sorted({frame.shape for frame in self._frames})
            raise InvalidArgument(f"a video has frames of one size, and these have {shapes}")

    @property
    def width(self) -> int:
        return int(self._frames[0].shape[1])

    @property
    def height(self) -> int:
        return int(self._frames[0].shape[0])

    def __len__(self) -> int:
        return len(self._frames)

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes an .mp4, which needs ffmpeg, or an animated .png. Returns the path."""
        path = pathlib.Path(path)
        save(path, self._frames, self.width, self.height, self.fps)
        return path

    def _repr_html_(self) -> str:
        suffix = preferred_suffix()
        with tempfile.TemporaryDirectory() as folder:
            data = base64.b64encode(self.save(pathlib.Path(folder) / f"video{suffix}").read_bytes()).decode()
        size = f'width="{self.width}" height="{self.height}"'
        if suffix == ".mp4":
            return f'<video controls autoplay loop muted {size} src="data:video/mp4;base64,{data}"></video>'
        return f'<img {size} src="data:image/png;base64,{data}">'

    def __repr__(self) -> str:
        return f"<kinetograph.Video: {len(self)} frames of {self.width} x {self.height}, {self.fps:g} a second>"


def preferred_suffix() -> str:
    """The suffix of the videos that this machine can write."""
    return ".mp4" if shutil.which("ffmpeg") else ".png"


def save(path: pathlib.Path, frames: Iterable[Any], width: int, height: int, fps: float) -> int:
    """Writes frames [height, width, 3] uint8, one after another; returns how many there were. If an error ends them, no
    file is written, and one that was there before stays."""
    count = 0

    def rows() -> Iterator[bytes]:
        nonlocal count
        for frame in frames:
            count += 1
            yield _picture(frame).tobytes()

    if path.suffix == ".mp4":
        _write_mp4(path, rows(), width, height, fps)
    elif path.suffix == ".png":
        _write_png(path, rows(), width, height, fps)
    else:
        raise InvalidArgument(f"{path}: videos are written as .mp4 and as animated .png")
    return count


def _on_host(array: Any) -> Any:
    if is_torch(array):
        return array.detach().cpu().numpy()
    if is_cupy(array):
        return array.get()
    if is_jax(array):
        return numpy.asarray(array)
    return array


def _picture(frame: Any) -> Any:
    """A copy without gaps, because the frame's memory is reused."""
    copied = is_torch(frame) or is_cupy(frame) or is_jax(frame)
    if not copied and hasattr(frame, "__dlpack_device__") and device_of(frame)[0] != "cpu":
        raise InvalidArgument("frames of a stream on a GPU are copied to the host first: stream(device=\"cpu\")")
    array = numpy.array(_on_host(frame))
    if array.dtype != numpy.uint8 or array.ndim != 3 or array.shape[2] != 3:
        raise InvalidArgument(f"frames are {list(array.shape)} of {array.dtype}: a video takes [height, width, 3] of "
                              "uint8")
    return numpy.ascontiguousarray(array)


def _write_mp4(path: pathlib.Path, rows: Iterable[bytes], width: int, height: int, fps: float) -> None:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise InvalidArgument(f"{path}: there is no ffmpeg here; an animated .png needs none")
    partial = path.with_name(f".{path.stem}.{os.getpid()}.partial.mp4")
    command = [ffmpeg, "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r",
               str(fps), "-i", "-", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(partial)]
    try:
        _encode(command, rows, path)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _encode(command: list[str], rows: Iterable[bytes], path: pathlib.Path) -> None:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as encoder:
        assert encoder.stdin is not None and encoder.stderr is not None
        try:
            for row in rows:
                encoder.stdin.write(row)
            encoder.stdin.close()
        except BrokenPipeError:
            pass  # its message says why
        except BaseException:  # from the frames: otherwise the encoder would finish a file without the rest
            encoder.kill()
            with contextlib.suppress(BrokenPipeError):  # of what is still buffered
                encoder.stdin.close()
            raise
        message = encoder.stderr.read().decode(errors="replace").strip()
    if encoder.returncode != 0:
        raise InvalidArgument(f"{path}: ffmpeg failed with {encoder.returncode}: {message}")


def _seconds_of_a_frame(fps: float) -> tuple[int, int]:
    """The duration of a frame as a fraction of two 16-bit numbers."""
    largest = 0xFFFF
    if fps >= 1:
        seconds = (1 / fractions.Fraction(fps)).limit_denominator(largest)
        return seconds.numerator, seconds.denominator
    rate = fractions.Fraction(max(fps, 1 / largest)).limit_denominator(largest)
    return rate.denominator, rate.numerator


def _write_png(path: pathlib.Path, rows: Iterable[bytes], width: int, height: int, fps: float) -> None:
    """Source: Portable Network Graphics (PNG) Specification, third edition, 11.3.7 "APNG: animation"."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    parts, sequence = [], 0
    for data in rows:
        picture = numpy.frombuffer(data, "uint8").reshape(height, width * 3)
        filtered = numpy.full((height, 1 + width * 3), 2, "uint8")  # each row less the one above
        filtered[0, 1:] = picture[0]
        numpy.subtract(picture[1:], picture[:-1], out=filtered[1:, 1:])
        control = struct.pack(">5I2H2B", sequence, width, height, 0, 0, *_seconds_of_a_frame(fps), 0, 0)
        packed = zlib.compress(filtered.tobytes(), 1)
        parts.append(chunk(b"fcTL", control))
        parts.append(chunk(b"IDAT", packed) if sequence == 0
                     else chunk(b"fdAT", struct.pack(">I", sequence + 1) + packed))
        sequence += 1 if sequence == 0 else 2
    header = chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0))
    animation = chunk(b"acTL", struct.pack(">2I", len(parts) // 2, 0))
    partial = path.with_name(f".{path.stem}.{os.getpid()}.partial.png")
    try:
        partial.write_bytes(b"\x89PNG\r\n\x1a\n" + header + animation + b"".join(parts) + chunk(b"IEND", b""))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
