"""Session: one stream of the decoder, its latents and its frames."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import dataclasses
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Iterator, TypeVar

import numpy

from .._library import Cancelled, Error, InvalidArgument
from ..state import State
from ..stream import Stream
from .frame_log import FrameLog, Reader, Shown
from .limits import Limits, Moved, Refused
from .metrics import Metrics
from .saved import Format, Latent, Saved, Store
from .spans import Spans, export_chunk

if TYPE_CHECKING:
    from ..decoder import Decoder

log = logging.getLogger("kinetograph.serve")

LATE = ("wait", "skip")  #: what the decoder does when frames are not read: it waits, or the oldest are dropped
_Result = TypeVar("_Result")
_packers = concurrent.futures.ThreadPoolExecutor(2, "kinetograph pack")  # states of sessions that are rebuilt
_AHEAD = 3  # latent frames on their way in the decoder: its steps follow each other without a gap
_INPUTS = 256  # texts of viewers that are kept for the generator; the oldest are dropped
_RATE_SECONDS = 2.0  # over which the rate is counted


class Session:
    """A thread pushes latents to the stream and takes its frames. Calls of other threads return at once, except those
    that say how long they wait.

    begin   what it goes on with
    stream  that is there already, of a fork; None: one is made
    store   keeps a session for when this process has ended; for sessions that are rebuilt
    """

    def __init__(self, name: str, decoder: Decoder, begin: Saved, limits: Limits, metrics: Metrics,
                 stream: Stream | None = None, store: Store | None = None) -> None:
        self.id, self.form = name, begin.form
        self._check(decoder, self.form, limits)
        self.spans = Spans()
        self.channels: int = decoder.channels
        self._decoder, self._limits, self._metrics = decoder, limits, metrics
        self._stream = stream or self._make_stream(begin.state)
        self.state_bytes = self._stream.nbytes
        self._changed = threading.Condition()  # guards what follows
        self._log = FrameLog(limits.held_frames, limits.readers, self.form.late == "wait", begin.frames,
                             begin.next_frame, self.form.rebuild)
        self._queue: collections.deque[Latent] = collections.deque(begin.queue)
        self._decoding: collections.deque[Latent] = collections.deque()
        self._taken = len(self._queue)  # latent frames of messages so far
        self._pushed = 0  # and those of them that the stream has
        # after how many pushed latent frames, what, and its result
        self._uses: collections.deque[tuple[int, Callable[[], None], concurrent.futures.Future[Any]]] = \
            collections.deque()
        self._clip_source: Iterator[Latent] | None = None
        self._next_sequence, self._clip, self._clip_frames = begin.next_sequence, begin.clip, begin.clip_frames
        self._newest_pushed: Latent | None = None
        self._store = store if self.form.rebuild else None
        self._stores = threading.Lock()  # held while a state is stored
        self._storing: concurrent.futures.Future[None] | None = None
        self._packed: Saved | None = None  # whose frames before it are not confirmed
        self._stored, self._stored_at = begin.next_sequence, time.monotonic()
        self._missed = 0
        self._decoded_until = 0.0
        self._recent: collections.deque[tuple[float, float]] = collections.deque(maxlen=512)  # decoded, latency
        self._writers: list[Callable[[], None]] = []
        self._inputs: collections.deque[str] = collections.deque(maxlen=_INPUTS)
        self._paused, self._resets, self._closing = begin.paused, False, False
        self._due: float | None = None
        self.ended: str | None = None  #: the sentence that says why
        self.moved = False  #: what it was is a Saved now, and goes on elsewhere
        self.last_used = time.monotonic()
        self.connections = 0
        self._played: Any = None
        if begin.played is not None:
            self.play_clip(begin.played)
        if self._store is not None:
            self._store(self.id, begin)
        self._thread = threading.Thread(target=self._run, name=f"session {self.id}", daemon=True)
        self._thread.start()

    def _make_stream(self, state: bytes | None) -> Stream:
        form, scale = self.form, self._decoder.spatial_scale
        stream = Stream(self._decoder, form.dtype, "HWC4" if form.dtype == "uint8" else "HWC", _AHEAD, form.fps,
                        on_device=False, chosen={"passes": 1})
        stream.prepare(form.height // scale, form.width // scale)
        if state is not None:
            stream.load(State.parse(state))
        return stream

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
            last = values.shape[1] - 1
            self._queue.extend(Latent(values[:, t:t + 1], sequence, stamp, begins_clip and t == 0, now, t == last)
                               for t in range(last + 1))
            self._taken += last + 1
            self._next_sequence += 1
            self.last_used = now
            self._changed.notify_all()

    def play_clip(self, values: Any) -> None:
        """Decodes latents [C, T, h, w] again and again. Before the first push()."""
        self._played = values

        def frames() -> Iterator[Latent]:
            while True:
                for t in range(values.shape[1]):
                    yield Latent(values[:, t:t + 1], 0, None, t == 0, time.monotonic())

        with self._changed:
            self._clip_source = frames()
            self._changed.notify_all()

    @property
    def takes_latents(self) -> bool:
        return self._clip_source is None

    @property
    def intake(self) -> dict[str, int]:
        """The number of the next message, and for how many latent frames there is room; of a session that is rebuilt also
        the first message that would be wanted then."""
        found = {"next": self._next_sequence, "room": max(0, self._limits.queued_latents - len(self._queue))}
        return found if self._store is None else {**found, "stored": self._stored}

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
            self._taken -= len(self._queue)
            self._queue.clear()
            self._decoding.clear()
            self._log.clear()
            self._resets = True
            self._clip += 1
            begin = Saved(self.form, None, self._next_sequence, self._clip, 0, self._log.end, paused=self._paused)
            self._stored, self._stored_at, self._packed = self._next_sequence, time.monotonic(), None
            self._changed.notify_all()
            self._wake_writers()
        if self._store is not None:
            with self._stores:
                self._store(self.id, begin)
        return {"clip": begin.clip, "next_frame": begin.next_frame}

    def branch(self, seconds: float) -> tuple[Stream, Saved]:
        """A second stream, and what a session goes on with on it: both continue after the latents taken so far. Waits up
        to `seconds` for these to be decoded, which takes readers."""
        def fork() -> tuple[Stream, Saved]:
            stream = self._stream.fork()
            with self._changed:
                form = dataclasses.replace(self.form, rebuild=False)
                return stream, Saved(form, clip_frames=self._clip_frames + sum(one.left for one in self._decoding))

        return self._use_stream(fork, seconds)

    def move(self, take: Callable[[str, Saved], None], seconds: float) -> None:
        """Gives `take` what the session is, and ends it here. Waits up to `seconds` for the latents that the decoder
        has."""
        def leave() -> None:
            while self._decoding:
                self._deliver(self._clip)
            state = self._stream.save().pack() if self._clip_frames > 0 else None
            with self._changed:
                if self._resets:
                    self._clip_frames, state = 0, None
                self.moved = True
                saved = Saved(self.form, state, self._next_sequence, self._clip, self._clip_frames, self._log.end,
                              self._log.unconfirmed, list(self._queue), self._paused)
            if self._played is not None:
                saved = dataclasses.replace(saved, state=None, clip=self._clip + 1, clip_frames=0, queue=[],
                                            played=self._played)
            take(self.id, saved)

        self._use_stream(leave, seconds, after_queue=False)
        self.close("the session goes on elsewhere")

    def _use_stream(self, use: Callable[[], _Result], seconds: float, after_queue: bool = True) -> _Result:
        """Has the session's thread do it, once the latents taken so far are pushed if it is `after_queue`. Refused after
        `seconds`."""
        done: concurrent.futures.Future[_Result] = concurrent.futures.Future()

        def run() -> None:
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(use())
                except Exception as error:  # the session goes on, unless its next call finds it as well
                    done.set_exception(error)

        with self._changed:
            self._check_open()
            self._uses.append((self._taken if after_queue else 0, run, done))
            self._changed.notify_all()
        try:
            return done.result(seconds)
        except concurrent.futures.CancelledError:
            raise Refused(self.ended or "the session was closed", 410) from None
        except concurrent.futures.TimeoutError:
            if not done.cancel():
                return done.result()  # it has begun, and the decoder's steps end
            raise Refused(f"latents that the session has were not decoded within {seconds:g} s: its frames are not "
                          "read", 409) from None

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
            self._put_confirmed()
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

    def passes(self) -> list[dict[str, Any]]:
        """As Stream.passes()."""
        return [] if self.ended is not None else self._stream.passes()

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
                    "continues": self._clip_frames > 0 or bool(self._decoding),
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
        if self.moved:
            raise Moved
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
            with self._changed:
                for _, _, done in self._uses:
                    done.cancel()
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
                    self._resets, self._clip_frames, self._due, self._newest_pushed = False, 0, None, None
                    return self._stream.reset
                if self._uses and self._pushed >= min(self._uses[0][0], self._taken):
                    return self._uses.popleft()[1]
                if (until_stored := self._wait_before_storing()) == 0:
                    return self._save
                if (latent := self._next_latent()) is not None:
                    return lambda: self._push(latent)
                left = self._wait_before_taking()
                if left == 0:
                    clip = self._clip
                    return lambda: self._deliver(clip)
                waits = [wait for wait in (left, until_stored) if wait is not None]
                self._changed.wait(min(waits, default=None))
            return None

    def _next_latent(self) -> Latent | None:
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
        self._newest_pushed = latent
        self._pushed += 1
        self._wake_writers()
        return latent

    def _wait_before_storing(self) -> float | None:
        """Seconds until the state is to be stored; 0: now; None: until something changes."""
        newest = self._newest_pushed
        if self._store is None or newest is None or not newest.ends_message or newest.sequence < self._stored or \
                self._packed is not None or (self._storing is not None and not self._storing.done()):
            return None
        return max(0.0, self._stored_at + self._limits.store_seconds - time.monotonic())

    def _save(self) -> None:
        """Copies the state to the host's memory; another thread packs and stores it."""
        state = self._stream.save()
        with self._changed:
            newest, left = self._newest_pushed, sum(one.left for one in self._decoding)
            if newest is None or self._resets:
                return
            saved = Saved(self.form, None, newest.sequence + 1, self._clip, self._clip_frames + left,
                          self._log.end + left, paused=self._paused)
            self._stored_at = time.monotonic()
            self._storing = _packers.submit(self._pack, saved, state)

    def _pack(self, saved: Saved, state: State) -> None:
        saved.state = state.pack()
        with self._changed:
            self._packed = saved
            self._put_confirmed()

    def _put_confirmed(self) -> None:
        """Has the packed state stored once the frames before it have been confirmed: from there on it makes no others."""
        saved = self._packed
        if saved is not None and self._log.confirmed >= saved.next_frame:
            self._packed = None
            self._storing = _packers.submit(self._put, saved)
            self._storing.add_done_callback(lambda _: self._notify())

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _put(self, saved: Saved) -> None:
        try:
            with self._stores:
                if saved.clip != self._clip or self._store is None:
                    return  # it was reset meanwhile
                self._store(self.id, saved)
        except Exception as error:
            log.warning("a state was not stored", extra={"facts": {"session": self.id, "why": repr(error)}})
            return
        with self._changed:
            self._stored = max(self._stored, saved.next_sequence)
            self._wake_writers()

    def _wait_before_taking(self) -> float | None:
        """Seconds until a frame may be taken; 0: now; None: until something changes."""
        if not self._decoding or self._paused or not self._log.has_room:
            self._due = None
            return None
        if not self.form.paced or self._due is None:
            return 0
        return max(0.0, self._due - time.monotonic())

    def _push(self, latent: Latent) -> None:
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

    def _count(self, latent: Latent, now: float) -> None:
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

    def _count_step(self, latent: Latent, now: float, step: float) -> None:
        """Of a latent frame whose frames are all there; its step took `step` seconds."""
        self.spans.add("decode", latent.sequence, max(self._decoded_until, now - step), now)
        self._decoded_until = now
        self._metrics.step_seconds.labels(self.form.family).inc(step)
        export_chunk(self.id, self.form.family, latent.sequence, now - latent.arrived)
        if latent.late or (not self.form.paced and step > self._decoder.frames_per_latent / self.form.fps):
            self._missed += 1
            self._metrics.deadline_missed.labels(self.form.family).inc()
