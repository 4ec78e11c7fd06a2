"""Latents in CUDA memory for a viewer: by IPC handle to another process, which writes them to the viewer's socket.

The generator's stream copies latents to a slot of memory that both processes map, and records an event. The relay waits
for that, copies them to the host and writes them as live latents (docs/live.md). The generator's thread waits for
neither the GPU nor the viewer, unless SLOTS chunks are on their way.

Source: CUDA driver API, "IPC" (cuIpcGetMemHandle, cuIpcGetEventHandle).
"""
from __future__ import annotations

import collections
import contextlib
import ctypes
import multiprocessing
import os
import socket
import subprocess
import sys
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p
from multiprocessing.connection import Connection
from typing import Any, Iterator

if __name__ == "__main__":  # beside the package, whose library the relay does not need
    import live
else:
    from . import live

SLOTS = 3
_POLL_SECONDS = 0.02  # how soon a relay that waits for the viewer sees a reset
_INTERPROCESS = 0x2 | 0x4  # CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS


class _IpcHandle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint8 * 64)]


class Device:
    """The primary context of a CUDA device. Raises OSError without a driver."""

    def __init__(self, ordinal: int) -> None:
        self._cuda = ctypes.CDLL(os.environ.get("KINETOGRAPH_CUDA_LIBRARY") or "libcuda.so.1")
        device, self._context = c_int(), c_void_p()
        self.call("cuInit", c_uint(0))
        self.call("cuDeviceGet", byref(device), c_int(ordinal))
        self.call("cuDevicePrimaryCtxRetain", byref(self._context), device)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status != 0:
            raise OSError(f"{name} failed with CUDA's error {status}")

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        self.call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent_v2", byref(c_void_p()))


class _Slots:
    """Memory of the generator that the relay maps, with an event for each slot."""

    def __init__(self, device: Device, size: int) -> None:
        self.size, self._device = size, device
        self._memory = c_uint64()
        self._events = [c_void_p() for _ in range(SLOTS)]
        with device.current():
            device.call("cuMemAlloc_v2", byref(self._memory), c_size_t(SLOTS * size))
            for event in self._events:
                device.call("cuEventCreate", byref(event), c_uint(_INTERPROCESS))

    def handles(self) -> tuple[bytes, list[bytes]]:
        def handle(name: str, of: Any) -> bytes:
            made = _IpcHandle()
            self._device.call(name, byref(made), of)
            return bytes(made.bytes)
        with self._device.current():
            return (handle("cuIpcGetMemHandle", self._memory),
                    [handle("cuIpcGetEventHandle", event) for event in self._events])

    def fill(self, slot: int, address: int, size: int, stream: int) -> None:
        """Copies latents to the slot, in the order of `stream`."""
        with self._device.current():
            self._device.call("cuMemcpyDtoDAsync_v2", c_uint64(self._memory.value + slot * self.size),
                              c_uint64(address), c_size_t(size), c_void_p(stream))
            self._device.call("cuEventRecord", self._events[slot], c_void_p(stream))

    def free(self) -> None:
        with self._device.current():
            for event in self._events:
                self._device.call("cuEventDestroy_v2", event)
            self._device.call("cuMemFree_v2", self._memory)


class Relay:
    """The generator's end, used in place of a live.Writer on the viewer's socket, which it takes over."""

    def __init__(self, viewer: socket.socket, ordinal: int) -> None:
        """Raises OSError if this device's memory cannot be shared; the socket stays the caller's then."""
        self.ordinal = ordinal
        self.header: dict[str, Any] | None = None
        self._sent = self._copied = self._done = self._mapped = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._device = Device(ordinal)
        self._slots = _Slots(self._device, 1 << 20)
        self._lent: collections.deque[Any] = collections.deque()  # of each chunk sent, what holds its memory
        self._pipe, theirs = multiprocessing.Pipe()
        try:
            handles = self._slots.handles()
            command = [sys.executable, __file__, str(theirs.fileno()), str(viewer.fileno()), str(ordinal)]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True,
                                             pass_fds=[theirs.fileno(), viewer.fileno()])
            theirs.close()
            self._map(handles)
        except BaseException:
            self.close()
            raise
        viewer.close()

    def start(self, **stated: Any) -> None:
        self._send("start", stated)
        self.header = stated

    def send_device(self, view: Any, shape: tuple[int, ...], dtype: str, stream: int, timeout: float | None) -> int:
        """Contiguous latents [channels, frames, height, width] at view.address, which `view` holds until they were
        copied; returns how many frames were taken, all or none."""
        if not self._room(timeout):
            return 0
        size = live.bytes_of(shape, dtype)
        if size > self._slots.size:
            self._grow(size)
        slot = self._sent % SLOTS
        self._slots.fill(slot, view.address, size, stream)
        self._sent += 1
        self._lent.append(view)
        self._send("device", slot, size, shape, dtype)
        return int(shape[1])

    def send(self, latents: live.Latents, timeout: float | None = None) -> int:
        """Latents in the host's memory."""
        if not self._room(timeout):
            return 0
        self._sent += 1
        self._lent.append(None)
        self._send("host", latents.shape, latents.dtype, latents.frames)
        return len(latents.frames)

    def reset(self) -> None:
        self._send("reset")

    def end(self) -> None:
        """Waits until the relay has copied all latents: their memory may be released then."""
        self._send("end")
        self.header = None
        while self._copied < self._sent:
            self._receive(None)

    def close(self) -> None:
        if self._pipe.closed:
            return
        self._pipe.close()
        if self._process is not None:
            self._process.wait()
        self._slots.free()
        self._lent.clear()

    def _room(self, timeout: float | None) -> bool:
        while self._receive(0):
            pass
        while self._sent - self._done >= SLOTS:
            if not self._receive(timeout):
                return False
        return True

    def _grow(self, size: int) -> None:
        before, self._slots = self._slots, _Slots(self._device, size)
        self._map(self._slots.handles())  # everything in the slots before is copied by then
        before.free()

    def _map(self, handles: tuple[bytes, list[bytes]]) -> None:
        mapped = self._mapped
        self._send("memory", self._slots.size, *handles)
        while self._mapped == mapped:
            self._receive(None)

    def _send(self, *command: Any) -> None:
        try:
            self._pipe.send(command)
        except OSError:
            while self._receive(None):
                pass  # raises its last message, if it has sent one
            raise

    def _receive(self, timeout: float | None) -> bool:
        """Takes in a reply; False if none came within `timeout`."""
        if not self._pipe.poll(timeout):
            return False
        try:
            word, *rest = self._pipe.recv()
        except EOFError:
            raise ConnectionError("the relay of CUDA memory has gone") from None
        if word == "gone":
            refused, sentence = rest
            raise live.Refused(sentence) if refused else ConnectionError(sentence)
        if word == "copied":
            self._copied += 1
            self._lent.popleft()
        elif word == "mapped":
            self._mapped += 1
        else:
            self._done += rest[0]
        return True


