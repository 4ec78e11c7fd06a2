"""Frame: one decoded frame, in memory of its stream."""

from __future__ import annotations

import collections
import sys
from ctypes import byref, c_uint32, c_void_p
from typing import Any, Callable

from . import _dlpack, _library
from ._latents import owner_of
from ._library import InvalidArgument, check, library

_DLPACK_DEVICES = {"cpu": _dlpack.CPU, "cuda": _dlpack.CUDA, "hip": _dlpack.ROCM}
#: kg_format of a dtype.
FORMATS = {"uint8": _library.RGBA8, "float32": _library.RGB32F, "float16": _library.RGB16F}
_DTYPES = {number: dtype for dtype, number in FORMATS.items()}


class Handle:
    """A handle of the library; destroyed once, then what it keeps alive is released."""

    def __init__(self, destroy: Callable[[c_void_p], Any], handle: c_void_p, *kept: Any) -> None:
        self.value, self._destroy, self._kept = handle, destroy, kept

    def __del__(self) -> None:
        self._destroy(self.value)


class _Readers:
    """Owners of streams on which arrays of released frames are still read. The frames are returned in the order of
    these streams, which must exist until then. kg_clip_finite() fails for a frame that has been returned."""

    def __init__(self) -> None:
        self._readers: collections.deque[tuple[Handle, int, Any]] = collections.deque()

    def __len__(self) -> int:
        return len(self._readers)

    def add(self, clip: Handle, frame: int, owner: Any) -> None:
        self._readers.append((clip, frame, owner))

    def collect(self) -> None:
        """Drops the owners whose frames have been returned."""
        for _ in range(len(self._readers)):
            try:
                reader = self._readers.popleft()
            except IndexError:  # another thread collects too
                return
            if library.kg_clip_finite(reader[0].value, reader[1], byref(c_uint32())) == _library.OK:
                self._readers.append(reader)


readers = _Readers()


class Slot:
    """A frame that is acquired, until it is released; arrays made of it keep shares of their own."""

    def __init__(self, clip: Handle, record: _library.FrameRecord) -> None:
        self._clip, self.record = clip, record
        self.stream: int | None = None
        self._owner: Any = None
        self._release = library.kg_clip_release

    def wait_on(self, stream: int) -> None:
        """Makes later work of `stream` wait for the frame, and its slot wait for that work."""
        if self.stream not in (None, stream):
            raise BufferError(f"frame {self.record.index} is read on one stream: it was exported to {self.stream:#x}, "
                              f"then to {stream:#x}")
        if self._owner is None:
            self._owner = owner_of(stream)
        check(library.kg_clip_wait(self._clip.value, self.record.id, stream))
        self.stream = stream

    def finite(self) -> int:
        known = c_uint32()
        check(library.kg_clip_finite(self._clip.value, self.record.id, byref(known)))
        return known.value

    def export(self, layout: str) -> Any:
        """A DLPack capsule."""
        tensor = c_void_p()
        check(library.kg_clip_export(self._clip.value, self.record.id, _library.LAYOUTS[layout], byref(tensor)))
        assert tensor.value is not None
        return _dlpack.capsule(tensor.value)

    def __del__(self) -> None:
        done = None
        if self.stream is not None:
            done = byref(_library.Moment(kind=_library.MOMENT_STREAM, stream=self.stream))
        self._release(self._clip.value, self.record.id, done)
        if self._owner is not None and not sys.is_finalizing():
            readers.add(self._clip, self.record.id, self._owner)
            readers.collect()


class Frame:
    """One decoded frame without a copy: RGB as [height, width, 3] or [3, height, width], or [height, width, 4].

    ``numpy.asarray(frame)``, ``numpy.from_dlpack(frame)`` and ``torch.from_dlpack(frame)`` make arrays of it. Its
    memory goes back to the stream once the frame is released (or collected) and all such arrays are gone.
    """

    def __init__(self, slot: Slot, device: tuple[str, int], layout: str) -> None:
        self._slot: Slot | None = slot
        self._device, self._layout = device, layout
        record = slot.record
        #: In the clip, from 0.
        self.index: int = record.index
        #: Seconds from the clip's start.
        self.time: float = record.presentation_ns / 1e9
        self._finite: int = record.finite
        self.height: int = record.height
        self.width: int = record.width
        self.dtype: str = _DTYPES[record.format]

    @property
    def shape(self) -> tuple[int, int, int]:
        if self._layout == "CHW":
            return 3, self.height, self.width
        return self.height, self.width, 4 if self._layout == "HWC4" else 3

    @property
    def finite(self) -> bool | None:
        """Whether the step that made the frame made only finite values; None while it runs, and for a frame that was
        released before it ended."""
        slot = self._slot  # kept for as long as the call
        if self._finite == _library.FINITE_UNKNOWN and slot is not None:
            self._finite = slot.finite()
        return None if self._finite == _library.FINITE_UNKNOWN else bool(self._finite)

    def _held(self) -> Slot:
        slot = self._slot
        if slot is None:
            raise InvalidArgument(f"frame {self.index} was released")
        return slot

    def __dlpack_device__(self) -> tuple[int, int]:
        return _DLPACK_DEVICES[self._device[0]], self._device[1]

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: Any = None) -> Any:
        """A capsule of the frame, ready for work on `stream`: CUDA's 1 is the default stream, -1 asks for no order."""
        if copy:
            raise BufferError("a frame is not copied by DLPack: copy the array that is made of it")
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"the frame is on {self._device[0]}:{self._device[1]} and stays there")
        return self._export(stream, self._layout)

    def _export(self, stream: Any, layout: str) -> Any:
        slot = self._held()
        if self._device[0] != "cpu" and stream != -1:
            slot.wait_on(0 if stream in (None, 1) else int(stream))
        return slot.export(layout)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy
        if self._device[0] != "cpu":
            raise TypeError(f"the frame is on {self._device[0]}:{self._device[1]}: torch.from_dlpack(frame)")
        array = numpy.from_dlpack(self)
        if dtype is None or array.dtype == dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError(f"a frame of {self.dtype} is not an array of {numpy.dtype(dtype)} without a copy")
        return array.astype(dtype)

    def release(self) -> None:
        """Releases the frame; arrays that were made of it stay valid."""
        self._slot = None

    def __enter__(self) -> Frame:
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()

    def __reduce__(self) -> Any:
        raise TypeError("a frame is memory of a stream and cannot be pickled: pickle numpy.array(frame)")

    def __repr__(self) -> str:
        state = "released" if self._slot is None else f"{self.dtype} on {self._device[0]}:{self._device[1]}"
        return f"<kinetograph.Frame {self.index}: {' x '.join(map(str, self.shape))}, {state}>"
