"""Latents of any package as the library takes them."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from . import _dlpack, _library

_DTYPES = {(_dlpack.FLOAT, 32): _library.FLOAT32, (_dlpack.FLOAT, 16): _library.FLOAT16,
           (_dlpack.BFLOAT, 16): _library.BFLOAT16}
_NAMES = {(_dlpack.FLOAT, 32): "float32", (_dlpack.FLOAT, 16): "float16", (_dlpack.BFLOAT, 16): "bfloat16"}
_KINDS = {_dlpack.CPU: "cpu", _dlpack.CUDA: "cuda", _dlpack.CUDA_HOST: "cpu", _dlpack.ROCM: "hip"}


def is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_cupy(array: Any) -> bool:
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def is_numpy(array: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(array, numpy.ndarray)


def is_jax(array: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, getattr(jax, "Array", ()))


def device_of(array: Any) -> tuple[str, int]:
    """("cuda", 0)"""
    if not hasattr(array, "__dlpack_device__"):
        raise _library.InvalidArgument(f"latents are a {type(array).__name__}: they come as an array with __dlpack__, "
                                       "of NumPy, torch, CuPy or JAX")
    kind, ordinal = array.__dlpack_device__()
    if int(kind) not in _KINDS:
        raise _library.InvalidArgument(f"latents are on DLPack's device type {int(kind)}: there are the CPU, CUDA and "
                                       "ROCm")
    return _KINDS[int(kind)], int(ordinal)


def current_stream(array: Any) -> int:
    """The stream that `array`'s package would run its next kernel on, as a handle; 0: the default stream."""
    if is_torch(array):
        return int(sys.modules["torch"].cuda.current_stream(array.device).cuda_stream)
    if is_cupy(array):
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    return 0


def owner_of(stream: int) -> Any:
    """CuPy's object of its current stream, if that is `stream`: the stream lives as long as this object."""
    cupy = sys.modules.get("cupy")
    if cupy is None or stream == 0:
        return None
    current = cupy.cuda.get_current_stream()
    return current if int(current.ptr) == stream else None


def dlpack_stream(kind: str, stream: int) -> int | None:
    """A stream's handle as __dlpack__ takes it: CUDA's default stream is 1, ROCm's 0."""
    if kind == "cpu":
        return None
    return 1 if kind == "cuda" and stream == 0 else stream


def dtype_name(view: _dlpack.View) -> str:
    if view.dtype not in _NAMES:
        raise TypeError(f"latents have the type {_dlpack.name_of(view.dtype)}: it is one of "
                        f"{', '.join(_NAMES.values())}")
    return _NAMES[view.dtype]


def packed(array: Any) -> Any:
    """The array without gaps, copied in the order of its own stream. JAX's have none; other packages' stay as is."""
    if is_torch(array):
        return array.detach().contiguous()
    if is_cupy(array):
        return sys.modules["cupy"].ascontiguousarray(array)
    return sys.modules["numpy"].ascontiguousarray(array) if is_numpy(array) else array


class Patches:
    """Latents whose channels are those of patches of pixels, normalised unless `normalized` is False, as FLUX.2's
    transformer has them, become those that its decoder takes."""

    def __init__(self, channels: int, patch: int, mean: list[float], std: list[float], normalized: bool | None) -> None:
        self._channels, self._patch, self._count = channels, patch, channels * patch * patch
        self._mean, self._std, self._normalized = mean, std, normalized

    def undo(self, array: Any) -> Any:
        """Of [C, T, h, w], [1, C, T, h, w] or [C, h, w]; other arrays as they are. Raises InvalidArgument for latents
        of pixels that are said to be normalised, and for a package without arithmetic that is known."""
        shape = tuple(getattr(array, "shape", ()))
        frames = shape[1:] if len(shape) == 5 and shape[0] == 1 else shape
        if len(frames) == 3:
            frames = (frames[0], 1, *frames[1:])
        if len(frames) != 4 or frames[0] != self._count:
            if self._normalized and len(frames) == 4 and frames[0] == self._channels:
                raise _library.InvalidArgument(f"latents of {self._channels} channels are raw ones: normalized=True is "
                                               f"of those with {self._count}")
            return array
        package = _package_of(array)
        if self._normalized is not False:
            mean, std = ((package.tensor(values, device=array.device) if is_torch(array) else
                          package.asarray(values, dtype="float32")).reshape(-1, 1, 1, 1)
                         for values in (self._mean, self._std))
            array = array.reshape(frames) * std + mean
        split = array.reshape(self._channels, self._patch, self._patch, *frames[1:])
        pixels = package.moveaxis(split, (1, 2), (3, 5))
        return pixels.reshape(self._channels, frames[1], frames[2] * self._patch, frames[3] * self._patch)


