"""DLPack's capsule protocol: arrays of other packages as pointers, frames as arrays of other packages.

Source: dlpack.h, version 0.8 (https://dmlc.github.io/dlpack/latest/c_api.html), and the Python array API standard's
description of __dlpack__.
"""

from __future__ import annotations

import ctypes
import itertools
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Callable

CPU, CUDA, CUDA_HOST, ROCM = 1, 2, 3, 10
UINT, FLOAT, BFLOAT = 1, 2, 4


class _Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16), ("shape", ctypes.POINTER(c_int64)),
                ("strides", ctypes.POINTER(c_int64)), ("byte_offset", c_uint64)]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter)]

_api = ctypes.pythonapi
_Destructor = ctypes.PYFUNCTYPE(None, c_void_p)
_api.PyCapsule_New.restype, _api.PyCapsule_New.argtypes = ctypes.py_object, [c_void_p, c_char_p, _Destructor]
_is_valid = _api["PyCapsule_IsValid"]
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [c_void_p, c_char_p]
_pointer_in = _api["PyCapsule_GetPointer"]
_pointer_in.restype, _pointer_in.argtypes = c_void_p, [c_void_p, c_char_p]
_set_name = _api["PyCapsule_SetName"]
_set_name.restype, _set_name.argtypes = ctypes.c_int, [c_void_p, c_char_p]

_FRESH, _USED = b"dltensor", b"used_dltensor"  # the capsule keeps the pointer to its name


class View:
    """An array of another package, in place. It is held until close()."""

    def __init__(self, capsule: Any) -> None:
        pointer = _pointer_in(id(capsule), _FRESH)
        self._managed = ctypes.cast(pointer, ctypes.POINTER(_Managed))
        _set_name(id(capsule), _USED)
        tensor = self._managed.contents.tensor
        self.address: int = (tensor.data or 0) + tensor.byte_offset
        self.device: tuple[int, int] = (tensor.device_type, tensor.device_id)
        self.dtype: tuple[int, int] = (tensor.code, tensor.bits)
        self.shape: tuple[int, ...] = tuple(tensor.shape[: tensor.ndim])
        self.strides: tuple[int, ...] = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _packed(self.shape)

    def close(self) -> None:
        managed = self._managed.contents
        if managed.deleter:
            managed.deleter(self._managed)


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


#: Exported arrays by their number, which is the DLPack structure's context; each holds what its memory belongs to.
_exported: dict[int, Any] = {}
_numbers = itertools.count(1)


@_Deleter
def _release(managed: Any) -> None:
    _exported.pop(managed.contents.context, None)


@_Destructor
def _destroy(capsule: int) -> None:
    if _is_valid(capsule, _FRESH):  # nobody took it
        managed = ctypes.cast(_pointer_in(capsule, _FRESH), ctypes.POINTER(_Managed))
        managed.contents.deleter(managed)


for _callback in (_release, _destroy):  # C code may call them as long as the process lives
    _api.Py_IncRef(ctypes.py_object(_callback))


def capsule(owner: Any, address: int, device: tuple[int, int], dtype: tuple[int, int], shape: tuple[int, ...],
            strides: tuple[int, ...]) -> Any:
    """A capsule of memory that belongs to `owner`, which lives until the consumer is done with it."""
    number = next(_numbers)
    extents = (c_int64 * len(shape))(*shape)
    steps = (c_int64 * len(strides))(*strides)
    tensor = _Tensor(address, device[0], device[1], len(shape), dtype[0], dtype[1], 1, extents, steps, 0)
    managed = _Managed(tensor, number, _release)
    _exported[number] = (owner, managed, extents, steps)
    return _api.PyCapsule_New(ctypes.addressof(managed), _FRESH, _destroy)


def exported() -> int:
    """How many arrays of other packages hold frames."""
    return len(_exported)


def take(array: Any, stream: int | None) -> View:
    """The memory of `array`, ready for work on `stream` (as __dlpack__ takes it; None on the CPU)."""
    export: Callable[..., Any] = array.__dlpack__
    return View(export() if stream is None else export(stream=stream))
