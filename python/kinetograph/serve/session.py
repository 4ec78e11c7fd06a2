"""Session: one stream of the decoder, its latents and its frames."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Iterator

import numpy

from .._library import Cancelled, Error, InvalidArgument
from ..stream import Stream
from .frame_log import FrameLog, Reader, Shown
from .limits import Limits, Refused
from .metrics import Metrics
from .spans import Spans, export_chunk

if TYPE_CHECKING:
    from ..decoder import Decoder

LATE = ("wait", "skip")  #: what the decoder does when frames are not read: it waits, or the oldest are dropped
_AHEAD = 3  # latent frames on their way in the decoder: its steps follow each other without a gap
_INPUTS = 256  # texts of viewers that are kept for the generator; the oldest are dropped
_RATE_SECONDS = 2.0  # over which the rate is counted


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


@dataclasses.dataclass
class _Latent:
    """One latent frame on its way."""
    values: Any  #: [C, 1, h, w]
    sequence: int
    stamp: str | None
    begins_clip: bool
    arrived: float
    left: int = 0  #: frames of it that are not decoded
    late: bool = False  #: one of them came after it was due


class Session:
    """A thread pushes latents to the stream and takes its frames. Calls of other threads return at once."""

    def __init__(self, name: str, decoder: Decoder, form: Format, limits: Limits, metrics: Metrics) -> None:
        self._check(decoder, form, limits)
        self.id, self.form = name, form
        self.spans = Spans()
        self.channels: int = decoder.channels
        self._decoder, self._limits, self._metrics = decoder, limits, metrics
        layout = "HWC4" if form.dtype == "uint8" else "HWC"
        self._stream = Stream(decoder, form.dtype, layout, _AHEAD, form.fps, on_device=False)
        scale = decoder.spatial_scale
        self._stream.prepare(form.height // scale, form.width // scale)
        self.state_bytes = self._stream.nbytes
        self._changed = threading.Condition()  # guards what follows
        self._log = FrameLog(limits.held_frames, limits.readers, form.late == "wait")
        self._queue: collections.deque[_Latent] = collections.deque()
        self._decoding: collections.deque[_Latent] = collections.deque()
        self._clip_source: Iterator[_Latent] | None = None
        self._next_sequence = self._clip = self._clip_frames = self._missed = 0
        self._decoded_until = 0.0
        self._recent: collections.deque[tuple[float, float]] = collections.deque(maxlen=512)  # decoded, latency
        self._writers: list[Callable[[], None]] = []
        self._inputs: collections.deque[str] = collections.deque(maxlen=_INPUTS)
        self._paused = self._resets = self._closing = False
        self._due: float | None = None
        self.ended: str | None = None  #: the sentence that says why
        self.last_used = time.monotonic()
        self.connections = 0
        self._thread = threading.Thread(target=self._run, name=f"session {self.id}", daemon=True)
        self._thread.start()

    @staticmethod
    def _check(decoder: Decoder, form: Format, limits: Limits) -> None:
        scale = decoder.spatial_scale
        if form.width < scale or form.height < scale or form.width % scale or form.height % scale:
            raise Refused(f"frames of {form.width} x {form.height}: both are multiples of {scale}")
        limits.check_video(form.width, form.height, form.fps)

    # Calls of the service's threads.

    def push(self, values: Any, sequence: int, stamp: str | None = None, begins_clip: bool = False) -> None:
        """Latents [C, T, h, w] of the message with that number. One that was taken before is ignored: a client sends it
        again after a lost connection."""
        scale = self._decoder.spatial_scale
        wanted = (self.form.height // scale, self.form.width // scale)
        if values.shape[2:] != wanted:
            raise Refused(f"latents of {values.shape[3]} x {values.shape[2]}, and the session's are {wanted[1]} x "
                          f"{wanted[0]}")
        with self._changed:
            self._check_open()
            if sequence > self._next_sequence:
                raise Refused(f"message {sequence} of latents, wanted {self._next_sequence}")
            if sequence < self._next_sequence:
                return
            if (room := self.intake["room"]) < values.shape[1]:
                raise Refused(f"{values.shape[1]} latent frames, and there was room for {room}")
            now = time.monotonic()
            self._queue.extend(_Latent(values[:, t:t + 1], sequence, stamp, begins_clip and t == 0, now)
                               for t in range(values.shape[1]))
            self._next_sequence += 1
            self.last_used = now
            self._changed.notify_all()

    def play_clip(self, values: Any) -> None:
        """Decodes latents [C, T, h, w] again and again. Before the first push()."""
        def frames() -> Iterator[_Latent]:
            while True:
                for t in range(values.shape[1]):
                    yield _Latent(values[:, t:t + 1], 0, None, t == 0, time.monotonic())

        with self._changed:
            self._clip_source = frames()
            self._changed.notify_all()

    @property
    def takes_latents(self) -> bool:
        return self._clip_source is None

    @property
    def intake(self) -> dict[str, int]:
        """The number of the next message, and for how many latent frames there is room."""
        return {"next": self._next_sequence, "room": self._limits.queued_latents - len(self._queue)}

    @contextlib.contextmanager
    def writing(self, wake: Callable[[], None]) -> Iterator[None]:
        """`wake` is called from other threads when there may be more room."""
        with self._changed:
            self._writers.append(wake)
        try:
            yield
        finally:
            with self._changed:
                self._writers.remove(wake)

    def add_input(self, text: str) -> None:
        """What a viewer has sent for the generator: a key, a place of the mouse."""
        with self._changed:
            self._inputs.append(text)
            self._wake_writers()

    def take_input(self) -> str | None:
        """The oldest one, once."""
        with self._changed:
            return self._inputs.popleft() if self._inputs else None

    def reset(self) -> dict[str, int]:
        """Drops what was not shown. The next latents begin a clip; its number and that of its first frame are
        returned."""
        with self._changed:
            self._check_open()
            self._queue.clear()
            self._decoding.clear()
            self._log.clear()
            self._resets = True
            self._clip += 1
            self._changed.notify_all()
            self._wake_writers()
            return {"clip": self._clip, "next_frame": self._log.end}

    def pause(self, paused: bool) -> None:
        with self._changed:
            self._check_open()
            self._paused, self._due = paused, None
            self._changed.notify_all()

    @contextlib.contextmanager
    def reading(self, begin: int | None, misses_nothing: bool, wake: Callable[[], None]) -> Iterator[Reader]:
        """A reader of the frames; `wake` is called from another thread when there may be one."""
        with self._changed:
            reader = self._log.attach(begin, misses_nothing, wake)
            self._changed.notify_all()
        try:
            yield reader
        finally:
            with self._changed:
                self._log.detach(reader)
                self._changed.notify_all()

    def take(self, reader: Reader) -> Shown | None:
        """The reader's next frame; None: there is none yet, or the session has ended."""
        with self._changed:
            frame = self._log.take(reader)
            if frame is not None:
                self.last_used = time.monotonic()
            return frame

    def confirm(self, reader: Reader, position: int) -> None:
        with self._changed:
            self._log.confirm(reader, position)
            self._changed.notify_all()

    @contextlib.contextmanager
    def connected(self) -> Iterator[None]:
        """Keeps the session from being closed as idle."""
        with self._changed:
            self.connections += 1
        try:
            yield
        finally:
            with self._changed:
                self.connections -= 1
                self.last_used = time.monotonic()

    @property
    def newest(self) -> Shown | None:
        with self._changed:
            return self._log.newest

    @property
    def unmoved_seconds(self) -> float:
        """For how long the decoder has made no progress with latents that it has."""
        return float(self._stream.stats()["unmoved_s"]) if self._decoding else 0.0

    def describe(self) -> dict[str, Any]:
        """May wait for the device's driver, which says what memory is free."""
        stats: dict[str, Any] = {}
        with contextlib.suppress(Error):  # it may be ending
            stats = self._stream.stats() if self.ended is None else {}
        with self._changed:
            now = time.monotonic()
            recent = [latency for at, latency in self._recent if at >= now - _RATE_SECONDS]
            return {"id": self.id, **dataclasses.asdict(self.form),
                    "frames_per_latent": self._decoder.frames_per_latent, "state_bytes": self.state_bytes,
                    "next_sequence": self._next_sequence, "clip": self._clip,
                    "first_held": self._log.begin, "frames": self._log.end, "queued_latents": len(self._queue),
                    "decoding_latents": len(self._decoding), "paused": self._paused, "readers": self._log.readers,
                    "takes_latents": self.takes_latents, "rate": len(recent) / _RATE_SECONDS,
                    "latency_s": sum(recent) / len(recent) if recent else None,
                    "step_s": stats.get("average_step_s"), "device_bytes": stats.get("device_bytes"),
                    "device_free": stats.get("device_free"), "deadline_missed": self._missed, "ended": self.ended}

    def close(self, sentence: str = "the session was closed") -> None:
        """Ends it, and returns once its thread has ended. Readers and writers learn the sentence."""
        with self._changed:
            self._closing = True
            self.ended = self.ended or sentence
            self._changed.notify_all()
        with contextlib.suppress(Error):
            self._stream.cancel()
        self._thread.join()

    def _check_open(self) -> None:
        if self.ended is not None:
            raise Refused(self.ended, 410)

    # The session's own thread. It calls the library without the lock: a step may take seconds.

    def _run(self) -> None:
        try:
            while (work := self._next_work()) is not None:
                work()
        except Cancelled:
            pass
        except Exception as error:  # of the decoder, whose sentence the client gets
            self._end(str(error))
        finally:
            self._end("the session was closed")
            self._stream.close()

    def _end(self, sentence: str) -> None:
        with self._changed:
            self.ended = self.ended or sentence
            self._log.wake()
            self._wake_writers()

    def _wake_writers(self) -> None:
        for wake in self._writers:
            wake()

    def _next_work(self) -> Callable[[], None] | None:
        """Waits for a latent frame to push or a frame to take. None: the session is closing."""
        with self._changed:
            while not self._closing:
                if self._resets:
                    self._resets, self._clip_frames, self._due = False, 0, None
                    return self._stream.reset
                if (latent := self._next_latent()) is not None:
                    return lambda: self._push(latent)
                left = self._wait_before_taking()
                if left == 0:
                    clip = self._clip
                    return lambda: self._deliver(clip)
                self._changed.wait(left)
            return None

    def _next_latent(self) -> _Latent | None:
        """The next one that the decoder has room for; it is then counted as on its way."""
        if len(self._decoding) >= _AHEAD or self._paused:
            return None
        if not self._queue and self._clip_source is not None and self._log.readers > 0:
            self._queue.append(next(self._clip_source))
        if not self._queue or (self._queue[0].begins_clip and self._decoding):
            return None
        latent = self._queue.popleft()
        if latent.begins_clip and self._clip_frames > 0:
            self._clip += 1
            self._clip_frames = 0
        first = self._clip_frames == 0 and not self._decoding
        latent.left = 1 if first else self._decoder.frames_per_latent
        self._decoding.append(latent)
        self._wake_writers()
        return latent

    def _wait_before_taking(self) -> float | None:
        """Seconds until a frame may be taken; 0: now; None: until something changes."""
        if not self._decoding or self._paused or not self._log.has_room:
            self._due = None
            return None
        if not self.form.paced or self._due is None:
            return 0
        return max(0.0, self._due - time.monotonic())

    def _push(self, latent: _Latent) -> None:
        self.spans.add("queue", latent.sequence, latent.arrived)
        if latent.begins_clip:
            self._stream.reset()
        self._stream.push(latent.values)

    def _deliver(self, clip: int) -> None:
        frame = self._stream.take()
        if frame is None:
            raise InvalidArgument("the stream has ended")
        with frame:
            pixels = numpy.array(frame)
        now = time.monotonic()
        with self._changed:
            if clip != self._clip or self._resets:
                return
            latent = self._decoding[0]
            self._log.append(Shown(self._log.end, clip, self._clip_frames / self.form.fps, pixels, latent.sequence,
                                   latent.stamp, latent.arrived, now))
            self._count(latent, now)
            period = 1 / self.form.fps
            self._due = now + period if self._due is None or now > self._due + period else self._due + period
        if latent.left == 0:
            self._count_step(latent, now, self._stream.stats()["last_step_s"])

    def _count(self, latent: _Latent, now: float) -> None:
        metrics, family, period = self._metrics, self.form.family, 1 / self.form.fps
        metrics.frames.labels(family).inc()
        self._recent.append((now, now - latent.arrived))
        if self._clip_frames == 0:
            metrics.first_frame_seconds.labels(family).observe(now - latent.arrived)
        self._clip_frames += 1
        latent.left -= 1
        latent.late |= self.form.paced and self._due is not None and now > self._due + period
        if latent.left == 0:
            self._decoding.popleft()
            metrics.chunk_seconds.labels(family).observe(now - latent.arrived)

    def _count_step(self, latent: _Latent, now: float, step: float) -> None:
        """Of a latent frame whose frames are all there; its step took `step` seconds."""
        self.spans.add("decode", latent.sequence, max(self._decoded_until, now - step), now)
        self._decoded_until = now
        export_chunk(self.id, self.form.family, latent.sequence, now - latent.arrived)
        if latent.late or (not self.form.paced and step > self._decoder.frames_per_latent / self.form.fps):
            self._missed += 1
            self._metrics.deadline_missed.labels(self.form.family).inc()
