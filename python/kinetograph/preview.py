"""A window that shows frames while a pipeline generates, in a process of its own.

The process is `kinetograph view unix:...`, and takes latents in the format of docs/live.md. Those in CUDA memory pass
by IPC handle to a relay (_relay.py), which copies them to the host; others go to the viewer's socket at once. A viewer
that crashes or is closed never stops the pipeline, and a pipeline that crashes or is slow never takes the picture down.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Callable, Sequence

from . import _relay, live

__all__ = ["Preview"]

_START_SECONDS = 60.0  # until the viewer listens: Vulkan's start on a busy machine
_STOP_SECONDS = 10.0


class Preview:
    """Shows latents as they are made.

    weights    a checkpoint, as `kinetograph view --weights` takes it
    fps        of the video
    family     of the VAE that the latents are for; by default that of the weights, which are read for it
    name       the window's title
    program    the `kinetograph` program; by default the one that KINETOGRAPH_PROGRAM names, or that PATH has
    arguments  more options of `kinetograph view`, as ["--lane", "cuda"]

        with Preview("vae.safetensors") as preview:
            for latents in pipeline:
                preview.show(latents)

    Raises FileNotFoundError without the program, which `pip install` does not bring; RuntimeError if it ends before it
    listens, with its last message.
    Not thread-safe. On leaving the context the stream ends and the window stays until it is closed; close() closes it.
    """

    def __init__(self, weights: str | os.PathLike[str], *, fps: float = 24.0, family: str | None = None,
                 name: str = "preview", program: str | os.PathLike[str] | None = None,
                 arguments: Sequence[str] = ()) -> None:
        program = program or os.environ.get("KINETOGRAPH_PROGRAM") or shutil.which("kinetograph")
        if program is None:
            raise FileNotFoundError("the program kinetograph is not in PATH: `pip install` brings the package without "
                                    "it, and the sources build it; give program=, or set KINETOGRAPH_PROGRAM")
        self._stated: dict[str, Any] = {"fps": fps, "name": name}
        self._gone: str | None = None
        self._writer: live.Writer | _relay.Relay | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="kinetograph-preview-")
        path = str(Path(self._folder.name) / "live.sock")
        self._messages = open(Path(self._folder.name) / "messages", "w+b")
        command = [str(program), "view", "unix:" + path, "--weights", os.fspath(weights), *arguments]
        try:
            # A session of its own, so that Ctrl-C in the pipeline's terminal does not close the window.
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                             stderr=self._messages, start_new_session=True)
            self._stated["family"] = family or _family_of(weights)  # while the viewer starts
            self._writer = self._connect(self._process, path)
        except BaseException:
            self.close()
            raise

    def _connect(self, process: subprocess.Popen[bytes], path: str) -> live.Writer:
        until = time.monotonic() + _START_SECONDS
        while process.poll() is None and time.monotonic() < until:
            try:
                return live.connect(path)
            except OSError:
                time.sleep(0.01)
        raise RuntimeError(f"kinetograph view does not listen: {self._last_message()}")

    def _last_message(self) -> str:
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def __repr__(self) -> str:
        state = "shows latents" if self.alive else f"no longer shows: {self._gone or self._last_message()}"
        return f"<kinetograph.Preview {self._stated['name']!r}, process {self.process.pid}, {state}>"

    def __enter__(self) -> Preview:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.end()

    @property
    def alive(self) -> bool:
        """Whether the viewer takes latents."""
        return self._writer is not None and self._gone is None and self.process.poll() is None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The viewer's process, a subprocess.Popen."""
        assert self._process is not None
        return self._process

    def show(self, latents: Any, timeout: float | None = None) -> int:
        """Sends the next latent frames: [C, T, h, w], [1, C, T, h, w] or [C, h, w]; a torch tensor on any device, an
        array in CUDA memory, or one in host memory. Another shape or dtype than before begins another clip.

        Waits while the viewer has no room, at most `timeout` seconds (None: as long as it lives). Returns how many
        latent frames were sent: with a timeout, send the others again. A viewer that has gone is warned of once; from
        then on nothing is sent, and 0 is returned. Raises TypeError or ValueError for anything but latents.

        If the first latents are in CUDA memory and the driver shares memory between processes, latents are copied in
        the order of their package's current stream, and nothing waits for the GPU. Otherwise they go through the host.
        """
        ordinal = _cuda_ordinal(latents)
        if ordinal is not None and self._uses_relay(ordinal):
            return self._safely(lambda relay: self._relayed(relay, latents, timeout)) or 0
        host = live.Latents.of(latents)

        def send(writer: live.Writer | _relay.Relay) -> int:
            self._begin(writer, host.shape, host.dtype)
            return writer.send(host, timeout)
        return self._safely(send) or 0

    def _begin(self, writer: live.Writer | _relay.Relay, shape: tuple[int, ...], dtype: str) -> None:
        channels, _, height, width = shape
        wanted: dict[str, Any] = {"channels": channels, "height": height, "width": width, "dtype": dtype,
                                  **self._stated}
        if writer.header != wanted:
            writer.start(**wanted)

    def _uses_relay(self, ordinal: int) -> bool:
        """Whether latents of that device go by the relay, which is started for the connection's first."""
        if isinstance(self._writer, _relay.Relay):
            return self._writer.ordinal == ordinal
        unused = None if self._writer is None else self._writer.unused_socket
        if unused is None:
            return False
        try:
            self._writer = _relay.Relay(unused, ordinal)
        except (OSError, AttributeError):  # no driver, one that shares no memory, or one without the calls
            return False
        return True

    def _relayed(self, relay: live.Writer | _relay.Relay, latents: Any, timeout: float | None) -> int:
        from . import _dlpack, _latents

        assert isinstance(relay, _relay.Relay)
        latents = _latents.packed(latents)
        stream = _latents.current_stream(latents)
        view = _dlpack.take(latents, _latents.dlpack_stream("cuda", stream))
        try:
            dtype = _latents.dtype_name(view)
            shape = live.four(view.shape)
            self._begin(relay, shape, dtype)
            return relay.send_device(view, shape, dtype, stream, timeout)
        except BaseException:
            view.close()
            raise

    def reset(self) -> None:
        """Drops what is not shown yet; the next latents begin a clip anew."""
        self._safely(lambda writer: writer.reset() if writer.header else None)

    def end(self) -> None:
        """The clip is complete; show() begins another one."""
        if self.alive:  # a window that was closed is no news here
            self._safely(lambda writer: writer.end())

    def wait(self, timeout: float | None = None) -> int:
        """Waits until the viewer is closed; returns its exit code."""
        return self.process.wait(timeout)

    def close(self) -> None:
        """Closes the window."""
        self._gone = self._gone or "it was closed"
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:  # a driver's call that does not return
                self._process.kill()
                self._process.wait()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._messages.close()
        self._folder.cleanup()

    def _safely(self, send: Callable[[live.Writer | _relay.Relay], int | None]) -> int | None:
        """What `send` returns; None, after a warning, once the viewer has gone."""
        send_to = self._writer
        if self._gone is not None or send_to is None:
            return None
        try:
            return send(send_to)
        except OSError as error:
            if isinstance(error, live.Refused):
                self._gone = str(error)
            elif isinstance(send_to, _relay.Relay):
                self._gone = f"{error}; the viewer's last message: {self._last_message()}"
            else:
                self._gone = f"the viewer has gone: {self._last_message()}"
            warnings.warn(f"kinetograph.Preview: {self._gone}; nothing more is shown", RuntimeWarning, stacklevel=4)
            return None


def _family_of(weights: str | os.PathLike[str]) -> str:
    """The family of the weights; the default if they cannot be opened here: the viewer then says what is wrong."""
    try:
        from . import _library, decoder
    except ImportError:  # this module works without the package's library too
        return live.FAMILY
    try:
        return decoder.family_of(weights)
    except _library.Error:
        return live.FAMILY


def _cuda_ordinal(latents: Any) -> int | None:
    if not hasattr(latents, "__dlpack_device__"):
        return None
    kind, ordinal = latents.__dlpack_device__()
    return int(ordinal) if int(kind) == 2 else None  # kDLCUDA
