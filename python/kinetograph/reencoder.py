"""Reencoder: latents into the latents of their frames, which do not leave the device."""

from __future__ import annotations

from ctypes import POINTER, byref, c_float, c_void_p, cast
from typing import Any

from . import _library
from ._deadline import Deadline
from ._latents import Batch
from ._library import InvalidArgument, check, library
from .decoder import Decoder
from .encoder import _empty, _given_back, _memory, _on_host
from .frame import Handle


class Reencoder:
    """Decodes and encodes again, with the state of both sides kept on the device. Made by Encoder.reencoder().

        with encoder.reencoder(60, 104, frames=True) as again:
            latents, frames = again.reencode(chunk)       # of each chunk of a clip
            latents, frames = again.finish()              # what is left over, of TAEHV's encoders

    Frames go from the decoder to the encoder as float32, not rounded to 8 bits.
    """

    def __init__(self, decoder: Decoder, height: int, width: int, desc: _library.ReencoderDesc,
                 deadline: Deadline) -> None:
        for side in (height, width):
            if not isinstance(side, int) or not 0 < side < 1 << 32:
                raise InvalidArgument(f"latents have a height and a width in pixels, and not {height!r} x {width!r}")
        model, made = decoder._opened(), c_void_p()
        with deadline.stop() as stop:
            desc.stop = stop
            check(library.kg_reencoder_create(model.value, height, width, byref(desc), byref(made)))
        self._reencoder: Handle | None = Handle(library.kg_reencoder_destroy, made, model)
        self._frames_per_latent = decoder.frames_per_latent if desc.frames else 0
        self._patches = decoder._patches
        info = _library.EncoderInfo()
        check(library.kg_reencoder_describe(made, byref(info)))
        #: Of a latent frame that comes out: channels, height and width. Of a frame: height, width, 3.
        self.shape: tuple[int, int, int] = (info.channels, info.height, info.width)
        self.frame_shape: tuple[int, int, int] = (height * decoder.spatial_scale, width * decoder.spatial_scale, 3)
        #: Bytes of both sides' state, of that, working memory and frames.
        self.state_bytes: int = info.state_bytes
        self.nbytes: int = info.encoder_bytes
        self._like: Any = None  # the latents that came last

    def _opened(self) -> Handle:
        reencoder = self._reencoder
        if reencoder is None:
            raise InvalidArgument("the reencoder is closed")
        return reencoder

    def reencode(self, latents: Any, *, timeout: float | None = None) -> Any:
        """The latents [C, T, h, w] float32 of the frames of the next latents of a clip, [C, T, h, w], [1, C, T, h, w]
        or [C, h, w]; with frames=True also these, [T, height, width, 3] float32 in [-1, 1]. Arrays of the latents'
        package, where these are. Of TAEHV's encoders a clip's first call gives one latent frame fewer. Raises
        TimeoutError, after which reset() begins a new clip."""
        self._like = latents
        batch = Batch(_on_host(latents), ("cpu", 0), None, self._patches)
        try:
            return self._make(batch.frames, timeout, lambda stop, made: library.kg_reencode(
                self._opened().value, byref(batch.part(0, batch.frames)), stop, byref(made)))
        finally:
            batch.close()

    def finish(self, *, timeout: float | None = None) -> Any:
        """What is left over, as reencode() gives it: of TAEHV's encoders the last latent frame, filled up with the last
        frame; of others none."""
        return self._make(1, timeout, lambda stop, made: library.kg_reencoder_finish(self._opened().value, stop,
                                                                                    byref(made)))

    def _make(self, count: int, timeout: float | None, call: Any) -> Any:
        latents = _empty(self._like, (count, *self.shape))
        frames = _empty(self._like, (count * self._frames_per_latent, *self.frame_shape))
        made = _library.Reencoded()
        for name, array in (("latents", latents), ("pictures", frames)):
            address, values = _memory(array)
            setattr(made, name, cast(address, POINTER(c_float)))
            setattr(made, f"{name}_count", values)
        with Deadline(timeout).stop() as stop:
            check(call(stop, made))
        if made.finite == 0:
            raise InvalidArgument("latents of the frames are not finite: another precision has a wider range")
        latents = _given_back(self._like, latents[:made.latent_frames])
        if not self._frames_per_latent:
            return latents
        frames = frames[:made.frames]
        return latents, frames.to(self._like.device) if hasattr(frames, "is_cuda") else frames

    def reset(self) -> None:
        """The next latents are a clip's first."""
        check(library.kg_reencoder_reset(self._opened().value))

    def close(self) -> None:
        self._reencoder = None

    def __enter__(self) -> Reencoder:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<kinetograph.Reencoder: latents {list(self.shape)}>"
