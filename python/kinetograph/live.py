"""Writes live latents to a pipe or a Unix socket, in the format that docs/live.md describes.

Needs nothing but the standard library. Latents are anything in host memory with the buffer protocol (NumPy arrays) and
torch tensors of any device, in float32, float16 or bfloat16.
"""
from __future__ import annotations

import ctypes
import math
import socket
import struct
import sys
from typing import Any, BinaryIO

VERSION = 1
FAMILY = "wan2.1"  # where none is stated
MOST_FRAMES_OF_A_CHUNK = 256
LARGEST_SIDE = 1024
LONGEST_SENTENCE = 4096
STALL_SECONDS = 30.0  # beyond the timeout; a chunk with room that is not read by then is given up
DTYPES = {"float32": (1, 4), "float16": (2, 2), "bfloat16": (3, 2)}  # number in the format, bytes of a value

_RECORD = struct.Struct("<4sIQ")             # tag, bytes of the payload, number
_START = struct.Struct("<5I20sd64s")         # version, channels, height, width, dtype, family, fps, name


def bytes_of(shape: tuple[int, ...], dtype: str) -> int:
    return math.prod(shape) * DTYPES[dtype][1]


class Refused(ConnectionError):
    """The viewer takes no more from this connection; the text is its sentence."""


def four(shape: Any) -> tuple[int, int, int, int]:
    """The shape as [C, T, h, w], given that, [1, C, T, h, w], or one frame [C, h, w]."""
    found = tuple(int(side) for side in shape)
    if len(found) == 5 and found[0] == 1:
        found = found[1:]
    if len(found) == 3:
        found = (found[0], 1, *found[1:])
    if len(found) != 4 or min(found) < 1 or max(found[2:]) > LARGEST_SIDE:
        raise ValueError(f"latents have the shape {list(found)}, wanted [C, T, h, w], [1, C, T, h, w] or [C, h, w] "
                         f"with sides of 1 to {LARGEST_SIDE}")
    return found[0], found[1], found[2], found[3]


class Latents:
    """Latent frames in host memory: shape (channels, frames, height, width), dtype as a name, bytes of each frame."""

    def __init__(self, shape: Any, dtype: str, data: Any) -> None:
        if dtype not in DTYPES:
            raise TypeError(f"latents are {dtype}, wanted {', '.join(DTYPES)}")
        self.shape, self.dtype = four(shape), dtype
        channels, frames, height, width = self.shape
        plane = bytes_of((height, width), dtype)
        if len(data) != channels * frames * plane:
            raise ValueError(f"latents {list(self.shape)} of {dtype} are {channels * frames * plane} bytes, not "
                             f"{len(data)}")
        self.frames: list[bytes] = [
            b"".join(data[(channel * frames + frame) * plane:][:plane] for channel in range(channels))
            for frame in range(frames)]

    @classmethod
    def of_frames(cls, shape: tuple[int, ...], dtype: str, frames: list[bytes]) -> Latents:
        made = cls.__new__(cls)
        made.shape, made.dtype, made.frames = four(shape), dtype, frames
        return made

    @classmethod
    def of(cls, latents: Any) -> Latents:
        """Copies a tensor or array to the host's memory."""
        if isinstance(latents, cls):
            return latents
        if hasattr(latents, "data_ptr") and hasattr(latents, "detach"):  # torch
            host = latents.detach().to("cpu").contiguous()
            data = ctypes.string_at(host.data_ptr(), host.numel() * host.element_size())
            return cls(host.shape, str(host.dtype).removeprefix("torch."), memoryview(data))
        try:
            view = memoryview(latents)
        except TypeError:
            raise TypeError(f"latents are a {type(latents).__name__}, wanted a torch tensor or an array in host memory "
                            "with the buffer protocol") from None
        names = {"f": "float32", "e": "float16"}
        return cls(view.shape, names.get(view.format, f"of format {view.format!r}"), memoryview(view.tobytes()))


