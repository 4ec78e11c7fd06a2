"""Decoder: a checkpoint on a device. Stream: latents go in chunk by chunk, frames come out."""

from __future__ import annotations

import atexit
import collections
import ctypes
import os
import sys
import threading
import warnings
import weakref
from ctypes import byref, c_uint32, c_void_p
from typing import Any, Callable, Iterator

from . import _dlpack, _library
from ._deadline import Deadline
from ._latents import Batch, device_of, is_cupy, is_torch, keep_stream
from ._library import Error, InvalidArgument, check, library

_DLPACK_DEVICES = {"cpu": _dlpack.CPU, "cuda": _dlpack.CUDA, "hip": _dlpack.ROCM}
_FORMATS = {"uint8": _library.RGBA8, "float32": _library.RGB32F}
_POLL_NS = 100_000_000  # how soon Ctrl-C is noticed


class _Handle:
    """A handle of the library's; destroyed once, with what it keeps."""

    def __init__(self, destroy: Callable[[c_void_p], Any], handle: c_void_p, *kept: Any) -> None:
        self.value, self._destroy, self._kept = handle, destroy, kept

    def __del__(self) -> None:
        self._destroy(self.value)


class _Slot:
    """A frame that is acquired, until it is released; arrays made of it keep shares of their own."""

    def __init__(self, clip: _Handle, record: _library.FrameRecord) -> None:
        self._clip, self.record = clip, record
        self.stream: int | None = None
        self._release = library.kg_clip_release

    def wait_on(self, stream: int) -> None:
        """Work that `stream` is given from now on waits for the frame, and its slot for that work."""
        if self.stream not in (None, stream):
            raise BufferError(f"frame {self.record.index} is read on one stream: it was exported to {self.stream:#x}, then "
                              f"to {stream:#x}")
        keep_stream(stream)
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


class Frame:
    """One decoded frame without a copy: RGB as [height, width, 3] or [3, height, width], or [height, width, 4].

    ``numpy.asarray(frame)``, ``numpy.from_dlpack(frame)`` and ``torch.from_dlpack(frame)`` make arrays of it. Its memory goes
    back to the stream when the frame was released (or collected) and all such arrays are gone.
    """

    def __init__(self, slot: _Slot, device: tuple[str, int], layout: str) -> None:
        self._slot: _Slot | None = slot
        self._device, self._layout = device, layout
        record = slot.record
        #: In the clip, from 0.
        self.index: int = record.index
        #: Seconds from the clip's start.
        self.time: float = record.presentation_ns / 1e9
        self._finite: int = record.finite
        self.height: int = record.height
        self.width: int = record.width
        self.dtype: str = "uint8" if record.format == _library.RGBA8 else "float32"

    @property
    def shape(self) -> tuple[int, int, int]:
        if self._layout == "CHW":
            return 3, self.height, self.width
        return self.height, self.width, 4 if self._layout == "HWC4" else 3

    @property
    def finite(self) -> bool | None:
        """Whether the step that made the frame made finite values only; None while it runs, and of a frame that was released
        before it ended."""
        if self._finite == _library.FINITE_UNKNOWN and self._slot is not None:
            self._finite = self._slot.finite()
        return None if self._finite == _library.FINITE_UNKNOWN else bool(self._finite)

    def _held(self) -> _Slot:
        if self._slot is None:
            raise InvalidArgument(f"frame {self.index} was released")
        return self._slot

    def __dlpack_device__(self) -> tuple[int, int]:
        return _DLPACK_DEVICES[self._device[0]], self._device[1]

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        """A capsule of the frame, ready for work on `stream`: CUDA's 1 is the default stream, -1 asks for no order."""
        if copy:
            raise BufferError("a frame is not copied by DLPack: copy the array that is made of it")
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"the frame is on {self._device[0]}:{self._device[1]} and stays there")
        slot = self._held()
        if self._device[0] != "cpu" and stream != -1:
            slot.wait_on(0 if stream in (None, 1) else int(stream))
        return slot.export(self._layout)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy
        if self._device[0] != "cpu":
            raise TypeError(f"the frame is on {self._device[0]}:{self._device[1]}: torch.from_dlpack(frame)")
        array = numpy.from_dlpack(self)
        return array.astype(dtype) if dtype is not None else array.copy() if copy else array

    def release(self) -> None:
        """The frame is done with; arrays that were made of it stay good."""
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


