"""What one client may take."""

from __future__ import annotations

import dataclasses

from .._library import InvalidArgument


class Refused(InvalidArgument):
    """A request beyond a limit; `status` is its HTTP status."""

    def __init__(self, sentence: str, status: int = 422) -> None:
        super().__init__(sentence)
        self.status = status


class Moved(Refused):
    """The session goes on in another process: as `to`, or under a name that is not known yet."""

    def __init__(self, to: str | None = None) -> None:
        super().__init__(f"the session goes on as {to}" if to else "the session is on its way to another replica",
                         308 if to else 503)
        self.to = to


@dataclasses.dataclass(frozen=True)
class Limits:
    sessions: int = 32
    pixels: int = 1920 * 1088  #: of a frame
    fps: float = 240.0
    message_bytes: int = 16 << 20  #: of latents in one message
    clip_bytes: int = 64 << 20  #: of a latents file that is played
    body_bytes: int = 64 << 10  #: of any other request
    idle_seconds: float = 300.0  #: without a connection, after which a session ends
    stall_seconds: float = 60.0  #: that a connection may take for one message
    readers: int = 8  #: of one session's frames
    queued_latents: int = 8  #: latent frames that wait to be decoded
    held_frames: int = 24  #: frames that wait for readers
    state_seconds: float = 20.0  #: that a request which needs a session's state may wait for its latents
    store_seconds: float = 10.0  #: between two stored states of a session that is rebuilt

    def check_video(self, width: int, height: int, fps: float) -> None:
        if width * height > self.pixels:
            raise Refused(f"frames of {width} x {height} have more than this service's {self.pixels} pixels")
        if not 0 < fps <= self.fps:
            raise Refused(f"{fps:g} frames a second: this service gives up to {self.fps:g}")
