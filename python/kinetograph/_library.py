"""libkinetograph.so through ctypes: its structures, its functions, and its errors as exceptions."""

from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import (POINTER, byref, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_uint8, c_uint32, c_uint64,
                    c_void_p)
from typing import Any

VERSION = 1  # KG_VERSION: 0.1

OK, TIMEOUT, END = 0, 1, 2
UNSUPPORTED, BUSY = -4, -10
FOREVER = 2**64 - 1
PRECISIONS = {"bf16": 0, "fp16": 1, "fp32": 2}
SUMS = {"exact": 0, "fast": 1, "int8": 2}
HOST, DEVICE = 0, 1
RGBA8, RGB32F, RGB16F = 0, 1, 5
FLOAT32, FLOAT16, BFLOAT16 = 0, 1, 2
FINITE_UNKNOWN = 2
ACQUIRE_AHEAD = 1
LAYOUTS = {"HWC": 0, "CHW": 1, "HWC4": 2}
MOMENT_PAST, MOMENT_STREAM = 0, 2
ENCODED_MEAN, ENCODED_SAMPLE, ENCODED_MOMENTS = 0, 1, 2
PICTURE_UINT8, PICTURE_FLOAT32, PICTURE_FLOAT16, PICTURE_BFLOAT16 = 0, 1, 2, 3


class Error(Exception):
    """An error of the library, whose text says in a sentence what is wrong."""


class InvalidArgument(Error, ValueError):
    """An argument that makes no sense here: a shape, a dtype, latents of another VAE, a frame released before."""


class NotFound(Error, LookupError):
    """A file, tensor, device or library that is absent."""


class Unsupported(Error, RuntimeError):
    """A valid request that this machine, build or version cannot carry out."""


class OutOfMemory(Error, MemoryError):
    """An allocation that was refused; the sentence states what is needed and what is free."""


class DeviceLost(Error, RuntimeError):
    """The device stopped answering."""


class Cancelled(Error):
    """Stream.cancel() was called."""


class Busy(Error, RuntimeError):
    """Another thread is in a call that one thread makes at a time, or push() has no room and nothing takes frames."""


class Io(Error, OSError):
    """The operating system refused to read or write."""


_EXCEPTIONS = {-1: InvalidArgument, -2: NotFound, -3: InvalidArgument, -4: Unsupported, -5: InvalidArgument,
               -6: OutOfMemory, -7: Io, -8: DeviceLost, -9: Cancelled, -10: Busy}


class _Sized(ctypes.Structure):
    """A structure whose first member is its size."""

    def __init__(self, **members: Any) -> None:
        super().__init__(size=ctypes.sizeof(type(self)), **members)


class InstanceDesc(_Sized):
    _fields_ = [("size", c_uint32), ("header_version", c_uint32), ("log", c_void_p), ("log_user", c_void_p),
                ("allocate", c_void_p), ("release", c_void_p), ("allocator_user", c_void_p)]


class DeviceInfo(_Sized):
    _fields_ = [("size", c_uint32), ("ordinal", c_uint32), ("available", c_uint32), ("unused", c_uint32),
                ("kind", c_char_p), ("name", c_char_p), ("product", c_char_p), ("situation", c_char_p),
                ("memory_bytes", c_uint64), ("uuid", c_uint8 * 16)]


class WeightsDesc(_Sized):
    _fields_ = [("size", c_uint32), ("unused", c_uint32), ("path", c_char_p), ("family", c_char_p),
                ("statistics", c_char_p), ("stop", c_void_p), ("contents", c_void_p), ("bytes", c_uint64),
                ("release", c_void_p), ("user", c_void_p)]


class WeightsInfo(_Sized):
    _fields_ = [("size", c_uint32), ("channels", c_uint32), ("name", c_char_p), ("family", c_char_p),
                ("parameters", c_uint64), ("content_hash", c_uint64), ("latents_mean", POINTER(c_float)),
                ("latents_std", POINTER(c_float)), ("latent_patch", c_uint32), ("statistics", c_uint32)]


class ModelDesc(_Sized):
    _fields_ = [("size", c_uint32), ("precision", c_uint32), ("sums", c_uint32), ("latent_scale", c_uint32),
                ("unclamped", c_uint32), ("unused", c_uint32), ("device", c_char_p), ("vulkan", c_void_p),
                ("memory_budget", c_uint64), ("on_memory_pressure", c_void_p), ("memory_pressure_user", c_void_p),
                ("stop", c_void_p)]