class Writer:
    """Streams of latents, one after another, to `out`: a file object opened for bytes, or a connected socket.

    Over a socket the viewer grants credits, and writing waits for them: `timeout` seconds at most (None: for as long as
    the viewer lives). A viewer that then does not read what it has granted counts as gone STALL_SECONDS later. A pipe
    blocks by itself when the viewer does not keep up.
    """

    def __init__(self, out: BinaryIO | socket.socket) -> None:
        self._socket = out if isinstance(out, socket.socket) else None
        self._pipe = None if isinstance(out, socket.socket) else out
        self._streams = self._chunks = 0   # begun; of the current stream
        self._sent = self._granted = 0     # latent frames of the connection
        self._replies = b""
        self._header: dict[str, Any] | None = None

    @property
    def header(self) -> dict[str, Any] | None:
        """What the current stream was started with; None between streams."""
        return self._header

    def start(self, *, channels: int, height: int, width: int, dtype: str = "float32", family: str = FAMILY,
              fps: float = 24.0, name: str = "") -> None:
        """Begins a stream; one that has not ended is ended."""
        if self._header is not None:
            self.end()
        payload = _START.pack(VERSION, channels, height, width, DTYPES[dtype][0], family.encode(), fps,
                              name.encode()[:64])
        self._record(b"KGLV", self._streams, payload)
        self._header = {"channels": channels, "height": height, "width": width, "dtype": dtype, "family": family,
                        "fps": fps, "name": name}
        self._streams += 1
        self._chunks = 0

    def send(self, latents: Any, timeout: float | None = None) -> int:
        """Sends the latent frames of `latents`, in chunks that the viewer has room for.

        Returns how many were sent: fewer than there are if `timeout` seconds passed without room. Raises Refused, with
        the viewer's sentence; ConnectionError when the viewer has gone.
        """
        latents = Latents.of(latents)
        stated: dict[str, Any] = self._header or {}
        found = (latents.shape[0], *latents.shape[2:], latents.dtype)
        wanted = tuple(stated.get(key) for key in ("channels", "height", "width", "dtype"))
        if found != wanted:
            raise ValueError(f"latents are {found} as (channels, height, width, dtype), the stream is {wanted}")
        done = 0
        while done < len(latents.frames):
            room = self._room(timeout)
            if room == 0:
                break
            frames = latents.frames[done:done + min(room, MOST_FRAMES_OF_A_CHUNK)]
            self._record(b"CHNK", self._chunks, b"".join(frames), timeout)
            self._chunks += 1
            self._sent += len(frames)
            done += len(frames)
        return done

    def reset(self) -> None:
        """The next latent frame is a clip's first; what the viewer has not shown yet is dropped."""
        self._record(b"RSET", self._chunks)

    def end(self) -> None:
        """Ends the stream, which is complete."""
        if self._header is not None:
            self._record(b"DONE", self._chunks)
            self._header = None

    def close(self) -> None:
        """Closes the pipe or the connection. A stream that has not ended is broken."""
        for out in (self._socket, self._pipe):
            if out is not None:
                out.close()

    @property
    def unused_socket(self) -> socket.socket | None:
        """The connection, if nothing was written to it yet."""
        return self._socket if self._streams == 0 else None

    def _record(self, tag: bytes, number: int, payload: bytes = b"", timeout: float | None = None) -> None:
        data = _RECORD.pack(tag, len(payload), number) + payload
        if self._pipe is not None:
            self._pipe.write(data)
            self._pipe.flush()
            return
        assert self._socket is not None
        try:
            self._socket.settimeout(None if timeout is None else timeout + STALL_SECONDS)
            self._socket.sendall(data)
        except socket.timeout:
            self.close()  # in the middle of a record
            raise ConnectionError(f"the viewer has not read a chunk within {STALL_SECONDS:g} s, for which it had "
                                  "room") from None
        except OSError:
            while self._receive(None):
                pass  # raises its last message, if it has sent one
            raise

    def _room(self, timeout: float | None) -> int:
        """Latent frames that may be sent now; 0 once `timeout` has passed."""
        if self._socket is None:
            return MOST_FRAMES_OF_A_CHUNK
        while self._receive(0):
            pass
        while self._granted <= self._sent:
            if not self._receive(timeout):
                return 0
        return self._granted - self._sent

    def _receive(self, timeout: float | None) -> bool:
        """Takes in replies. False if none came within `timeout`."""
        assert self._socket is not None
        self._socket.settimeout(timeout)
        try:
            data = self._socket.recv(1 << 16)
        except (BlockingIOError, socket.timeout):
            return False
        if not data:
            raise ConnectionError("the viewer has gone")
        self._replies += data
        while len(self._replies) >= _RECORD.size:
            tag, length, number = _RECORD.unpack_from(self._replies)
            if tag not in (b"CRDT", b"FAIL") or length > LONGEST_SENTENCE:
                raise ConnectionError(f"a reply {tag!r} of {length} bytes: what listens is no viewer of live latents")
            if len(self._replies) < _RECORD.size + length:
                break
            payload, self._replies = self._replies[_RECORD.size:_RECORD.size + length], \
                self._replies[_RECORD.size + length:]
            if tag == b"FAIL":
                raise Refused(payload.decode(errors="replace"))
            self._granted = max(self._granted, number)
        return True


def connect(path: str) -> Writer:
    """A Writer on the viewer's socket `path`. Raises OSError while none listens there."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return Writer(connection)


def to_standard_output() -> Writer:
    """A Writer for `generator | kinetograph view -`."""
    return Writer(sys.stdout.buffer)
