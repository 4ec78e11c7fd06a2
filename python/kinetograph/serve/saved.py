"""A session as a value: what it was opened with, and what another process goes on with."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Optional

from .frame_log import Shown


@dataclasses.dataclass(frozen=True)
class Format:
    """What a session is opened with. Sizes are those of frames, in pixels."""
    family: str
    width: int
    height: int
    fps: float
    dtype: str = "uint8"
    paced: bool = False  #: frames come no faster than `fps`
    late: str = "wait"
    rebuild: bool = False  #: it comes back when its replica dies: what it needs for that is stored


@dataclasses.dataclass
class Latent:
    """One latent frame on its way."""
    values: Any  #: [C, 1, h, w]
    sequence: int
    stamp: str | None
    begins_clip: bool
    arrived: float
    ends_message: bool = True
    left: int = 0  #: frames of it that are not decoded
    late: bool = False  #: one of them came after it was due


@dataclasses.dataclass
class Saved:
    """A session as a value, at the end of a message: another process goes on with it, bit for bit."""
    form: Format
    state: bytes | None = None  #: of the stream, State.pack(); None: the next latents begin a clip
    next_sequence: int = 0
    clip: int = 0
    clip_frames: int = 0  #: made of that clip
    next_frame: int = 0  #: the index of the first frame that comes of `queue` or later messages
    frames: list[Shown] = dataclasses.field(default_factory=list)  #: before that one, not confirmed
    queue: list[Latent] = dataclasses.field(default_factory=list)  #: taken, not decoded
    paused: bool = False
    played: Any = None  #: latents [C, T, h, w] that it plays again and again, from their beginning


#: Keeps a session by its name; None: it was closed, and is dropped.
Store = Callable[[str, Optional[Saved]], None]