class ModelInfo(_Sized):
    _fields_ = [("size", c_uint32), ("device_ordinal", c_uint32), ("channels", c_uint32), ("spatial_scale", c_uint32),
                ("frames_of_a_step", c_uint32), ("encodes", c_uint32), ("device_kind", c_char_p),
                ("description", c_char_p), ("device_product", c_char_p)]


class Moment(ctypes.Structure):
    _fields_ = [("kind", c_uint32), ("unused", c_uint32), ("semaphore", c_uint64), ("value", c_uint64),
                ("stream", c_void_p)]


class ClipDesc(_Sized):
    _fields_ = [("size", c_uint32), ("storage", c_uint32), ("format", c_uint32), ("slots", c_uint32),
                ("loop", c_uint32), ("batch_item", c_uint32), ("fps", c_double), ("stop", c_void_p),
                ("tensor", c_char_p), ("axes", c_char_p), ("rewind_steps", c_uint32), ("sharing", c_uint32),
                ("weight", c_double), ("passes", c_uint32), ("only_if_fits", c_uint32)]


class Latents(_Sized):
    _fields_ = [("size", c_uint32), ("memory", c_uint32), ("dtype", c_uint32), ("unused", c_uint32), ("data", c_void_p),
                ("shape", c_int64 * 4), ("strides", c_int64 * 4), ("ready", Moment), ("bytes", c_uint64),
                ("input_ns", c_int64)]


class FrameRecord(_Sized):
    _fields_ = [("size", c_uint32), ("format", c_uint32), ("id", c_uint64), ("width", c_uint32), ("height", c_uint32),
                ("index", c_int64), ("presentation_ns", c_int64), ("generation", c_uint64), ("storage", c_uint32),
                ("finite", c_uint32), ("planes", c_void_p * 2), ("row_bytes", c_uint64 * 2), ("image", c_uint64),
                ("image_view", c_uint64), ("buffer", c_uint64), ("image_format", c_uint32), ("image_layout", c_uint32),
                ("semaphore", c_uint64), ("value", c_uint64)]


class ClipInfo(_Sized):
    _fields_ = [("size", c_uint32), ("width", c_uint32), ("height", c_uint32), ("slots", c_uint32),
                ("frames_of_a_step", c_uint32), ("held_back", c_uint32), ("frames", c_int64), ("fps", c_double),
                ("route", c_char_p), ("frames_waiting", c_uint64), ("frames_acquired", c_uint64), ("steps", c_uint64),
                ("last_step_ns", c_int64), ("average_step_ns", c_int64), ("state_bytes", c_uint64),
                ("clip_bytes", c_uint64), ("model_bytes", c_uint64), ("device_bytes", c_uint64),
                ("device_free", c_uint64), ("unmoved_ns", c_int64), ("due_misses", c_uint64), ("waited_ns", c_int64),
                ("longest_wait_ns", c_int64), ("steps_held_back", c_uint64), ("first_frame_ns", c_int64),
                ("latency_ns", c_int64), ("average_latency_ns", c_int64), ("longest_latency_ns", c_int64),
                ("input_latency_ns", c_int64), ("average_input_latency_ns", c_int64),
                ("longest_input_latency_ns", c_int64)]


class Admission(_Sized):
    _fields_ = [("size", c_uint32), ("fits", c_uint32), ("needed_bytes", c_uint64), ("free_bytes", c_uint64),
                ("needed_seconds", c_double), ("taken_seconds", c_double), ("known", c_uint32),
                ("visible_clips", c_uint32)]


class PassInfo(_Sized):
    _fields_ = [("size", c_uint32), ("calls", c_uint32), ("name", c_char_p), ("track", c_char_p),
                ("average_ns", c_int64), ("longest_ns", c_int64), ("share", c_double)]


class StateInfo(_Sized):
    _fields_ = [("size", c_uint32), ("latent_height", c_uint32), ("latent_width", c_uint32), ("unused", c_uint32),
                ("latent_frames", c_int64), ("frames", c_int64), ("bytes", c_uint64), ("content_hash", c_uint64)]


class EncoderDesc(_Sized):
    _fields_ = [("size", c_uint32), ("encoded", c_uint32), ("one_picture", c_uint32), ("ahead", c_uint32),
                ("seed", c_uint64), ("stop", c_void_p)]


class Pictures(_Sized):
    _fields_ = [("size", c_uint32), ("type", c_uint32), ("data", c_void_p), ("shape", c_int64 * 4),
                ("strides", c_int64 * 4)]


