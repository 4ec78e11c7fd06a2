"""Decoder: a checkpoint on a device."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from ctypes import byref, c_void_p
from typing import Any, Callable, Iterator

from . import _library
from ._deadline import Deadline
from ._latents import Batch, Patches, is_torch
from ._library import Busy, InvalidArgument, check, library
from ._output import output_of
from .frame import Frame, Handle
from .stream import Stream


class Decoder:
    """A checkpoint on a device: ``Decoder("vae.safetensors").decode(latents)``.

    weights    a path, "synthetic:wan2.1,dim=8", or the bytes of a checkpoint of one file
    device     "auto", "cpu", "cuda", "hip:1", "cuda:GPU-...", or torch's; auto is a GPU that can decode, else the CPU
    precision  "bf16", "fp16" or "fp32"
    sums       how convolutions add: "exact"; "fast", which also allows Winograd's; "int8", where most multiply 8-bit
               integers: docs/eight-bits.md
    normalized whether latents are as a diffusion model makes them (True) or as the decoder takes them, z * std + mean
               (False); None: normalised, but a file that says that it is raw is read as raw
    family     which family's decoder it is, "lighttaew2.1"; None: by its tensors, class, name and widths
    statistics of latents: "none", a family's name, or a JSON file with latents_mean and latents_std; None: the
               checkpoint's, else its latent space's
    clamp      whether float frames are clamped to [-1, 1]
    memory_budget  bytes that may be held on the device; 0: all that it has
    timeout    seconds that opening may take; then TimeoutError
    """

    def __init__(self, weights: str | os.PathLike[str] | bytes, *, device: Any = "auto", precision: str = "bf16",
                 normalized: bool | None = None, clamp: bool = True, memory_budget: int = 0,
                 timeout: float | None = None, family: str | None = None,
                 statistics: str | os.PathLike[str] | None = None, sums: str = "exact") -> None:
        if precision not in _library.PRECISIONS:
            raise InvalidArgument(f"precision {precision}: there are {', '.join(_library.PRECISIONS)}")
        if sums not in _library.SUMS:
            raise InvalidArgument(f"sums {sums}: there are {', '.join(_library.SUMS)}")
        if not isinstance(memory_budget, int) or not 0 <= memory_budget < 1 << 64:
            raise InvalidArgument(f"memory_budget is a number of bytes, 0 for what the device has, and not "
                                  f"{memory_budget!r}")
        name = _device_name(device).encode()
        made = c_void_p()
        with Deadline(timeout).stop() as stop:
            source = _weights(weights, stop, family, statistics)
            desc = _library.ModelDesc(precision=_library.PRECISIONS[precision], sums=_library.SUMS[sums],
                                      latent_scale=_SCALES[normalized], unclamped=0 if clamp else 1, device=name,
                                      memory_budget=memory_budget, stop=stop)
            check(library.kg_model_create(source.value, byref(desc), byref(made)))
        self._model: Handle | None = Handle(library.kg_model_destroy, made, source)
        self._statistics, patch = _statistics(source)
        info = _library.ModelInfo()
        check(library.kg_model_describe(made, byref(info)))
        self.device_pair: tuple[str, int] = (info.device_kind.decode(), info.device_ordinal)
        #: Channels of latents; pixels of a frame per latent pixel, each way; frames per latent frame after the first.
        self.channels: int = info.channels
        #: How latents with patches as channels become those of pixels; None: of families that have no such.
        self._patches = None if patch == 1 else Patches(self.channels, patch, *self._statistics, normalized)
        self.spatial_scale: int = info.spatial_scale
        self.frames_per_latent: int = info.frames_of_a_step
        self.description: str = info.description.decode()
        #: Whether the checkpoint has an encoder that the device can run: Encoder(decoder).
        self.encodes: bool = info.encodes != 0
        self._decoding = threading.Lock()
        self._decodes: int | None = None  # the thread in decode()
        self._cached: Stream | None = None

    @property
    def device(self) -> str:
        """"cuda:0" """
        return f"{self.device_pair[0]}:{self.device_pair[1]}"

    def latent_statistics(self) -> tuple[list[float], list[float]]:
        """Mean and standard deviation of each channel: z * std + mean is what the network takes. Of FLUX.2 those of
        its 128 channels of 2 x 2 pixels."""
        return list(self._statistics[0]), list(self._statistics[1])

    def _opened(self) -> Handle:
        """The model. Raises InvalidArgument once the decoder is closed."""
        model = self._model
        if model is None:
            raise InvalidArgument("the decoder is closed")
        return model

    def declared_state_bytes(self, height: int, width: int, *, rewind: int = 0) -> int:
        """Bytes of the device that a stream for latents of that size, in latent pixels, will keep from step to step:
        exactly what stats()["state_bytes"] then says. Raises OutOfMemory if it would not fit now."""
        model, info = self._opened(), _library.ClipInfo()
        check(library.kg_model_declare_clip(model.value, height, width,
                                            byref(_library.ClipDesc(rewind_steps=rewind)), byref(info)))
        return int(info.state_bytes)

    def admission(self, height: int, width: int, *, fps: float | None = None, background: bool = False,
                  rewind: int = 0) -> dict[str, Any]:
        """Whether a further shared stream for latents of that size, in latent pixels, fits now: `fits`, bytes of the
        device (`needed_bytes`, `free_bytes`), and seconds of it a second, that the stream wants at `fps`
        (`needed_seconds`) and the visible ones that are open (`taken_seconds`, `visible_streams`). `known` says what
        the seconds are from: steps of this size ("measured"), of another one ("estimated"), or nothing yet ("no")."""
        model, answer = self._opened(), _library.Admission()
        desc = _library.ClipDesc(fps=_rate(fps), rewind_steps=rewind, sharing=2 if background else 1)
        check(library.kg_model_admission(model.value, height, width, byref(desc), byref(answer)))
        return {"fits": answer.fits != 0, "needed_bytes": answer.needed_bytes, "free_bytes": answer.free_bytes,
                "needed_seconds": answer.needed_seconds, "taken_seconds": answer.taken_seconds,
                "visible_streams": answer.visible_clips, "known": ("no", "estimated", "measured")[answer.known]}

    def metrics(self) -> str:
        """The figures of the shared streams as text for Prometheus."""
        pieces: list[bytes] = []
        take = _library.TakePiece(lambda _, piece, size: pieces.append(ctypes.string_at(piece, size)))
        check(library.kg_model_metrics(self._opened().value, take, None))
        return b"".join(pieces).decode()

    def stream(self, *, dtype: str = "uint8", layout: str = "HWC", chunk: int = 3, fps: float | None = None,
               device: Any = None, rewind: int = 0, shared: bool = False, background: bool = False,
               weight: float = 1.0, passes: bool = False, only_if_fits: bool = False) -> Stream:
        """A stream for latents that are made chunk by chunk; `chunk` latent frames fit in without waiting. `fps` None:
        the rate of the family's videos. `rewind`: latent frames by which Stream.rewind() can go back. `passes`: their
        times are recorded, for Stream.passes().

        Streams that are `shared` have one queue and one working memory: a further one takes its state and its frames.
        Their steps go in the order in which they are due at `fps`; where there is too much to do, streams have parts of
        the device by their weights, and one in the `background` an eighth of its weight, and what others leave.
        Under overload those in the background are held back. With `only_if_fits` the first latents of a stream raise
        OutOfMemory where admission() says that it does not fit.

        Frames are on the decoder's device, with device="cpu" in the host's memory.
        """
        if background and not shared:
            raise InvalidArgument("a stream is in the background of others that it shares the decoder's queue with: "
                                  "shared=True")
        if not isinstance(rewind, int) or not 0 <= rewind < 1 << 32:
            raise InvalidArgument(f"rewind is a number of latent frames, and not {rewind!r}")
        return Stream(self, dtype, layout, chunk, _rate(fps), self._frames_on_device(device),
                      chosen={"rewind_steps": rewind, "sharing": (2 if background else 1) if shared else 0,
                              "weight": weight, "passes": 1 if passes else 0,
                              "only_if_fits": 1 if only_if_fits else 0})

    def open(self, path: str | os.PathLike[str], *, dtype: str = "uint8", layout: str = "HWC",
             device: Any = None, timeout: float | None = None, fps: float | None = None, tensor: str | None = None,
             batch_item: int | None = None, axes: str | None = None) -> Stream:
        """The frames of a latents file, decoded ahead of its reader.

        timeout     seconds that opening may take
        fps         frames a second; None: the file's, else that of the family's videos
        tensor      the one with the latents; None: by the usual names, or the only one that fits
        batch_item  of a batch, the clip to decode, from 0
        axes        their order in the tensor, "BTChw"; None: that which has the decoder's channels
        """
        if batch_item is not None and not 0 <= batch_item < 1 << 31:
            raise InvalidArgument(f"batch_item is the number of a clip, from 0, and not {batch_item!r}")
        chosen = {"tensor": None if tensor is None else tensor.encode(),
                  "batch_item": 0 if batch_item is None else batch_item + 1,
                  "axes": None if axes is None else axes.encode()}
        return Stream(self, dtype, layout, 1, _rate(fps), self._frames_on_device(device), os.fspath(path), timeout,
                      chosen)

    def _frames_on_device(self, device: Any) -> bool:
        name = self.device if device is None else _device_name(device)
        if name not in ("cpu", self.device, self.device_pair[0]):
            raise InvalidArgument(f"frames are on {self.device}, where the decoder is, or on the cpu, and not on "
                                  f"{name}")
        return not name.startswith("cpu")

    def decode(self, latents: Any, *, dtype: str = "uint8", layout: str = "THWC",
               on_frames: Callable[[int, Any], None] | None = None, timeout: float | None = None) -> Any:
        """All frames of a clip, [T, height, width, 3] or [T, 3, height, width]: an array of the latents' package
        (torch, CuPy, JAX or NumPy) where the latents are; for any other package's in host memory a NumPy array.

        latents    [C, T, h, w] or [1, C, T, h, w], float32, float16 or bfloat16, any strides; for FLUX.2 also those of
                   its transformer, of 128 channels
        dtype      "uint8"; "float32" or "float16" in [-1, 1]
        on_frames  called with the index of a step's first frame and the step's frames, while later ones are decoded
        timeout    seconds, then TimeoutError

        Frames that are not finite raise InvalidArgument. On a GPU decode() does not wait for the last steps: if their
        frames are not finite, the next call gives a RuntimeWarning.
        """
        deadline = Deadline(timeout)
        batch = Batch(latents, self.device_pair, None, self._patches)
        try:
            with self._one_at_a_time(deadline):
                state = self._state(dtype, layout, batch)
                try:
                    state.reset()
                    return self._decode(state, latents, batch, on_frames, deadline)
                except TimeoutError:
                    state.cancel()
                    raise
                except BaseException:
                    self._forget_state()
                    raise
        finally:
            batch.close()

    @contextlib.contextmanager
    def _one_at_a_time(self, deadline: Deadline) -> Iterator[None]:
        if self._decodes == threading.get_ident():
            raise Busy("decode() is called by its own on_frames: another Decoder, or a stream(), decodes meanwhile")
        left = deadline.left
        if not self._decoding.acquire(timeout=-1 if left is None else min(left, threading.TIMEOUT_MAX)):
            raise TimeoutError(f"another thread's decode() has not ended within {deadline.timeout} s")
        self._decodes = threading.get_ident()
        try:
            yield
        finally:
            self._decodes = None
            self._decoding.release()

    def _state(self, dtype: str, layout: str, batch: Batch) -> Stream:
        """The stream of the previous decode(), if it fits; else a new one."""
        wanted = (dtype, _of_a_frame(layout), batch.on_device, batch.size)
        cached = self._cached
        if cached is None or (cached._dtype, cached._layout, cached._on_device, cached._size) != wanted:
            self._forget_state()
            self._cached = cached = Stream(self, dtype, wanted[1], 3, 0.0, batch.on_device)
        return cached

    # The verbs of serving stacks: new state, decode a chunk, release.

    def new_state(self, *, dtype: str = "uint8", layout: str = "THWC", device: Any = None) -> Stream:
        """The state of one session, for decode_chunk(); its `nbytes` say what it takes."""
        return self.stream(dtype=dtype, layout=_of_a_frame(layout), device=device)

    def decode_chunk(self, state: Stream, latents: Any, *,
                     on_frames: Callable[[int, Any], None] | None = None, timeout: float | None = None) -> Any:
        """The frames of the next latents of that session, as decode() gives them. After an error, state.reset() starts
        the session over. One thread at a time decodes a session: another one gets Busy."""
        deadline = Deadline(timeout)
        _check_is_state(state)
        if not state._decodes.acquire(blocking=False):
            raise Busy("a decode_chunk() of this state has not ended, of another thread or around this on_frames: the "
                       "frames of two would mix; each session has a state of its own")
        try:
            batch = Batch(latents, self.device_pair, None, self._patches)
            try:
                return self._decode(state, latents, batch, on_frames, deadline)
            finally:
                batch.close()
        finally:
            state._decodes.release()

    def release(self, state: Stream) -> None:
        """Ends the session."""
        _check_is_state(state)
        state.close()

    def _check_state(self, state: Stream, latents: Any, batch: Batch) -> None:
        if state._decoder is not self:
            raise InvalidArgument("the state is of another decoder")
        if state._layout == "HWC4":
            raise InvalidArgument("decode_chunk() makes frames of three channels, and the stream's have four: "
                                  "new_state()")
        if state.pending > 0:
            raise InvalidArgument(f"{state.pending} frames of the state were not taken: after an error and after "
                                  "push() it begins anew with reset()")
        if state._on_device != batch.on_device and not is_torch(latents):
            where = f"on {self.device}" if state._on_device else "in the host's memory"
            raise InvalidArgument(f"the state's frames are {where}, and the latents are not: new_state(device=\"cpu\") "
                                  "is for latents in the host's memory")

    def _decode(self, state: Stream, latents: Any, batch: Batch,
                on_frames: Callable[[int, Any], None] | None, deadline: Deadline) -> Any:
        self._check_state(state, latents, batch)
        first = 1 if state._pushed == 0 else self.frames_per_latent
        total = first + self.frames_per_latent * (batch.frames - 1)
        height, width = (side * self.spatial_scale for side in batch.size)
        of_a_frame = (3, height, width) if state._layout == "CHW" else (height, width, 3)
        out = output_of(latents, (total, *of_a_frame), state._dtype, state._layout, state._reads)
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
                out.store(frame)
                done += 1
            assert frame is not None
            state._unproven.append(frame)
            state._prove()
            stored = out.end_step()
            if on_frames is not None:
                on_frames(begin, stored)

        for t in range(batch.frames):  # two steps are on their way while the frames of one are stored
            if deadline.passed:
                raise TimeoutError(f"{done} of {total} frames were decoded within {deadline.timeout} s")
            state._push(batch, t, t + 1, deadline)
            if t > 0:
                collect()
        collect()
        return out.all()

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Releases what decode() keeps. The decoder's streams stay usable, and the weights are released once these are
        closed. decode() and stream() raise InvalidArgument from then on."""
        self._forget_state()
        self._model = None

    def _forget_state(self) -> None:
        cached, self._cached = self._cached, None
        if cached is not None:
            cached.close()

    def __reduce__(self) -> Any:
        raise TypeError("a decoder is memory of a device and cannot be pickled: each process opens its own")

    def __repr__(self) -> str:
        if self._model is None:
            return "<kinetograph.Decoder: closed>"
        return f"<kinetograph.Decoder: {self.description}, {self.channels} latent channels>"