_streams: weakref.WeakSet[Stream] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Ends the library's threads before the process does."""
    for stream in list(_streams):
        stream.close()


class Stream:
    """The streaming state of one clip. Made by Decoder.stream(), Decoder.open() and Decoder.new_state().

    One thread pushes at a time; frames may be taken by another.
    """

    def __init__(self, decoder: Decoder, dtype: str, layout: str, chunk: int, fps: float, on_device: bool,
                 path: str | None = None, timeout: float | None = None) -> None:
        if dtype not in _FORMATS:
            raise InvalidArgument(f"frames are uint8 or float32, not {dtype}")
        if layout not in _library.LAYOUTS:
            raise InvalidArgument(f"the layout of a frame is HWC, CHW or HWC4, not {layout}")
        if layout == "HWC4" and dtype != "uint8":
            raise InvalidArgument(f"frames of {dtype} have three channels: the layout HWC4 is of uint8")
        self._decoder, self._dtype, self._layout, self._on_device = decoder, dtype, layout, on_device
        self._slots = max(12, decoder.frames_per_latent * (max(chunk, 1) + 2))
        self._fps = fps
        self._clip: _Handle | None = None
        self._size: tuple[int, int] | None = None
        self._closed = False
        self._counts = threading.Lock()
        self._pushed = self._taken = 0
        self._unproven: collections.deque[Frame] = collections.deque()  # one of each step that may not have ended
        if path is not None:
            self._make(lambda desc, made: library.kg_clip_open(decoder._model.value, os.fsencode(path), desc, made),
                       Deadline(timeout))
        _streams.add(self)

    def _make(self, create: Callable[[Any, Any], int], deadline: Deadline) -> _Handle:
        made = c_void_p()
        with deadline.stop() as stop:
            desc = _library.ClipDesc(storage=_library.DEVICE if self._on_device else _library.HOST,
                                     format=_FORMATS[self._dtype], slots=self._slots, fps=self._fps, stop=stop)
            check(create(byref(desc), byref(made)))
        self._clip = _Handle(library.kg_clip_destroy, made, self._decoder._model)
        return self._clip

    def _made(self) -> _Handle:
        if self._closed:
            raise InvalidArgument("the stream is closed")
        if self._clip is None:
            raise InvalidArgument("no latents were pushed yet: their size makes the stream")
        return self._clip

    def _for_size(self, size: tuple[int, int], deadline: Deadline) -> _Handle:
        if self._clip is None and not self._closed:
            self._size = size
            model = self._decoder._model.value
            return self._make(lambda desc, made: library.kg_clip_create(model, *size, desc, made), deadline)
        return self._made()

    def push(self, latents: Any, *, stream: int | None = None, timeout: float | None = None) -> None:
        """Enqueues latents, [C, T, h, w] or one frame [C, h, w], and returns before they are decoded.

        Latents on the decoder's GPU are copied in the order of `stream`, a handle (by default torch's or CuPy's current
        stream): nothing waits, and the memory may be reused by later work of that stream. A timeout is in seconds; without
        one this waits until the reader has released frames. The first latents also make the stream.
        """
        batch = Batch(latents, self._decoder.device_pair, stream)
        try:
            self._push(batch, 0, batch.frames, Deadline(timeout))
        finally:
            batch.close()

    def _push(self, batch: Batch, begin: int, end: int, deadline: Deadline) -> None:
        _dlpack.collect()
        clip = self._for_size(batch.size, deadline)
        done, pushed = begin, c_uint32()
        while done < end:
            result = library.kg_clip_push(clip.value, byref(batch.part(done, end)), deadline.left_ns(_POLL_NS), byref(pushed))
            done += pushed.value
            with self._counts:
                for _ in range(pushed.value):
                    self._pushed += 1 if self._pushed == 0 else self._decoder.frames_per_latent
            check(result)
            if result == _library.TIMEOUT and deadline.passed:
                raise TimeoutError(f"{done - begin} of {end - begin} latent frames were pushed within {deadline.timeout} s: "
                                   f"the reader holds the stream's {self._slots} frames")

    def take(self, *, timeout: float | None = None) -> Frame | None:
        """The next frame, or None at the end of a file. On a GPU it may be one that is still being decoded: arrays that
        are made of it are ordered after that. Raises TimeoutError."""
        _dlpack.collect()
        clip = self._made()
        deadline = Deadline(timeout)
        record = _library.FrameRecord()
        while True:
            result = _library.TIMEOUT
            if self._on_device:
                result = check(library.kg_clip_acquire(clip.value, _library.ACQUIRE_AHEAD, 0, byref(record)))
            if result == _library.TIMEOUT:
                result = check(library.kg_clip_acquire(clip.value, 0, deadline.left_ns(_POLL_NS), byref(record)))
            if result == _library.END:
                return None
            if result == _library.OK:
                break
            if deadline.passed:
                raise TimeoutError(f"no frame within {timeout} s")
        with self._counts:
            self._taken += 1
        device = self._decoder.device_pair if self._on_device else ("cpu", 0)
        return Frame(_Slot(clip, record), device, self._layout)

    @property
    def pending(self) -> int:
        """Frames of the latents that were pushed which were not taken."""
        with self._counts:
            return self._pushed - self._taken

    def frames(self, *, timeout: float | None = None) -> Iterator[Frame]:
        """The frames of all latents that were pushed so far, or of a file to its end, as each is decoded. A timeout is that
        of each frame, as take()'s."""
        if self._size is None:  # of a file
            while (frame := self.take(timeout=timeout)) is not None:
                yield frame
            return
        while self.pending > 0:
            frame = self.take(timeout=timeout)
            assert frame is not None
            yield frame

    def _prove(self) -> None:
        """That the steps which have ended made finite values; waits for none. Of a step, one frame is held until then."""
        while self._unproven and (finite := self._unproven[0].finite) is not None:
            frame = self._unproven.popleft()
            frame.release()
            if not finite:
                self._unproven.clear()
                raise InvalidArgument(f"frame {frame.index} holds values that are not finite: the latents do, or the decoder "
                                      f"made them of these; stream() gives frames as they are")

    def _settle(self) -> None:
        """Warns of values of the steps so far that were not finite, and stops asking about those steps."""
        try:
            self._prove()
        except InvalidArgument as error:
            warnings.warn(f"the clip before: {error}", RuntimeWarning, stacklevel=4)
        except Error:
            pass  # of a device that was lost, or of a child of fork(): who uses the stream is told
        self._unproven.clear()

    def reset(self) -> None:
        """Begins a new clip: what was not taken is dropped."""
        self._settle()
        if self._clip is None:
            return
        check(library.kg_clip_reset(self._made().value))
        with self._counts:
            self._pushed = self._taken = 0

    def cancel(self) -> None:
        """Ends the waiting of push() and take() in other threads, which raise Cancelled until reset()."""
        if self._clip is not None:
            check(library.kg_clip_cancel(self._made().value))

    def close(self, *, timeout: float | None = None) -> None:
        """No more frames. Those that were taken, and arrays made of them, stay good.

        Waits for the steps that are being decoded, also while frames are held; with a timeout, in seconds, raises
        TimeoutError if they have not ended, and may be called again.
        """
        self._settle()
        clip, deadline = self._clip, Deadline(timeout)
        if clip is not None:
            library.kg_clip_cancel(clip.value)
        self._closed = True
        while clip is not None:
            result = library.kg_clip_close(clip.value, deadline.left_ns(_POLL_NS))
            # Busy: another thread's push() is about to return. Unsupported: a child of fork(), where there is nothing to end.
            if result in (_library.OK, _library.UNSUPPORTED):
                break
            if result not in (_library.TIMEOUT, _library.BUSY):
                check(result)
            if deadline.passed:
                raise TimeoutError(f"the stream's last steps have not ended within {timeout} s")
        self._clip = None

    def stats(self) -> dict[str, Any]:
        """Sizes, counts, seconds of a step on the device, and bytes; for a watchdog, for how many seconds, as the calls of
        stats() have seen it, work has not come further ("unmoved_s")."""
        info = _library.ClipInfo()
        check(library.kg_clip_describe(self._made().value, byref(info)))
        return {"width": info.width, "height": info.height, "slots": info.slots, "frames": info.frames, "fps": info.fps,
                "route": info.route.decode(), "frames_waiting": info.frames_waiting, "frames_held": info.frames_acquired,
                "steps": info.steps, "last_step_s": info.last_step_ns / 1e9, "average_step_s": info.average_step_ns / 1e9,
                "state_bytes": info.state_bytes, "clip_bytes": info.clip_bytes, "model_bytes": info.model_bytes,
                "device_bytes": info.device_bytes, "device_free": info.device_free, "unmoved_s": info.unmoved_ns / 1e9}

    @property
    def nbytes(self) -> int:
        """What this clip takes beside the decoder's weights; 0 before the first latents."""
        return 0 if self._clip is None else int(self.stats()["clip_bytes"])

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[Frame]:
        return self.frames()

    def __reduce__(self) -> Any:
        raise TypeError("a stream is the state of a device and cannot be pickled: each process makes its own")

    def __repr__(self) -> str:
        if self._closed:
            return "<kinetograph.Stream: closed>"
        if self._clip is None:
            return "<kinetograph.Stream: waits for its first latents>"
        stats = self.stats()
        return (f"<kinetograph.Stream: {stats['width']} x {stats['height']} {self._dtype}, {stats['steps']} steps, "
                f"{stats['frames_waiting']} frames waiting, {stats['frames_held']} held>")