class EncodedFrame(_Sized):
    _fields_ = [("size", c_uint32), ("finite", c_uint32), ("index", c_int64)]


class EncoderInfo(_Sized):
    _fields_ = [("size", c_uint32), ("channels", c_uint32), ("height", c_uint32), ("width", c_uint32),
                ("pictures_of_a_latent", c_uint32), ("first_pictures", c_uint32), ("state_bytes", c_uint64),
                ("encoder_bytes", c_uint64), ("weights_bytes", c_uint64)]


class ReencoderDesc(_Sized):
    _fields_ = [("size", c_uint32), ("encoded", c_uint32), ("frames", c_uint32), ("unused", c_uint32),
                ("seed", c_uint64), ("stop", c_void_p)]


class Reencoded(_Sized):
    _fields_ = [("size", c_uint32), ("latent_frames", c_uint32), ("frames", c_uint32), ("finite", c_uint32),
                ("latents", POINTER(c_float)), ("latents_count", c_uint64), ("pictures", POINTER(c_float)),
                ("pictures_count", c_uint64)]


#: The structures by their names in kinetograph.h.
STRUCTURES = {"kg_instance_desc": InstanceDesc, "kg_device_info": DeviceInfo, "kg_weights_desc": WeightsDesc,
              "kg_weights_info": WeightsInfo, "kg_model_desc": ModelDesc, "kg_model_info": ModelInfo,
              "kg_moment": Moment, "kg_clip_desc": ClipDesc, "kg_latents": Latents, "kg_frame": FrameRecord,
              "kg_clip_info": ClipInfo, "kg_admission": Admission, "kg_pass_info": PassInfo, "kg_state_info": StateInfo,
              "kg_encoder_desc": EncoderDesc, "kg_pictures": Pictures, "kg_encoded_frame": EncodedFrame,
              "kg_encoder_info": EncoderInfo, "kg_reencoder_desc": ReencoderDesc, "kg_reencoded": Reencoded}

EachDevice = ctypes.CFUNCTYPE(None, c_void_p, POINTER(DeviceInfo))
EachPass = ctypes.CFUNCTYPE(None, c_void_p, POINTER(PassInfo))
TakePiece = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_uint64)

