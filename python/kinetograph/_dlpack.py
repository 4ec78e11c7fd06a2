"""DLPack's capsule protocol: arrays of other packages as pointers, the library's tensors as arrays of other packages.

Source: dlpack.h, version 0.8 (https://dmlc.github.io/dlpack/latest/c_api.html), and the Python array API standard's
description of __dlpack__.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Callable

CPU, CUDA, CUDA_HOST, ROCM = 1, 2, 3, 10
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6
_KINDS = {INT: "int", UINT: "uint", FLOAT: "float", BFLOAT: "bfloat", COMPLEX: "complex", BOOL: "bool"}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", ctypes.POINTER(c_int64)),
                ("strides", ctypes.POINTER(c_int64)), ("byte_offset", c_uint64)]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter)]

_api = ctypes.pythonapi
_api.PyCapsule_New.restype, _api.PyCapsule_New.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
_is_valid = _api["PyCapsule_IsValid"]
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, c_char_p]
_pointer_in = _api["PyCapsule_GetPointer"]
_pointer_in.restype, _pointer_in.argtypes = c_void_p, [ctypes.py_object, c_char_p]
_set_name = _api["PyCapsule_SetName"]
_set_name.restype, _set_name.argtypes = ctypes.c_int, [ctypes.py_object, c_char_p]

_FRESH, _USED = b"dltensor", b"used_dltensor"  # the capsule keeps the pointer to its name


def name_of(dtype: tuple[int, int]) -> str:
    """(FLOAT, 32) -> "float32" """
    code, bits = dtype
    return f"{_KINDS[code]}{bits}" if code in _KINDS else f"of DLPack's type {code} with {bits} bits"


class View:
    """An array of another package, in place. It is kept alive until close(), or as long as this object lives."""

    def __init__(self, capsule: Any) -> None:
        pointer = _pointer_in(capsule, _FRESH)
        self._managed: Any = ctypes.cast(pointer, ctypes.POINTER(_Managed))
        _set_name(capsule, _USED)
        tensor = self._managed.contents.tensor
        self.address: int = (tensor.data or 0) + tensor.byte_offset
        self.device: tuple[int, int] = (tensor.device_type, tensor.device_id)
        self.dtype: tuple[int, int] = (tensor.code, tensor.bits)
        self.shape: tuple[int, ...] = tuple(tensor.shape[: tensor.ndim])
        self.strides: tuple[int, ...] = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _packed(self.shape)

    def close(self) -> None:
        managed, self._managed = self._managed, None
        if managed is not None:
            _delete(managed)

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self.close()


def _delete(managed: Any) -> None:
    if managed.contents.deleter:
        managed.contents.deleter(managed)


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class _Offered:
    """Capsules that a consumer may not have taken.

    Neither they nor tensors have destructors in Python: these could run while an exception propagates, which a callback
    would destroy. An unused capsule is recognised by its reference count.
    """

    def __init__(self) -> None:
        self._capsules: list[Any] = []
        self._lock = threading.Lock()
        self._unheld = 0
        self._capsules.append(_api.PyCapsule_New(id(self), _USED, None))
        self._unheld = self._references()[0]
        self._capsules.clear()

    def _references(self) -> list[int]:
        return [sys.getrefcount(capsule) for capsule in self._capsules]

    def add(self, pointer: int) -> Any:
        made = _api.PyCapsule_New(pointer, _FRESH, None)
        with self._lock:
            self._capsules.append(made)
        return made

    def collect(self) -> None:
        """Deletes the tensors of capsules that were neither taken nor kept."""
        if not self._capsules:
            return
        with self._lock:
            references = self._references()
            fresh = [(capsule, count) for capsule, count in zip(self._capsules, references)
                     if _is_valid(capsule, _FRESH)]
            self._capsules = [capsule for capsule, count in fresh if count > self._unheld]
            for capsule, count in fresh:
                if count <= self._unheld:
                    _delete(ctypes.cast(_pointer_in(capsule, _FRESH), ctypes.POINTER(_Managed)))


_offered = _Offered()
collect = _offered.collect


def capsule(tensor: int) -> Any:
    """A capsule of the DLManagedTensor at that address."""
    collect()
    return _offered.add(tensor)


def take(array: Any, stream: int | None) -> View:
    """The memory of `array`, ready for work on `stream` (as __dlpack__ takes it; None on the CPU)."""
    export: Callable[..., Any] = array.__dlpack__
    return View(export() if stream is None else export(stream=stream))
