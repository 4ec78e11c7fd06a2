"""Where the frames of decode() go: arrays of the latents' package, where the latents are."""

from __future__ import annotations

import collections
import functools
import sys
import time
from typing import Any, Callable

from ._deadline import Deadline
from ._latents import device_of, is_cupy, is_jax, is_torch
from ._library import InvalidArgument
from .frame import Frame

_POLL_SECONDS = 0.001


class Reads:
    """Frames that a package reads in an order that it does not reveal. Each group is kept until an array computed from
    it is ready: if frames were released earlier, their slots would be overwritten while they are still read.

    JAX is such a package: it drops its reference to an array while kernels that read it are still waiting on its
    stream, and the stream that it passes to __dlpack__ is not the one that it computes on.
    """

    def __init__(self) -> None:
        self._groups: collections.deque[tuple[Any, list[Any]]] = collections.deque()

    def add(self, ready: Any, frames: list[Any]) -> None:
        """Keeps `frames`, arrays of frames, until `ready` is ready."""
        self._groups.append((ready, frames))

    def drop(self, keep: int) -> None:
        """Releases the groups that were read; waits until at most `keep` groups are left."""
        while self._groups and (len(self._groups) > keep or self._groups[0][0].is_ready()):
            ready, frames = self._groups.popleft()
            ready.block_until_ready()  # raises what its computation did, once
            del frames

    def wait(self, deadline: Deadline) -> bool:
        """Whether everything was read before the deadline."""
        self.drop(0 if deadline.timeout is None else sys.maxsize)
        while self._groups and not deadline.passed:
            time.sleep(_POLL_SECONDS)
            self.drop(sys.maxsize)
        return not self._groups

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self.drop(0)


class _Filled:
    """An array of torch, CuPy or NumPy, filled in the order of the package's current stream."""

    def __init__(self, array: Any, copy: Callable[[Any, int, Frame], None]) -> None:
        self._array, self._copy, self._done = array, copy, 0
        self._begin = 0

    def store(self, frame: Frame) -> None:
        self._copy(self._array, self._done, frame)
        self._done += 1

    def end_step(self) -> Any:
        """The frames stored since the previous call."""
        begin, self._begin = self._begin, self._done
        return self._array[begin:self._done]

    def all(self) -> Any:
        return self._array


class _Joined:
    """An array of JAX, whose arrays are immutable: each step's frames are joined in one, and these in the clip's."""

    def __init__(self, reads: Reads, layout: str) -> None:
        self._jax = sys.modules["jax"]
        self._reads, self._channels_first = reads, layout == "CHW"
        self._frames: list[Any] = []
        self._steps: list[Any] = []

    def store(self, frame: Frame) -> None:
        self._frames.append(self._jax.dlpack.from_dlpack(_Compact(frame)))

    def end_step(self) -> Any:
        self._reads.drop(1)
        joined, ready = _join(self._channels_first)(self._frames)
        self._reads.add(ready, self._frames)
        self._frames = []
        self._steps.append(joined)
        return joined

    def all(self) -> Any:
        return self._steps[0] if len(self._steps) == 1 else self._jax.numpy.concatenate(self._steps)


@functools.lru_cache(maxsize=None)
def _join(channels_first: bool) -> Callable[[list[Any]], tuple[Any, Any]]:
    """Frames [height, width, 3 or 4] as one array of three channels, and a value that is ready when it is, which is
    neither donated nor deleted."""
    jax = sys.modules["jax"]

    def join(frames: list[Any]) -> tuple[Any, Any]:
        joined = jax.numpy.stack(frames)[..., :3]
        if channels_first:
            joined = joined.transpose(0, 3, 1, 2)
        return joined, joined[0, 0, 0, 0]

    made: Callable[[list[Any]], tuple[Any, Any]] = jax.jit(join)
    return made


class _Compact:
    """A frame without gaps, as JAX takes them."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._frame.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        return self._frame._export(stream, "HWC4" if self._frame.dtype == "uint8" else "HWC")


def output_of(latents: Any, shape: tuple[int, ...], dtype: str, layout: str, reads: Reads) -> _Filled | _Joined:
    """Where decode() stores frames in `layout`, "HWC" or "CHW": an array of that shape in the latents' package."""
    if is_torch(latents):
        torch = sys.modules["torch"]

        def copy(array: Any, index: int, frame: Frame) -> None:
            array[index].copy_(torch.from_dlpack(frame))
        return _Filled(torch.empty(shape, dtype=getattr(torch, dtype), device=latents.device), copy)
    if is_jax(latents):
        return _Joined(reads, layout)
    if device_of(latents)[0] == "cpu":
        import numpy as package
    elif is_cupy(latents):
        package = sys.modules["cupy"]
    else:
        raise InvalidArgument(f"decode() makes arrays of torch, CuPy, JAX and NumPy, and the latents are a "
                              f"{type(latents).__name__} on a GPU: take the frames of stream() by DLPack")

    def assign(array: Any, index: int, frame: Frame) -> None:
        array[index] = package.from_dlpack(frame)
    return _Filled(package.empty(shape, dtype), assign)
