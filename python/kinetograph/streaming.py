"""StreamingDecoder: the streaming decode of vLLM-Omni (SupportsStreamingDecode), on a Decoder."""

from __future__ import annotations

from typing import Any

from ._latents import device_of, is_torch
from ._library import InvalidArgument
from .decoder import Decoder
from .stream import Stream


class StreamingDecodeState:
    """One session's, made by StreamingDecoder.new_decode_state()."""

    def __init__(self, session_id: str, owner: StreamingDecoder) -> None:
        self.session_id = session_id
        self._owner = owner
        self.chunks_decoded = self.frames_decoded = 0  #: chunks and latent frames
        self._stream: Stream | None = None

    @property
    def started(self) -> bool:
        return self.chunks_decoded > 0

    def nbytes(self) -> int:
        """Bytes of the device that are kept from chunk to chunk; they do not grow."""
        return 0 if self._stream is None else int(self._stream.stats()["state_bytes"])

    def nbytes_by_device(self) -> dict[str, int]:
        return {} if self._stream is None else {self._owner._decoder.device: self.nbytes()}


class StreamingDecoder:
    """Sessions that share a decoder's weights, each with a state of its own:

    state = streaming.new_decode_state("a session"); frames = streaming.decode_chunk(latents, state)
    """

    def __init__(self, decoder: Decoder) -> None:
        if not isinstance(decoder, Decoder):
            raise TypeError(f"a StreamingDecoder is made of a Decoder, and not of a {type(decoder).__name__}")
        self._decoder = decoder

    def new_decode_state(self, session_id: str) -> StreamingDecodeState:
        if not isinstance(session_id, str) or not session_id.strip():
            raise InvalidArgument(f"session_id names a session, and is {session_id!r}")
        return StreamingDecodeState(session_id, self)

    def decode_chunk(self, latents: Any, state: StreamingDecodeState, *, timeout: float | None = None) -> Any:
        """The frames of the session's next latents [1, C, T, h, w]: [1, 3, frames, height, width] in [-1, 1], an array
        of the latents' package, of torch's in their dtype. (T - 1) * n + 1 frames of a session's first chunk, n * T of
        a later one. A call that raises InvalidArgument leaves the session as it was."""
        if getattr(state, "_owner", None) is not self:
            raise InvalidArgument("the state does not belong to this decoder")
        shape = tuple(latents.shape)
        if len(shape) != 5:
            raise InvalidArgument(f"latents are [B, C, T, H, W], and not {list(shape)}")
        if shape[0] != 1:
            raise InvalidArgument(f"a batch of {shape[0]}: there is one sample per session state")
        if shape[2] < 1:
            raise InvalidArgument("latents have at least one frame")
        if state._stream is None:
            host = device_of(latents)[0] == "cpu"
            state._stream = self._decoder.new_state(dtype="float32", layout="TCHW", device="cpu" if host else None)
        try:
            frames = self._decoder.decode_chunk(state._stream, latents, timeout=timeout)
        except BaseException:
            if not state.started:
                self.release(state)
            raise
        state.chunks_decoded += 1
        state.frames_decoded += shape[2]
        if is_torch(frames):
            return frames.permute(1, 0, 2, 3)[None].to(latents.dtype)
        return frames.transpose(1, 0, 2, 3)[None]

    def declared_state_bytes(self, *, height: int, width: int, dtype: Any = None) -> int:
        """Bytes of the device that a session for frames of that size will keep: what nbytes() then is. `dtype` is
        that of the caller's frames; what is kept is of the decoder's precision, whatever it says."""
        scale = self._decoder.spatial_scale
        if height % scale or width % scale:
            raise InvalidArgument(f"frames of {width}x{height}: each side is a multiple of {scale}")
        return self._decoder.declared_state_bytes(height // scale, width // scale)

    def release(self, state: StreamingDecodeState) -> None:
        """Ends the session and releases its memory; the next chunk starts it anew."""
        stream, state._stream = state._stream, None
        state.chunks_decoded = state.frames_decoded = 0
        if stream is not None:
            stream.close()

