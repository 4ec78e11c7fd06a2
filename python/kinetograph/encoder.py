"""Encoder: pictures into latents."""

from __future__ import annotations

import os
import sys
from ctypes import POINTER, byref, c_float, c_uint32, c_void_p, cast
from typing import TYPE_CHECKING, Any, Iterator

from . import _dlpack, _library
from ._deadline import Deadline
from ._latents import device_of, is_cupy, is_jax, is_torch, packed
from ._library import InvalidArgument, check, library
from .decoder import Decoder
from .frame import Handle

if TYPE_CHECKING:
    from .reencoder import Reencoder

_POLL_NS = 100_000_000  # how soon Ctrl-C is noticed
_TYPES = {(_dlpack.UINT, 8): _library.PICTURE_UINT8, (_dlpack.FLOAT, 32): _library.PICTURE_FLOAT32,
          (_dlpack.FLOAT, 16): _library.PICTURE_FLOAT16, (_dlpack.BFLOAT, 16): _library.PICTURE_BFLOAT16}


class Encoder:
    """The encoder of a checkpoint: ``Encoder("vae.safetensors").encode(pictures)``.

    weights   what Decoder takes, with the same options: device, precision, sums, normalized, family, statistics,
              memory_budget, timeout; or a Decoder, whose device and options it shares

    Latents are normalised, (z - mean) / std, as decode() takes them; with normalized=False as the network makes them.
    """

    def __init__(self, weights: str | os.PathLike[str] | bytes | Decoder, **options: Any) -> None:
        if isinstance(weights, Decoder) and options:
            raise InvalidArgument(f"the encoder of an open Decoder has its options, {', '.join(options)} too")
        self._decoder = weights if isinstance(weights, Decoder) else Decoder(weights, **options)
        self._is_own = self._decoder is not weights

    def encode(self, pictures: Any, *, layout: str | None = None, sample: int | None = None, moments: bool = False,
               timeout: float | None = None) -> Any:
        """The latents of a clip, [C, T, h, w] float32: an array of the pictures' package (torch, CuPy, JAX or NumPy)
        where the pictures are.

        pictures  uint8, or float32, float16 or bfloat16 in [-1, 1], of any strides: [T, height, width, 3], [3, T,
                  height, width] or [T, 3, height, width], also with a batch axis of 1 before it, or one picture
        layout    "THWC", "CTHW" or "TCHW"; None: by the axis that is 3
        sample    a seed: latents are drawn from their distribution; None: its mean
        moments   whether to give means, then logarithms of variances, of latents as the network makes them
        timeout   seconds, then TimeoutError

        `first_pictures` (1) make the first latent frame, and each further one is made of `pictures_of_a_latent` (Wan
        2.1: 4): pictures beyond these are an InvalidArgument. Of TAEHV's encoders all latent frames are made of four,
        and the last one is filled up with the last picture. One picture is encoded without what later ones would need.
        """
        deadline = Deadline(timeout)
        view = _View(pictures, layout)
        try:
            one = view.count == 1
            with self.stream(*view.size, sample=sample, moments=moments, one_picture=one, timeout=timeout) as stream:
                group, first = stream.pictures_of_a_latent, stream.first_pictures
                if first == 1 and (view.count - 1) % group != 0:
                    raise InvalidArgument(f"{view.count} pictures: a clip has 1 + {group} n, and of these the last "
                                          f"{(view.count - 1) % group} make no latent frame: leave them out")
                frames = 1 + -(-max(view.count - first, 0) // group)
                made = _empty(pictures, (frames, *stream.shape))
                stream._encode(view, made, deadline)
        finally:
            view.close()
        return _given_back(pictures, made)

    def stream(self, height: int, width: int, *, sample: int | None = None, moments: bool = False,
               one_picture: bool = False, ahead: int = 4, timeout: float | None = None) -> EncoderStream:
        """Takes pictures of that size as they are made; `ahead` latent frames are encoded ahead of their reader. With
        `one_picture` a clip is one: it takes no state, and only one picture's working memory."""
        desc = _library.EncoderDesc(encoded=_encoded(sample, moments), ahead=ahead,
                                    one_picture=1 if one_picture else 0, seed=sample or 0)
        return EncoderStream(self._decoder, height, width, desc, Deadline(timeout))

    def reencoder(self, height: int, width: int, *, frames: bool = False, sample: int | None = None,
                  moments: bool = False, timeout: float | None = None) -> Reencoder:
        """Takes latents of that size, in latent pixels, and gives the latents of their frames, which do not leave the
        device, and with `frames` these, too."""
        from .reencoder import Reencoder

        desc = _library.ReencoderDesc(encoded=_encoded(sample, moments), frames=1 if frames else 0, seed=sample or 0)
        return Reencoder(self._decoder, height, width, desc, Deadline(timeout))

    @property
    def decoder(self) -> Decoder:
        """The other direction, on the same device."""
        return self._decoder

    def __enter__(self) -> Encoder:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Releases the weights once streams are closed; those of a Decoder that it was made of are that one's."""
        if self._is_own:
            self._decoder.close()

    def __reduce__(self) -> Any:
        raise TypeError("an encoder is memory of a device and cannot be pickled: each process opens its own")

    def __repr__(self) -> str:
        return f"<kinetograph.Encoder of {self._decoder!r}>"


def _encoded(sample: int | None, moments: bool) -> int:
    if sample is not None and moments:
        raise InvalidArgument("sample draws latents from the moments: it is one of the two")
    if sample is not None and not (isinstance(sample, int) and 0 <= sample < 1 << 64):
        raise InvalidArgument(f"sample is a seed, a number from 0 to 2**64 - 1, and not {sample!r}")
    if sample is not None:
        return _library.ENCODED_SAMPLE
    return _library.ENCODED_MOMENTS if moments else _library.ENCODED_MEAN


class EncoderStream:
    """Pictures go in, latents come out. Made by Encoder.stream().

        with encoder.stream(480, 832) as stream:
            stream.push(pictures)
            for latents in stream.latents(): ...      # those that are there
            stream.finish()
            for latents in stream.latents(): ...      # all others
    """

    def __init__(self, decoder: Decoder, height: int, width: int, desc: _library.EncoderDesc,
                 deadline: Deadline) -> None:
        for side in (height, width):
            if not isinstance(side, int) or not 0 < side < 1 << 32:
                raise InvalidArgument(f"pictures have a height and a width in pixels, and not {height!r} x {width!r}")
        model, made = decoder._opened(), c_void_p()
        with deadline.stop() as stop:
            desc.stop = stop
            check(library.kg_encoder_create(model.value, height, width, byref(desc), byref(made)))
        self._encoder: Handle | None = Handle(library.kg_encoder_destroy, made, model)
        self._finished = False
        info = _library.EncoderInfo()
        check(library.kg_encoder_describe(made, byref(info)))
        #: Of a latent frame: channels, height and width; pictures of one after the first.
        self.shape: tuple[int, int, int] = (info.channels, info.height, info.width)
        self.pictures_of_a_latent: int = info.pictures_of_a_latent
        self.first_pictures: int = info.first_pictures
        #: Bytes of the encoder's state, working memory, pictures and latents.
        self.nbytes: int = info.encoder_bytes
        self.state_bytes: int = info.state_bytes

    def _opened(self) -> Handle:
        """The encoder, which its caller keeps for as long as a call of the library."""
        encoder = self._encoder
        if encoder is None:
            raise InvalidArgument("the stream is closed")
        return encoder

    def push(self, pictures: Any, *, layout: str | None = None, timeout: float | None = None) -> None:
        """Takes pictures, as Encoder.encode() does, and returns before they are encoded. Waits while there is no room,
        which take() makes: without a timeout as long as that takes; else TimeoutError, which says how many were
        taken."""
        deadline = Deadline(timeout)
        view = _View(pictures, layout)
        try:
            done = self._push(view, 0, view.count, deadline)
        finally:
            view.close()
        if done < view.count:
            raise TimeoutError(f"{done} of {view.count} pictures were taken within {timeout} s: take() makes room")

    def _push(self, view: _View, begin: int, end: int, deadline: Deadline) -> int:
        """Pictures that were taken before the deadline."""
        encoder, count = self._opened(), c_uint32()
        while begin < end:
            wait = deadline.left_ns(_POLL_NS)
            result = check(library.kg_encoder_push(encoder.value, byref(view.part(begin, end)), wait, byref(count)))
            begin += count.value
            if result == _library.TIMEOUT and deadline.passed:
                break
        return begin

    def finish(self) -> int:
        """No more pictures come. Returns how many of the last ones make no latent frame."""
        encoder, count = self._opened(), c_uint32()
        check(library.kg_encoder_finish(encoder.value, byref(count)))
        self._finished = True
        return int(count.value)

    def take(self, *, timeout: float | None = None) -> Any:
        """The next latent frame, [C, h, w] float32, of NumPy; None after the last one once finish() was called. Raises
        TimeoutError without one within `timeout` seconds."""
        import numpy

        made = numpy.empty(self.shape, "float32")
        deadline = Deadline(timeout)
        while True:
            result = self._take(made.ctypes.data, made.size, deadline.left_ns(_POLL_NS))
            if result == _library.OK:
                return made
            if result == _library.END:
                return None
            if deadline.passed:
                raise TimeoutError(f"no latent frame within {timeout} s")

    def latents(self) -> Iterator[Any]:
        """The latent frames that are there now; after finish() all to the end."""
        import numpy

        while True:
            made = numpy.empty(self.shape, "float32")
            result = self._take(made.ctypes.data, made.size, _POLL_NS if self._finished else 0)
            if result == _library.TIMEOUT and self._finished:
                continue
            if result != _library.OK:
                return
            yield made

    def _take(self, address: int, count: int, wait_ns: int) -> int:
        encoder, frame = self._opened(), _library.EncodedFrame()
        result = check(library.kg_encoder_take(encoder.value, wait_ns, cast(address, POINTER(c_float)), count,
                                               byref(frame)))
        if result == _library.OK and frame.finite == 0:
            raise InvalidArgument(f"latent frame {frame.index} has values that are not finite: another precision has a "
                                  "wider range")
        return result

    def _encode(self, view: _View, made: Any, deadline: Deadline) -> None:
        """A whole clip, [T, C, h, w]."""
        pushed = taken = 0
        address, size = _memory(made)
        of_a_frame = size // len(made)

        def take(wait_ns: int) -> None:
            nonlocal taken
            if self._take(address + 4 * of_a_frame * taken, of_a_frame, wait_ns) == _library.OK:
                taken += 1

        soon = Deadline(0)
        while pushed < view.count:
            done = self._push(view, pushed, view.count, soon)
            if done == pushed:
                take(deadline.left_ns(_POLL_NS))
            pushed = done
            if deadline.passed:
                raise TimeoutError(f"{taken} of {len(made)} latent frames were encoded within {deadline.timeout} s")
        self.finish()
        while taken < len(made):
            take(deadline.left_ns(_POLL_NS))
            if deadline.passed and taken < len(made):
                raise TimeoutError(f"{taken} of {len(made)} latent frames were encoded within {deadline.timeout} s")

    def reset(self) -> None:
        """Starts over with a clip's first picture, also after an error or cancel()."""
        encoder = self._opened()
        check(library.kg_encoder_reset(encoder.value))
        self._finished = False

    def cancel(self) -> None:
        """Ends the waits of other threads, which raise Cancelled until reset()."""
        encoder = self._opened()
        check(library.kg_encoder_cancel(encoder.value))

    def close(self) -> None:
        """Waits for what is being encoded, once no other thread is in a call."""
        self._encoder = None

    def __enter__(self) -> EncoderStream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<kinetograph.EncoderStream: latents {list(self.shape)}>"


class _View:
    """Pictures [T, height, width, 3] as the library's structure, in host memory, kept alive until close()."""

    def __init__(self, pictures: Any, layout: str | None) -> None:
        array = _on_host(pictures)
        self._view = _dlpack.take(array, None)
        if any(stride == 0 and extent > 1 for extent, stride in zip(self._view.shape, self._view.strides)):
            self._view.close()  # broadcast: strides of 0 say that an array has no gaps
            self._view = _dlpack.take(packed(array), None)
        try:
            if self._view.dtype not in _TYPES:
                raise InvalidArgument(f"pictures are {_dlpack.name_of(self._view.dtype)}: they come as uint8, or as "
                                      "float32, float16 or bfloat16 in [-1, 1]")
            axes = _axes(self._view.shape, layout)
        except BaseException:
            self._view.close()
            raise
        self._shape = [self._view.shape[axis] if axis is not None else 1 for axis in axes]
        self._strides = [self._view.strides[axis] if axis is not None else 0 for axis in axes]
        self.count = self._shape[0]
        self.size = (self._shape[1], self._shape[2])

    def part(self, begin: int, end: int) -> _library.Pictures:
        """Pictures [begin, end)."""
        code, bits = self._view.dtype
        made = _library.Pictures(type=_TYPES[code, bits],
                                 data=self._view.address + begin * self._strides[0] * (bits // 8))
        made.shape[:] = (end - begin, *self._shape[1:])
        made.strides[:] = self._strides
        return made

    def close(self) -> None:
        self._view.close()


def _axes(shape: tuple[int, ...], layout: str | None) -> list[int | None]:
    """The places of T, H, W and C in the shape; None for an absent T."""
    orders: tuple[str, ...] = ("THWC", "CTHW", "TCHW") if layout is None else (layout,)
    if layout not in (None, "THWC", "CTHW", "TCHW"):
        raise InvalidArgument(f"the layout of pictures is THWC, CTHW or TCHW, not {layout}")
    first = 1 if len(shape) == 5 and shape[0] == 1 else 0
    extents = shape[first:]
    if len(extents) == 3:
        orders = tuple(dict.fromkeys(order.replace("T", "") for order in orders))
    fitting = [order for order in orders if len(order) == len(extents) and extents[order.index("C")] == 3]
    if not fitting or min(shape) < 1:
        raise InvalidArgument(f"pictures have the shape {list(shape)}: it is [T, height, width, 3], [3, T, height, "
                              "width] or [T, 3, height, width], or one picture's"
                              + ("" if layout is None else f"; the layout is {layout}"))
    if len(fitting) > 1 and fitting[0] not in ("THWC", "HWC"):
        raise InvalidArgument(f"pictures of the shape {list(shape)} are {' or '.join(fitting)}: layout says which")
    return [first + fitting[0].index(axis) if axis in fitting[0] else None for axis in "THWC"]


def _on_host(array: Any) -> Any:
    """The array itself, or a copy of one that is on a device or that its package exports to none."""
    if is_torch(array):
        return array.detach().cpu()
    if device_of(array)[0] != "cpu":
        if is_cupy(array):
            return array.get()
        import numpy

        return numpy.asarray(array)
    return array.copy() if not getattr(getattr(array, "flags", None), "writeable", True) else array


def _empty(pictures: Any, shape: tuple[int, ...]) -> Any:
    """In the host's memory: of torch for its tensors, else of NumPy."""
    if is_torch(pictures):
        return sys.modules["torch"].empty(shape)
    import numpy

    return numpy.empty(shape, "float32")


def _memory(array: Any) -> tuple[int, int]:
    """The address and number of its values."""
    if is_torch(array):
        return array.data_ptr(), array.numel()
    return array.ctypes.data, array.size


def _given_back(pictures: Any, made: Any) -> Any:
    """[T, C, h, w] as [C, T, h, w] of the pictures' package, where they are."""
    if is_torch(pictures):
        return made.permute(1, 0, 2, 3).contiguous().to(pictures.device)
    import numpy

    latents = numpy.ascontiguousarray(made.transpose(1, 0, 2, 3))
    if is_cupy(pictures):
        return sys.modules["cupy"].asarray(latents)
    if is_jax(pictures):
        return sys.modules["jax"].numpy.asarray(latents)
    return latents