_SCALES = {None: 0, False: 1, True: 2}  # kg_latent_scale


def _rate(fps: float | None) -> float:
    if fps is not None and not fps > 0:
        raise InvalidArgument(f"{fps} frames a second")
    return fps or 0.0


def _device_name(device: Any) -> str:
    """The name of a device that is given by name or as torch's; None is auto."""
    if device is None:
        return "auto"
    torch = sys.modules.get("torch")
    if isinstance(device, str) or (torch is not None and isinstance(device, torch.device)):
        return str(device)
    raise InvalidArgument(f'a device is a name like "cuda:0", or torch\'s, and not {device!r}')


def _check_is_state(state: Any) -> None:
    if not isinstance(state, Stream):
        raise InvalidArgument(f"the state is a {type(state).__name__}: new_state() makes one")


def _of_a_frame(layout: str) -> str:
    if layout not in ("THWC", "TCHW"):
        raise InvalidArgument(f"the layout of frames is THWC or TCHW, not {layout}")
    return layout[1:]


def family_of(weights: str | os.PathLike[str]) -> str:
    """"wan2.1" """
    info = _library.WeightsInfo()
    opened = _weights(weights, None)
    check(library.kg_weights_describe(opened.value, byref(info)))
    return str(info.family.decode())


def _statistics(weights: Handle) -> tuple[tuple[list[float], list[float]], int]:
    """Means and deviations, and the pixels of a patch that they are of, each way."""
    info = _library.WeightsInfo()
    check(library.kg_weights_describe(weights.value, byref(info)))
    count = info.statistics
    return (info.latents_mean[:count], info.latents_std[:count]), info.latent_patch


def _weights(weights: str | os.PathLike[str] | bytes, stop: int | None, family: str | None = None,
             statistics: str | os.PathLike[str] | None = None) -> Handle:
    made = c_void_p()
    desc = _library.WeightsDesc(family=None if family is None else family.encode(), stop=stop,
                                statistics=None if statistics is None else os.fsencode(statistics))
    kept = None
    if isinstance(weights, (bytes, bytearray, memoryview)):
        kept = bytes(weights)
        desc.contents, desc.bytes = ctypes.cast(ctypes.c_char_p(kept), c_void_p), len(kept)
        desc.path = b"weights in memory"
    else:
        desc.path = os.fsencode(weights)
    check(library.kg_weights_create(_library.instances.handle(), byref(desc), byref(made)))
    return Handle(library.kg_weights_destroy, made, kept)