_SIGNATURES: dict[str, list[Any]] = {
    "kg_instance_create": [POINTER(InstanceDesc), POINTER(c_void_p)],
    "kg_list_devices": [c_void_p, EachDevice, c_void_p],
    "kg_stop_create": [c_void_p, c_uint64, POINTER(c_void_p)],
    "kg_weights_create": [c_void_p, POINTER(WeightsDesc), POINTER(c_void_p)],
    "kg_weights_describe": [c_void_p, POINTER(WeightsInfo)],
    "kg_model_create": [c_void_p, POINTER(ModelDesc), POINTER(c_void_p)],
    "kg_model_describe": [c_void_p, POINTER(ModelInfo)],
    "kg_clip_create": [c_void_p, c_uint32, c_uint32, POINTER(ClipDesc), POINTER(c_void_p)],
    "kg_clip_open": [c_void_p, c_char_p, POINTER(ClipDesc), POINTER(c_void_p)],
    "kg_clip_close": [c_void_p, c_uint64],
    "kg_clip_destroy": [c_void_p],
    "kg_clip_push": [c_void_p, POINTER(Latents), c_uint64, POINTER(c_uint32)],
    "kg_clip_acquire": [c_void_p, c_uint32, c_uint64, POINTER(FrameRecord)],
    "kg_clip_wait": [c_void_p, c_uint64, c_void_p],
    "kg_clip_finite": [c_void_p, c_uint64, POINTER(c_uint32)],
    "kg_clip_export": [c_void_p, c_uint64, c_uint32, POINTER(c_void_p)],
    "kg_clip_release": [c_void_p, c_uint64, POINTER(Moment)],
    "kg_clip_reset": [c_void_p],
    "kg_clip_cancel": [c_void_p],
    "kg_clip_describe": [c_void_p, POINTER(ClipInfo)],
    "kg_clip_passes": [c_void_p, EachPass, c_void_p],
    "kg_model_declare_clip": [c_void_p, c_uint32, c_uint32, POINTER(ClipDesc), POINTER(ClipInfo)],
    "kg_model_admission": [c_void_p, c_uint32, c_uint32, POINTER(ClipDesc), POINTER(Admission)],
    "kg_model_metrics": [c_void_p, TakePiece, c_void_p],
    "kg_clip_fork": [c_void_p, POINTER(ClipDesc), c_uint64, POINTER(c_void_p)],
    "kg_clip_save": [c_void_p, c_uint64, POINTER(c_void_p)],
    "kg_clip_load": [c_void_p, c_void_p, c_uint64],
    "kg_clip_rewind": [c_void_p, c_uint32, c_uint64],
    "kg_clip_park": [c_void_p, c_uint64],
    "kg_clip_resume": [c_void_p, c_uint64],
    "kg_state_describe": [c_void_p, POINTER(StateInfo)],
    "kg_state_write": [c_void_p, c_char_p],
    "kg_state_read": [c_void_p, c_char_p, POINTER(c_void_p)],
    "kg_state_pack": [c_void_p, TakePiece, c_void_p],
    "kg_state_parse": [c_void_p, c_char_p, c_uint64, c_char_p, POINTER(c_void_p)],
    "kg_encoder_create": [c_void_p, c_uint32, c_uint32, POINTER(EncoderDesc), POINTER(c_void_p)],
    "kg_encoder_push": [c_void_p, POINTER(Pictures), c_uint64, POINTER(c_uint32)],
    "kg_encoder_finish": [c_void_p, POINTER(c_uint32)],
    "kg_encoder_take": [c_void_p, c_uint64, POINTER(c_float), c_uint64, POINTER(EncodedFrame)],
    "kg_encoder_reset": [c_void_p],
    "kg_encoder_cancel": [c_void_p],
    "kg_encoder_describe": [c_void_p, POINTER(EncoderInfo)],
    "kg_reencoder_create": [c_void_p, c_uint32, c_uint32, POINTER(ReencoderDesc), POINTER(c_void_p)],
    "kg_reencode": [c_void_p, POINTER(Latents), c_void_p, POINTER(Reencoded)],
    "kg_reencoder_finish": [c_void_p, c_void_p, POINTER(Reencoded)],
    "kg_reencoder_reset": [c_void_p],
    "kg_reencoder_describe": [c_void_p, POINTER(EncoderInfo)],
}
_DESTROYS = ("kg_instance_destroy", "kg_stop_destroy", "kg_weights_destroy", "kg_model_destroy", "kg_state_destroy",
             "kg_encoder_destroy", "kg_reencoder_destroy")


def _open() -> ctypes.CDLL:
    beside = pathlib.Path(__file__).parent / "libkinetograph.so.0"
    path = os.environ.get("KINETOGRAPH_LIBRARY") or (str(beside) if beside.exists() else "libkinetograph.so.0")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"kinetograph's library cannot be opened: {error}; KINETOGRAPH_LIBRARY names another "
                          "one") from None
    missing = [name for name in (*_SIGNATURES, *_DESTROYS) if not hasattr(library, name)]
    if missing:
        raise ImportError(f"{path} is no library of this package's version: it has no {missing[0]}")
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, c_int32
    for name in _DESTROYS:
        function = getattr(library, name)
        function.argtypes, function.restype = [c_void_p], c_int32
    library.kg_last_error.restype = c_char_p
    return library


library = _open()


def check(result: int) -> int:
    """The result of a call, or its error as an exception."""
    if result >= 0:
        return result
    sentence = (library.kg_last_error() or b"").decode(errors="replace")
    raise _EXCEPTIONS.get(result, Error)(sentence)


def _instance() -> c_void_p:
    made = c_void_p()
    check(library.kg_instance_create(byref(InstanceDesc(header_version=VERSION)), byref(made)))
    return made


class _Instances:
    """One for each process: a child of fork() makes its own."""

    def __init__(self) -> None:
        self._handle, self._process = _instance(), os.getpid()

    def handle(self) -> c_void_p:
        if self._process != os.getpid():
            self._handle, self._process = _instance(), os.getpid()
        return self._handle


instances = _Instances()


def devices() -> list[dict[str, Any]]:
    """Every device of every kind as a dict; an entry for a kind without devices says in "situation" why."""
    found: list[dict[str, Any]] = []

    def add(_user: Any, device: Any) -> None:
        info = device.contents
        found.append({"name": info.name.decode(), "available": bool(info.available), "product": info.product.decode(),
                      "memory_bytes": info.memory_bytes, "situation": info.situation.decode()})

    check(library.kg_list_devices(instances.handle(), EachDevice(add), None))
    return found