class Decoder:
    """A checkpoint on a device: ``Decoder("vae.safetensors").decode(latents)``.

    weights    a path, "synthetic:wan2.1,dim=8", or the bytes of a checkpoint of one file
    device     "auto", "cpu", "cuda", "hip:1", "cuda:GPU-..."; auto is a GPU that can decode, else the CPU
    precision  "bf16", "fp16", "fp32" or "fp8"
    normalized whether latents are as a diffusion model makes them (True) or as the decoder takes them, z * std + mean
    clamp      whether float frames are clamped to [-1, 1]
    memory_budget  bytes that may be held on the device; 0: what it has
    timeout    seconds that opening may take; then TimeoutError
    """

    def __init__(self, weights: str | os.PathLike[str] | bytes, *, device: str = "auto", precision: str = "bf16",
                 normalized: bool = True, clamp: bool = True, memory_budget: int = 0,
                 timeout: float | None = None) -> None:
        if precision not in _library.PRECISIONS:
            raise InvalidArgument(f"precision {precision}: there are {', '.join(_library.PRECISIONS)}")
        made = c_void_p()
        with Deadline(timeout).stop() as stop:
            self._weights = _weights(weights, stop)
            desc = _library.ModelDesc(precision=_library.PRECISIONS[precision], latent_scale=0 if normalized else 1,
                                      unclamped=0 if clamp else 1, device=device.encode(), memory_budget=memory_budget,
                                      stop=stop)
            check(library.kg_model_create(self._weights.value, byref(desc), byref(made)))
        self._model = _Handle(library.kg_model_destroy, made, self._weights)
        info = _library.ModelInfo()
        check(library.kg_model_describe(made, byref(info)))
        self.device_pair: tuple[str, int] = (_library.DEVICE_KINDS[info.device_kind], info.device_ordinal)
        #: Channels of latents, pixels of a frame for one of a latent, frames for one latent frame after the first.
        self.channels: int = info.channels
        self.spatial_scale: int = info.spatial_scale
        self.frames_per_latent: int = info.frames_of_a_step
        self.description: str = info.description.decode()
        self._decoding = threading.Lock()
        self._cached: Stream | None = None

    @property
    def device(self) -> str:
        """"cuda:0" """
        return f"{self.device_pair[0]}:{self.device_pair[1]}"

    def latent_statistics(self) -> tuple[list[float], list[float]]:
        """Mean and standard deviation of each channel: z * std + mean is what the network takes."""
        info = _library.WeightsInfo()
        check(library.kg_weights_describe(self._weights.value, byref(info)))
        return info.latents_mean[: info.channels], info.latents_std[: info.channels]

    def stream(self, *, dtype: str = "uint8", layout: str = "HWC", chunk: int = 3, fps: float = 24.0,
               device: str | None = None) -> Stream:
        """A stream for latents that are made chunk by chunk; `chunk` latent frames fit in without waiting.

        Frames are on the decoder's device, with device="cpu" in the host's memory.
        """
        on_device = self.device_pair[0] != "cpu" and device != "cpu"
        return Stream(self, dtype, layout, chunk, fps, on_device)

    def open(self, path: str | os.PathLike[str], *, dtype: str = "uint8", layout: str = "HWC",
             device: str | None = None, timeout: float | None = None) -> Stream:
        """The frames of a latents file, decoded ahead of its reader. A timeout is that of opening, in seconds."""
        on_device = self.device_pair[0] != "cpu" and device != "cpu"
        return Stream(self, dtype, layout, 1, 0.0, on_device, os.fspath(path), timeout)

    def decode(self, latents: Any, *, dtype: str = "uint8", layout: str = "THWC",
               on_frames: Callable[[int, Any], None] | None = None, timeout: float | None = None) -> Any:
        """All frames of a clip, [T, height, width, 3] or [T, 3, height, width]: torch's or CuPy's where the latents are, if
        they are theirs, else a NumPy array.

        latents    [C, T, h, w] or [1, C, T, h, w], float32, float16 or bfloat16, any strides
        dtype      "uint8"; "float32" or "float16" in [-1, 1]
        on_frames  called with an index and the frames from there on that are done, while later ones are decoded
        timeout    seconds, then TimeoutError

        Frames that are not finite raise InvalidArgument. On a GPU nothing waits for the last steps: of those that have not
        ended yet a RuntimeWarning tells with the next call.
        """
        deadline = Deadline(timeout)
        batch = Batch(latents, self.device_pair, None)
        try:
            with self._decoding:
                state = self._state("float32" if dtype == "float16" else dtype, layout, batch)
                try:
                    state.reset()
                    return self._decode(state, latents, batch, dtype, on_frames, deadline)
                except TimeoutError:
                    state.cancel()
                    raise
                except BaseException:
                    self.close()
                    raise
        finally:
            batch.close()

    def _state(self, dtype: str, layout: str, batch: Batch) -> Stream:
        """That of the decode before, if it fits."""
        wanted = (dtype, _of_a_frame(layout), batch.on_device, batch.size)
        cached = self._cached
        if cached is None or (cached._dtype, cached._layout, cached._on_device, cached._size) != wanted:
            self.close()
            self._cached = cached = Stream(self, dtype, wanted[1], 3, 24.0, batch.on_device)
        return cached

    # The verbs of serving stacks: new state, decode a chunk, release.

    def new_state(self, *, dtype: str = "uint8", layout: str = "THWC", device: str | None = None) -> Stream:
        """The state of one session, for decode_chunk(); its `nbytes` say what it takes."""
        return self.stream(dtype=dtype, layout=_of_a_frame(layout), device=device)

    def decode_chunk(self, state: Stream, latents: Any, *,
                     on_frames: Callable[[int, Any], None] | None = None, timeout: float | None = None) -> Any:
        """The frames of the next latents of that session, as decode() gives them. After an error the session begins anew
        with state.reset()."""
        deadline = Deadline(timeout)
        batch = Batch(latents, self.device_pair, None)
        try:
            return self._decode(state, latents, batch, state._dtype, on_frames, deadline)
        finally:
            batch.close()

    def release(self, state: Stream) -> None:
        """The session has ended."""
        state.close()

    def _decode(self, state: Stream, latents: Any, batch: Batch, dtype: str,
                on_frames: Callable[[int, Any], None] | None, deadline: Deadline) -> Any:
        first = 1 if state._pushed == 0 else self.frames_per_latent
        total = first + self.frames_per_latent * (batch.frames - 1)
        height, width = (side * self.spatial_scale for side in batch.size)
        shape = {"HWC": (total, height, width, 3), "CHW": (total, 3, height, width),
                 "HWC4": (total, height, width, 4)}[state._layout]
        out = _Output(latents, shape, dtype)
        done = 0

        def collect() -> None:
            nonlocal done
            begin = done
            frame: Frame | None = None
            for _ in range(first if done == 0 else self.frames_per_latent):
                if frame is not None:
                    frame.release()
                frame = state.take(timeout=deadline.left)
                assert frame is not None
                out.store(done, frame)
                done += 1
            assert frame is not None
            state._unproven.append(frame)
            state._prove()
            if on_frames is not None:
                on_frames(begin, out.array[begin:done])

        for t in range(batch.frames):  # two steps are on their way while the frames of one are stored
            if deadline.passed:
                raise TimeoutError(f"{done} of {total} frames were decoded within {deadline.timeout} s")
            state._push(batch, t, t + 1, deadline)
            if t > 0:
                collect()
        collect()
        return out.array

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Gives back what decode() keeps; streams stay good."""
        if self._cached is not None:
            self._cached.close()
        self._cached = None

    def __reduce__(self) -> Any:
        raise TypeError("a decoder is memory of a device and cannot be pickled: each process opens its own")

    def __repr__(self) -> str:
        return f"<kinetograph.Decoder: {self.description}, {self.channels} latent channels>"


def _of_a_frame(layout: str) -> str:
    if layout not in ("THWC", "TCHW"):
        raise InvalidArgument(f"the layout of frames is THWC or TCHW, not {layout}")
    return layout[1:]


class _Output:
    """Where the frames of decode() are stored: an array of the latents' package, where they are."""

    def __init__(self, latents: Any, shape: tuple[int, ...], dtype: str) -> None:
        self._is_torch = is_torch(latents)
        if self._is_torch:
            torch = sys.modules["torch"]
            self.array = torch.empty(shape, dtype=getattr(torch, dtype), device=latents.device)
            return
        if device_of(latents)[0] == "cpu":
            import numpy as package
        elif is_cupy(latents):
            package = sys.modules["cupy"]
        else:
            raise InvalidArgument(f"decode() makes arrays of torch, CuPy and NumPy, and the latents are a "
                                  f"{type(latents).__name__} on a GPU: take the frames of stream() by DLPack")
        self._from_dlpack = package.from_dlpack
        self.array = package.empty(shape, dtype)

    def store(self, index: int, frame: Frame) -> None:
        if self._is_torch:
            self.array[index].copy_(sys.modules["torch"].from_dlpack(frame))
        else:
            self.array[index] = self._from_dlpack(frame)


def _weights(weights: str | os.PathLike[str] | bytes, stop: int | None) -> _Handle:
    made = c_void_p()
    instance = _library.instances.handle()
    if isinstance(weights, (bytes, bytearray, memoryview)):
        contents = bytes(weights)
        address = ctypes.cast(ctypes.c_char_p(contents), c_void_p)
        check(library.kg_weights_parse(instance, address, len(contents), b"weights in memory", None, None, byref(made)))
        return _Handle(library.kg_weights_destroy, made, contents)
    check(library.kg_weights_open_until(instance, os.fsencode(weights), stop, byref(made)))
    return _Handle(library.kg_weights_destroy, made)
