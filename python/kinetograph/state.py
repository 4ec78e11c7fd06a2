"""State: what a stream remembers between two latent frames, in the host's memory or a file."""

from __future__ import annotations

import os
from ctypes import byref, c_void_p

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

    def __repr__(self) -> str:
        return f"<kinetograph.State: {self.latent_frames} latent frames, {self.nbytes} bytes>"
