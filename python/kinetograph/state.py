"""State: what a stream remembers between two latent frames, in the host's memory, in bytes or a file."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_void_p
from typing import Any

from . import _library
from ._library import check, library
from .frame import Handle


class State:
    """Made by Stream.save() and State.read(); Stream.load() continues it, bit for bit, any number of times."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        info = _library.StateInfo()
        check(library.kg_state_describe(handle.value, byref(info)))
        #: In latent pixels; latent frames taken and frames made so far; bytes of what is remembered.
        self.size: tuple[int, int] = (info.latent_height, info.latent_width)
        self.latent_frames: int = info.latent_frames
        self.frames: int = info.frames
        self.nbytes: int = info.bytes

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> State:
        """Of a file that write() made. A file that is truncated or was altered raises InvalidArgument, which names it."""
        made = c_void_p()
        check(library.kg_state_read(_library.instances.handle(), os.fsencode(path), byref(made)))
        return cls(Handle(library.kg_state_destroy, made))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes a file, which appears complete or not at all."""
        check(library.kg_state_write(self._handle.value, os.fsencode(path)))

    @classmethod
    def parse(cls, contents: bytes) -> State:
        """Of what pack() returned. Bytes that were altered raise InvalidArgument."""
        made = c_void_p()
        check(library.kg_state_parse(_library.instances.handle(), contents, len(contents), None, byref(made)))
        return cls(Handle(library.kg_state_destroy, made))

    def pack(self) -> bytes:
        """The bytes of the file that write() makes: parse() makes the state of them, in any process."""
        pieces: list[bytes] = []
        take = _library.TakePiece(lambda _, piece, count: pieces.append(ctypes.string_at(piece, count)))
        check(library.kg_state_pack(self._handle.value, take, None))
        return b"".join(pieces)

    def __reduce__(self) -> Any:
        return State.parse, (self.pack(),)

    def __repr__(self) -> str:
        return f"<kinetograph.State: {self.latent_frames} latent frames, {self.nbytes} bytes>"
