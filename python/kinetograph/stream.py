"""Stream: latents go in chunk by chunk, frames come out."""

from __future__ import annotations

import atexit
import collections
import os
import threading
import time
import warnings
import weakref
from ctypes import byref, c_uint32, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Iterator

from . import _dlpack, _library
from ._deadline import Deadline
from ._latents import Batch
from ._library import Busy, Error, InvalidArgument, check, library
from ._output import Reads
from .frame import FORMATS, Frame, Handle, Slot, readers
from .state import State

if TYPE_CHECKING:
    from .decoder import Decoder

_POLL_NS = 100_000_000  # how soon Ctrl-C is noticed
_LARGEST_CHUNK = 4096
_LONG_WAIT_SECONDS = 10.0  # in push() without a timeout: then it warns, as there may be no reader
_HELD_BACK = ("no", "skipped", "half", "quarter", "eighth")
_ALONE_SECONDS = 1.0  # without room, after which push() is sure that no thread takes frames


_streams: weakref.WeakSet[Stream] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Ends the library's threads before the process does."""
    for stream in list(_streams):
        stream.close()


class Stream:
    """The streaming state of one clip. Made by Decoder.stream(), Decoder.open() and Decoder.new_state().

    One thread pushes at a time; frames may be taken by another. Any thread may call anything else, also close(): a call
    keeps the handles that it has begun with.
    """

    def __init__(self, decoder: Decoder, dtype: str, layout: str, chunk: int, fps: float, on_device: bool,
                 path: str | None = None, timeout: float | None = None,
                 chosen: dict[str, Any] | None = None) -> None:
        if dtype not in FORMATS:
            raise InvalidArgument(f"frames are uint8, float32 or float16, not {dtype}")
        if layout not in _library.LAYOUTS:
            raise InvalidArgument(f"the layout of a frame is HWC, CHW or HWC4, not {layout}")
        if layout == "HWC4" and dtype != "uint8":
            raise InvalidArgument(f"frames of {dtype} have three channels: the layout HWC4 is of uint8")
        if not isinstance(chunk, int) or not 1 <= chunk <= _LARGEST_CHUNK:
            raise InvalidArgument(f"chunk is a number of latent frames, 1 to {_LARGEST_CHUNK}, and not {chunk!r}")
        self._decoder, self._dtype, self._layout, self._on_device = decoder, dtype, layout, on_device
        self._model: Handle | None = decoder._opened()  # until close(), also if the decoder is closed before
        self._slots = max(12, decoder.frames_per_latent * (chunk + 2))
        self._fps = fps
        self._chosen = chosen or {}  # further members of kg_clip_desc
        self._clip: Handle | None = None
        self._size: tuple[int, int] | None = None
        self._closed = False
        self._counts = threading.Lock()  # of the members below, and of becoming open or closed
        self._decodes = threading.Lock()  # held by the one decode_chunk() that may be running
        self._pushed = self._taken = self._steps = 0
        self._reader: int | None = None  # the thread that took the newest frame
        self._lent: collections.deque[tuple[int, Batch]] = collections.deque()  # with the last step that reads it
        self._reads = Reads()  # frames that decode() has stored
        self._unproven: collections.deque[Frame] = collections.deque()  # one of each step that is not checked yet
        if path is not None:
            self._make(self._model, lambda model, desc, made: library.kg_clip_open(model, os.fsencode(path), desc, made),
                       Deadline(timeout))
        _streams.add(self)

    def _desc(self, stop: int | None = None) -> _library.ClipDesc:
        return _library.ClipDesc(storage=_library.DEVICE if self._on_device else _library.HOST,
                                 format=FORMATS[self._dtype], slots=self._slots, fps=self._fps, stop=stop,
                                 **self._chosen)

    def _make(self, model: Handle, create: Callable[[Any, Any, Any], int], deadline: Deadline) -> Handle:
        made = c_void_p()
        with deadline.stop() as stop:
            check(create(model.value, byref(self._desc(stop)), byref(made)))
        clip = Handle(library.kg_clip_destroy, made, model, self._lent)  # which it may still read
        with self._counts:  # unless another thread has made or closed the stream meanwhile
            if self._clip is None and not self._closed:
                self._clip = clip
        return self._made()

    def _made(self) -> Handle:
        clip = self._clip
        if self._closed:
            raise InvalidArgument("the stream is closed")
        if clip is None:
            raise InvalidArgument("no latents were pushed yet: their size makes the stream")
        return clip

    def _for_size(self, size: tuple[int, int], deadline: Deadline) -> Handle:
        model = self._model
        if self._clip is None and model is not None and not self._closed:
            self._size = size
            return self._make(model, lambda model, desc, made: library.kg_clip_create(model, *size, desc, made),
                              deadline)
        return self._made()

    def prepare(self, height: int, width: int, *, timeout: float | None = None) -> None:
        """Makes the stream for latents of that size, in latent pixels; otherwise the first latents do."""
        self._for_size((height, width), Deadline(timeout))

    def push(self, latents: Any, *, stream: int | None = None, timeout: float | None = None,
             input_time: float | None = None) -> None:
        """Enqueues latents, [C, T, h, w] or one frame [C, h, w], and returns before they are decoded.

        Latents on the decoder's GPU are copied in the order of `stream`, a handle (by default torch's or CuPy's current
        stream): nothing waits, and the memory may be reused by later work of that stream. A timeout is in seconds;
        without one this waits until the reader has released frames, and raises Busy if more are given than fit in and
        there is no other thread that could take frames. The first latents also make the stream.

        `input_time` is when the input came for which the latents were made, by time.monotonic(), for
        stats()["input_latency_s"].
        """
        batch = Batch(latents, self._decoder.device_pair, stream, self._decoder._patches)
        batch.input_ns = 0 if input_time is None else round(input_time * 1e9)
        try:
            self._push(batch, 0, batch.frames, Deadline(timeout))
        finally:
            batch.close()

    def _push(self, batch: Batch, begin: int, end: int, deadline: Deadline) -> None:
        _dlpack.collect()
        readers.collect()
        clip = self._for_size(batch.size, deadline)
        done, pushed, moved, warned = begin, c_uint32(), time.monotonic(), False
        while done < end:
            result = library.kg_clip_push(clip.value, byref(batch.part(done, end)), deadline.left_ns(_POLL_NS),
                                          byref(pushed))
            done += pushed.value
            with self._counts:
                for _ in range(pushed.value):
                    self._pushed += 1 if self._pushed == 0 else self._decoder.frames_per_latent
                self._steps += pushed.value
            if batch.is_lent:
                self._lend(batch)
            check(result)
            if result == _library.TIMEOUT and deadline.passed:
                raise TimeoutError(f"{done - begin} of {end - begin} latent frames were pushed within "
                                   f"{deadline.timeout} s: the reader holds the stream's {self._slots} frames")
            if pushed.value > 0:
                moved = time.monotonic()
            elif result == _library.TIMEOUT and deadline.timeout is None and (full := self._fullness()) is not None:
                told = f"{done - begin} of {end - begin} latent frames were pushed: {full}"
                waited = time.monotonic() - moved
                if self._reads_alone() and waited > _ALONE_SECONDS:
                    raise Busy(f"{told}, and no other thread takes frames")
                if not warned and waited > _LONG_WAIT_SECONDS:
                    warnings.warn(f"push() waits. {told}", RuntimeWarning, stacklevel=3)
                    warned = True

    def _reads_alone(self) -> bool:
        """Whether this thread is the process's only one that is known to Python, and no other has taken frames."""
        with self._counts:
            return threading.active_count() == 1 and self._reader in (None, threading.get_ident())

    def _fullness(self) -> str | None:
        """Why the frames of another latent frame have no room; None if they have."""
        stats = self.stats()
        waiting, held = stats["frames_waiting"], stats["frames_held"]
        wanted = 1 if self._pushed == 0 else self._decoder.frames_per_latent
        if waiting + held + wanted <= self._slots:
            return None
        return (f"of the stream's {self._slots} frames {waiting} were not taken and {held} are held; take frames() "
                f"before more latents, or make the stream with a larger chunk=")

    def _lend(self, batch: Batch) -> None:
        """Keeps latents alive until they are read, at the latest by the step after the newest one, for which a push
        that timed out may have begun a copy. Those whose frames the slots hold may wait, and two steps may be
        reading."""
        waiting = 1 + (self._slots - 1) // self._decoder.frames_per_latent
        with self._counts:
            if self._lent and self._lent[-1][1] is batch:
                self._lent.pop()
            while self._lent and self._lent[0][0] + waiting + 2 <= self._steps:
                self._lent.popleft()
            self._lent.append((self._steps + 1, batch))

    def take(self, *, timeout: float | None = None) -> Frame | None:
        """The next frame, or None at the end of a file. On a GPU it may be one that is still being decoded: work on
        arrays that are made of it waits for that. Raises TimeoutError."""
        _dlpack.collect()
        readers.collect()
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
            self._reader = threading.get_ident()
        device = self._decoder.device_pair if self._on_device else ("cpu", 0)
        return Frame(Slot(clip, record), device, self._layout)

    @property
    def pending(self) -> int:
        """How many frames of the latents pushed so far have not been taken."""
        with self._counts:
            return self._pushed - self._taken

    def frames(self, *, timeout: float | None = None) -> Iterator[Frame]:
        """The frames of all latents that were pushed so far, or of a file to its end, as each is decoded. `timeout`
        is for each frame, as in take()."""
        if self._size is None:  # of a file
            while (frame := self.take(timeout=timeout)) is not None:
                yield frame
            return
        while self.pending > 0:
            frame = self.take(timeout=timeout)
            assert frame is not None
            yield frame

    def _prove(self) -> None:
        """Checks that the steps that have ended made only finite values; waits for none. One frame of each step is held
        until then."""
        with self._counts:
            while self._unproven and (finite := self._unproven[0].finite) is not None:
                frame = self._unproven.popleft()
                frame.release()
                if not finite:
                    self._unproven.clear()
                    raise InvalidArgument(f"frame {frame.index} holds values that are not finite: the latents do, or "
                                          f"the decoder made them of these; stream() gives frames as they are")

    def _settle(self) -> None:
        """Warns of values of the steps so far that were not finite, and stops asking about those steps."""
        try:
            self._prove()
        except InvalidArgument as error:
            warnings.warn(f"the clip before: {error}", RuntimeWarning, stacklevel=4)
        except Error:
            pass  # a lost device, or a child of fork(): calls that use the stream raise it
        with self._counts:
            self._unproven.clear()

    # The state as a value. Calls of the thread that pushes; they take effect after the latents pushed so far, for whose
    # frames there must be room.

    def fork(self, *, timeout: float | None = None) -> Stream:
        """A second stream that continues where this one is. Frames that were not taken are this one's."""
        clip, made = self._made(), c_void_p()
        branch = Stream(self._decoder, self._dtype, self._layout, 1, self._fps, self._on_device, chosen=self._chosen)
        self._use_state(lambda left: library.kg_clip_fork(clip.value, byref(self._desc()), left, byref(made)), timeout)
        branch._slots, branch._size = self._slots, self._size
        branch._clip = Handle(library.kg_clip_destroy, made, branch._model, branch._lent)
        branch._pushed = branch._taken = self._pushed
        return branch

    def save(self, *, timeout: float | None = None) -> State:
        """What the stream remembers, in the host's memory."""
        clip, made = self._made(), c_void_p()
        self._use_state(lambda left: library.kg_clip_save(clip.value, left, byref(made)), timeout)
        return State(Handle(library.kg_state_destroy, made))

    def load(self, state: State, *, timeout: float | None = None) -> None:
        """The next latents continue the saved stream; frames that were not taken are dropped. A state of other weights,
        another size or precision raises InvalidArgument, and a new clip begins."""
        if not isinstance(state, State):
            raise InvalidArgument(f"a state is made by save() or State.read(), and is no {type(state).__name__}")
        deadline = Deadline(timeout)
        self.reset()
        clip = self._for_size(state.size, deadline)
        self._use_state(lambda left: library.kg_clip_load(clip.value, state._handle.value, left), deadline.left)
        self._continue_at(state.frames)

    def rewind(self, latent_frames: int = 1, *, timeout: float | None = None) -> None:
        """Goes back to before the last latent frames; frames that were not taken are dropped. The stream must have been
        made with `rewind=` of as many."""
        clip, made = self._made(), self._decoder.frames_per_latent
        if not isinstance(latent_frames, int) or not 0 < latent_frames < 1 << 32:
            raise InvalidArgument(f"rewind() goes back by a number of latent frames, and not by {latent_frames!r}")
        self._use_state(lambda left: library.kg_clip_rewind(clip.value, latent_frames, left), timeout)
        left = (self._pushed + made - 1) // made - latent_frames
        self._continue_at(0 if left == 0 else 1 + (left - 1) * made)

    def park(self, *, timeout: float | None = None) -> None:
        """Moves what the stream remembers from the device to the host's memory, until resume(). It takes no latents in
        between, and forgets what rewind() could go back to."""
        clip = self._made()
        self._use_state(lambda left: library.kg_clip_park(clip.value, left), timeout)

    def resume(self, *, timeout: float | None = None) -> None:
        """Moves it back. Raises OutOfMemory, and may be called again."""
        clip = self._made()
        self._use_state(lambda left: library.kg_clip_resume(clip.value, left), timeout)

    def _use_state(self, call: Callable[[int], int], timeout: float | None) -> None:
        readers.collect()
        deadline = Deadline(timeout)
        while check(call(deadline.left_ns(_POLL_NS))) == _library.TIMEOUT:
            if deadline.passed:
                raise TimeoutError(f"the latents pushed so far were not decoded within {timeout} s")
            if deadline.timeout is None and self._reads_alone() and self._fullness() is not None:
                raise Busy(f"latents pushed so far wait: {self._fullness()}")

    def _continue_at(self, frames: int) -> None:
        with self._counts:
            self._unproven.clear()
            self._pushed = self._taken = frames

    def reset(self) -> None:
        """Begins a new clip: frames that were not taken are dropped."""
        self._settle()
        if self._clip is None:
            return
        clip = self._made()  # kept for as long as the call
        check(library.kg_clip_reset(clip.value))
        with self._counts:
            self._pushed = self._taken = 0

    def cancel(self) -> None:
        """Ends push() and take() in other threads, which raise Cancelled until reset()."""
        if self._clip is not None:
            clip = self._made()
            check(library.kg_clip_cancel(clip.value))

    def close(self, *, timeout: float | None = None) -> None:
        """Ends the stream. Frames that were taken, and arrays made of them, stay valid.

        Waits for the steps that are being decoded, also while frames are held; with a timeout, in seconds, raises
        TimeoutError if they have not ended, and may be called again.
        """
        self._settle()
        deadline = Deadline(timeout)
        with self._counts:
            self._closed = True
            clip = self._clip
        if clip is not None:
            library.kg_clip_cancel(clip.value)
        while clip is not None:
            result = library.kg_clip_close(clip.value, deadline.left_ns(_POLL_NS))
            # Busy: another thread's push() is about to return. Unsupported: a child of fork(), where there is nothing
            # to end.
            if result in (_library.OK, _library.UNSUPPORTED):
                break
            if result not in (_library.TIMEOUT, _library.BUSY):
                check(result)
            if deadline.passed:
                raise TimeoutError(f"the stream's last steps have not ended within {timeout} s")
        if not self._reads.wait(deadline):
            raise TimeoutError(f"the copies of the last frames have not ended within {timeout} s")
        with self._counts:
            self._clip = self._model = None
            self._lent.clear()
        readers.collect()

    def stats(self) -> dict[str, Any]:
        """Sizes, counts, bytes, and seconds: of a step on the device, of waits for the turn, and until the first frame
        of a step was taken, since its latents were pushed and since their input came. For a watchdog, "unmoved_s": for
        how many seconds, as seen by the calls of stats(), work has made no progress."""
        info = _library.ClipInfo()
        clip = self._made()  # whose memory the route's name is in
        check(library.kg_clip_describe(clip.value, byref(info)))
        return {"width": info.width, "height": info.height, "slots": info.slots, "frames": info.frames, "fps": info.fps,
                "route": info.route.decode(), "frames_waiting": info.frames_waiting,
                "frames_held": info.frames_acquired, "steps": info.steps, "last_step_s": info.last_step_ns / 1e9,
                "average_step_s": info.average_step_ns / 1e9, "state_bytes": info.state_bytes,
                "clip_bytes": info.clip_bytes, "model_bytes": info.model_bytes,
                "device_bytes": info.device_bytes, "device_free": info.device_free, "unmoved_s": info.unmoved_ns / 1e9,
                "due_misses": info.due_misses, "waited_s": info.waited_ns / 1e9,
                "longest_wait_s": info.longest_wait_ns / 1e9, "held_back": _HELD_BACK[info.held_back],
                "steps_held_back": info.steps_held_back, "first_frame_s": info.first_frame_ns / 1e9,
                "latency_s": info.latency_ns / 1e9, "average_latency_s": info.average_latency_ns / 1e9,
                "longest_latency_s": info.longest_latency_ns / 1e9, "input_latency_s": info.input_latency_ns / 1e9,
                "average_input_latency_s": info.average_input_latency_ns / 1e9,
                "longest_input_latency_s": info.longest_input_latency_ns / 1e9}

    def passes(self) -> list[dict[str, Any]]:
        """The passes that ran lately, the dearest first: their names and tracks, calls, seconds of one on average and at
        most, and their shares of the time in which any ran. Of a stream that was made with `passes=True`."""
        found: list[dict[str, Any]] = []
        clip = self._made()

        def add(_: Any, record: Any) -> None:
            info = record.contents
            found.append({"name": info.name.decode(), "track": info.track.decode(), "calls": info.calls,
                          "average_s": info.average_ns / 1e9, "longest_s": info.longest_ns / 1e9, "share": info.share})

        check(library.kg_clip_passes(clip.value, _library.EachPass(add), None))
        return found

    @property
    def nbytes(self) -> int:
        """Bytes that this clip takes besides the decoder's weights; 0 before the first latents."""
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
        if self._clip is None and not self._closed:
            return "<kinetograph.Stream: waits for its first latents>"
        try:
            stats = self.stats()
        except InvalidArgument:
            return "<kinetograph.Stream: closed>"
        return (f"<kinetograph.Stream: {stats['width']} x {stats['height']} {self._dtype}, {stats['steps']} steps, "
                f"{stats['frames_waiting']} frames waiting, {stats['frames_held']} held>")