class _Mapped:
    """The slots of a generator, in this process."""

    def __init__(self, device: Device, size: int, memory: bytes, events: list[bytes]) -> None:
        self._device, self._size = device, size
        self._memory = c_uint64()
        self._events = [c_void_p() for _ in events]
        with device.current():
            device.call("cuIpcOpenMemHandle_v2", byref(self._memory), _IpcHandle.from_buffer_copy(memory), c_uint(1))
            for event, handle in zip(self._events, events):
                device.call("cuIpcOpenEventHandle", byref(event), _IpcHandle.from_buffer_copy(handle))

    def read(self, slot: int, size: int) -> bytes:
        data = ctypes.create_string_buffer(size)
        with self._device.current():
            self._device.call("cuEventSynchronize", self._events[slot])
            self._device.call("cuMemcpyDtoH_v2", data, c_uint64(self._memory.value + slot * self._size), c_size_t(size))
        return data.raw

    def close(self) -> None:
        with self._device.current():
            for event in self._events:
                self._device.call("cuEventDestroy_v2", event)
            self._device.call("cuIpcCloseMemHandle", self._memory)


class _Program:
    """The relay's end."""

    def __init__(self, commands: Connection, viewer: socket.socket, ordinal: int) -> None:
        self._commands, self._writer = commands, live.Writer(viewer)
        self._device = Device(ordinal)
        self._mapped: _Mapped | None = None
        self._queue: collections.deque[tuple[str, Any]] = collections.deque()

    def run(self) -> None:
        with contextlib.suppress(EOFError):
            while True:
                self._take_in(None)
                self._write()
        self._write(to_the_end=True)

    def _reply(self, *word: Any) -> None:
        with contextlib.suppress(OSError):  # the generator has gone: its latents are written all the same
            self._commands.send(word)

    def _take_in(self, timeout: float | None) -> None:
        """Carries out the commands that have come in: copies latents at once, and drops what a reset drops."""
        while self._commands.poll(timeout):
            timeout = 0
            try:
                word, *rest = self._commands.recv()
            except OSError:  # the generator has gone without reading the replies
                raise EOFError from None
            if word == "memory":
                if self._mapped is not None:
                    self._mapped.close()
                self._mapped = _Mapped(self._device, *rest)
                self._reply("mapped")
            elif word == "device":
                assert self._mapped is not None
                slot, size, shape, dtype = rest
                self._queue.append(("latents", live.Latents(shape, dtype, self._mapped.read(slot, size))))
                self._reply("copied")
            elif word == "host":
                self._queue.append(("latents", live.Latents.of_frames(*rest)))
                self._reply("copied")
            elif word == "reset":
                dropped = sum(1 for queued, _ in self._queue if queued == "latents")
                kept = [entry for entry in self._queue if entry[0] == "start"][-1:]
                self._queue.clear()
                self._queue.extend([*kept, ("reset", None)])
                self._reply("done", dropped)
            else:
                self._queue.append((word, rest[0] if rest else None))

    def _write(self, to_the_end: bool = False) -> None:
        while self._queue:
            word, what = self._queue[0]
            if word == "latents":
                sent = self._writer.send(what, None if to_the_end else _POLL_SECONDS)
                what.frames = what.frames[sent:]
                if what.frames:
                    self._take_in(0)
                    continue
                self._reply("done", 1)
            elif word == "start":
                self._writer.start(**what)
            elif word == "reset":
                if self._writer.header is not None:
                    self._writer.reset()
            else:
                self._writer.end()
            self._queue.popleft()


def main(commands: Connection, viewer: socket.socket, ordinal: int) -> int:
    try:
        _Program(commands, viewer, ordinal).run()
    except (OSError, AttributeError) as error:  # AttributeError: a driver without IPC
        with contextlib.suppress(OSError):
            commands.send(("gone", isinstance(error, live.Refused), str(error)))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Connection(int(sys.argv[1])), socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3])))