def _package_of(array: Any) -> Any:
    for name, is_its in (("torch", is_torch), ("cupy", is_cupy), ("jax.numpy", is_jax), ("numpy", is_numpy)):
        if is_its(array):
            return importlib.import_module(name)
    raise _library.InvalidArgument(f"latents are a {type(array).__name__} with patches as channels: such come as an "
                                   "array of NumPy, torch, CuPy or JAX")


class Batch:
    """Latents [C, T, h, w] as the library's structure; the array is kept alive until close(). Those with patches as
    channels are brought to pixels by the array's package, in the order of its own stream.

    Those on a device are copied in the order of `stream`. close() may release the array at once if its package reuses
    memory in that order: torch and CuPy, on their current stream. For others `is_lent` is set, and the array is kept
    alive for as long as the batch.
    """

    def __init__(self, array: Any, device: tuple[str, int], stream: int | None, patches: Patches | None) -> None:
        kind, ordinal = device_of(array)
        if kind != "cpu" and (kind, ordinal) != device:
            raise _library.InvalidArgument(f"latents are on {kind}:{ordinal}, the decoder is on "
                                           f"{device[0]}:{device[1]}")
        if stream is not None and not isinstance(stream, int):
            raise _library.InvalidArgument(f"a stream is its handle, an int, and not a {type(stream).__name__}: "
                                           "torch's is stream.cuda_stream, CuPy's stream.ptr")
        if is_torch(array):
            array = array.detach()
        if patches is not None and (pixels := patches.undo(array)) is not array:
            if stream is not None and kind != "cpu" and stream != current_stream(array):
                raise _library.InvalidArgument("latents with patches as channels are brought to pixels on their "
                                               "package's current stream, which is not the one that was given")
            array = pixels
        if kind == "cpu" and not getattr(getattr(array, "flags", None), "writeable", True):
            array = array.copy()  # NumPy exports no read-only array by DLPack
        current = 0 if kind == "cpu" else current_stream(array)
        self.stream = current if kind == "cpu" or stream is None else stream
        self.is_lent = kind != "cpu" and not ((is_torch(array) or is_cupy(array)) and self.stream == current)
        view = _taken(array, dlpack_stream(kind, self.stream))
        try:
            shape, strides = _four(view)
            if view.dtype not in _DTYPES:
                raise _library.InvalidArgument(f"latents are {_dlpack.name_of(view.dtype)}: they come as float32, "
                                               "float16 or bfloat16")
        except BaseException:
            view.close()
            raise
        self._view = view
        self._item = view.dtype[1] // 8
        self.frames = shape[1]
        self._shape, self._strides = shape, strides
        self._memory = _library.HOST if kind == "cpu" else _library.DEVICE
        self.input_ns = 0  # when the input came for which they were made
        self._dtype = _DTYPES[view.dtype]

    @property
    def on_device(self) -> bool:
        return self._memory == _library.DEVICE

    @property
    def size(self) -> tuple[int, int]:
        return self._shape[2], self._shape[3]

    def part(self, begin: int, end: int) -> _library.Latents:
        """Latent frames [begin, end)."""
        made = _library.Latents(memory=self._memory, dtype=self._dtype, input_ns=self.input_ns,
                                data=self._view.address + begin * self._strides[1] * self._item)
        made.shape[:] = (self._shape[0], end - begin, self._shape[2], self._shape[3])
        made.strides[:] = self._strides
        if self.on_device:
            made.ready.kind, made.ready.stream = _library.MOMENT_STREAM, self.stream
        return made

    def close(self) -> None:
        if not self.is_lent:
            self._view.close()


def _taken(array: Any, stream: int | None) -> _dlpack.View:
    """A view with each value in a place of its own, the first one lowest: an array that is broadcast or reversed is
    first copied by its package."""
    view = _dlpack.take(array, stream)
    if not _is_folded(view):
        return view
    view.close()
    view = _dlpack.take(packed(array), stream)
    if not _is_folded(view):
        return view
    view.close()
    raise _library.InvalidArgument(f"latents {list(view.shape)} are broadcast or reversed, with the strides "
                                   f"{list(view.strides)}: copy them to an array without gaps")


def _is_folded(view: _dlpack.View) -> bool:
    return any(stride < 1 and extent > 1 for extent, stride in zip(view.shape, view.strides))


def _four(view: _dlpack.View) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides as [C, T, h, w], given that, [1, C, T, h, w], or one frame [C, h, w]."""
    shape, strides = view.shape, view.strides
    if len(shape) == 5 and shape[0] == 1:
        shape, strides = shape[1:], strides[1:]
    if len(shape) == 3:
        shape, strides = (shape[0], 1, *shape[1:]), (strides[0], 0, *strides[1:])
    if len(shape) != 4 or min(shape) < 1:
        raise _library.InvalidArgument(f"latents have the shape {list(view.shape)}: it is [C, T, h, w], [1, C, T, h, "
                                       "w] or, of one frame, [C, h, w]")
    return shape, strides
