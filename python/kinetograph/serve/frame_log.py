"""The newest frames of a session, which several readers follow at paces of their own."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, Callable, Iterable

from .limits import Refused


@dataclasses.dataclass(frozen=True)
class Shown:
    """A decoded frame in host memory."""
    index: int  #: in the session, from 0
    clip: int  #: the session's clips are counted from 0; a reset begins the next one
    time: float  #: seconds from the clip's start
    pixels: Any  #: [height, width, 4] uint8, or [height, width, 3] of floats in [-1, 1]
    sequence: int  #: of the message of its latents
    stamp: str | None  #: that message's input stamp
    arrived: float  #: when that message came, time.monotonic()
    decoded: float


class Reader:
    """A place in the log. One that `misses_nothing` makes the decoder wait; others skip to the newest frame."""

    def __init__(self, position: int, misses_nothing: bool, wake: Callable[[], None]) -> None:
        self.position, self.misses_nothing, self.wake = position, misses_nothing, wake
        self.skipped = 0


class FrameLog:
    """Not thread-safe: its session's lock guards it.

    Frames stay until the reader that misses nothing has confirmed them. Its place outlives its connection, so that it
    comes back without a gap.

    waits      whether frames are kept for such a reader before it has come
    frames     that are there already, before the one with the index `end`
    may_begin_later  whether readers have frames that are still to come: of a session that is rebuilt
    """

    def __init__(self, capacity: int, most_readers: int, waits: bool, frames: Iterable[Shown] = (), end: int = 0,
                 may_begin_later: bool = False) -> None:
        self._capacity, self._most_readers, self._may_begin_later = capacity, most_readers, may_begin_later
        self._frames: collections.deque[Shown] = collections.deque(frames)
        self._readers: list[Reader] = []
        self.end = end  #: index of the next frame
        # what the reader that misses nothing has not confirmed; None: there is none
        self._kept: int | None = self.begin if waits else None

    @property
    def begin(self) -> int:
        return self.end - len(self._frames)

    @property
    def newest(self) -> Shown | None:
        return self._frames[-1] if self._frames else None

    @property
    def readers(self) -> int:
        return len(self._readers)

    @property
    def unconfirmed(self) -> list[Shown]:
        """The frames that are kept for the reader that misses nothing."""
        return [] if self._kept is None else [frame for frame in self._frames if frame.index >= self._kept]

    @property
    def confirmed(self) -> int:
        """The first frame that is kept for the reader that misses nothing; the next one if there is no such reader."""
        return self.end if self._kept is None else self._kept

    @property
    def has_room(self) -> bool:
        """Whether there are fewer frames than are held, of those that are still to be read."""
        return len(self._frames) < self._capacity or self._may_drop

    @property
    def _may_drop(self) -> bool:
        return self._kept is None or self._kept > self.begin

    def append(self, frame: Shown) -> None:
        while len(self._frames) >= self._capacity and self._may_drop:
            self._frames.popleft()
        self._frames.append(frame)
        self.end += 1
        self.wake()

    def clear(self) -> None:
        """Drops what has not been read."""
        self._frames.clear()
        if self._kept is not None:
            self._kept = self.end

    def wake(self) -> None:
        for reader in self._readers:
            reader.wake()

    def attach(self, begin: int | None, misses_nothing: bool, wake: Callable[[], None]) -> Reader:
        """A reader from frame `begin` on; None: from where the last one left, or the newest frame."""
        if len(self._readers) >= self._most_readers and not misses_nothing:
            raise Refused(f"the session has {self._most_readers} readers, which is this service's limit", 429)
        if not misses_nothing:
            reader = Reader(max(self.begin, self.end - 1) if begin is None else min(begin, self.end), False, wake)
        else:
            for other in [other for other in self._readers if other.misses_nothing]:  # it may be a lost connection's
                self.detach(other)
                other.wake()
            position = begin
            if position is None:
                position = self.begin if self._kept is None else self._kept
            if position < self.begin or (position > self.end and not self._may_begin_later):
                raise Refused(f"frame {position} is not held: there are {self.begin} to {self.end - 1}", 410)
            self._kept = position
            reader = Reader(position, True, wake)
        self._readers.append(reader)
        return reader

    def detach(self, reader: Reader) -> None:
        if reader in self._readers:
            self._readers.remove(reader)

    def take(self, reader: Reader) -> Shown | None:
        """The reader's next frame; None: there is none yet. Refused once another one has taken its place."""
        if reader not in self._readers:
            raise Refused("another connection reads every frame of this session now; late=skip gives the newest ones")
        if reader.position < self.begin:
            self._skip(reader, self.begin)
        if not reader.misses_nothing and reader.position < self.end - 1:
            self._skip(reader, self.end - 1)
        if reader.position >= self.end:
            return None
        frame = self._frames[reader.position - self.begin]
        reader.position += 1
        return frame

    def confirm(self, reader: Reader, position: int) -> None:
        """The reader that misses nothing has all frames before `position`."""
        if reader.misses_nothing and self._kept is not None:
            self._kept = max(self._kept, min(position, reader.position))

    @staticmethod
    def _skip(reader: Reader, position: int) -> None:
        reader.skipped += position - reader.position
        reader.position = position
