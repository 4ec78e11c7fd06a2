"""A window that shows frames while a pipeline generates, in a process of its own.

The process is `kinetograph view unix:...`; latents go to it through the host's memory, in the format of docs/live.md. A
viewer that crashes or is closed never stops the pipeline, and a pipeline that crashes or is slow never takes the
picture down.
"""
import os
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

from . import live

__all__ = ["Preview"]

_START_SECONDS = 60.0  # until the viewer listens: Vulkan's start on a busy machine


class Preview:
    """Shows latents as they are made.

    weights    a checkpoint, as `kinetograph view --weights` takes it
    fps        of the video
    family     of the VAE that the latents are for
    name       the window's title
    program    the `kinetograph` program; by default the one that KINETOGRAPH_PROGRAM names, or that PATH has
    arguments  more options of `kinetograph view`, as ["--lane", "cuda"]

        with Preview("vae.safetensors") as preview:
            for latents in pipeline:
                preview.show(latents)

    Raises FileNotFoundError without the program, RuntimeError if it ends before it listens, with its last message.
    Not thread-safe. On leaving the context the stream ends and the window stays until it is closed; close() closes it.
    """

    def __init__(self, weights, *, fps=24.0, family="wan2.1", name="preview", program=None, arguments=()):
        program = program or os.environ.get("KINETOGRAPH_PROGRAM") or shutil.which("kinetograph")
        if program is None:
            raise FileNotFoundError("the program kinetograph is not in PATH: give program=, or set KINETOGRAPH_PROGRAM")
        self._stated = {"fps": fps, "family": family, "name": name}
        self._gone = None
        self._writer = None
        self._folder = tempfile.TemporaryDirectory(prefix="kinetograph-preview-")
        path = str(Path(self._folder.name) / "live.sock")
        self._messages = open(Path(self._folder.name) / "messages", "w+b")
        command = [str(program), "view", "unix:" + path, "--weights", os.fspath(weights), *arguments]
        try:
            # A session of its own: a Ctrl-C for the pipeline is none for the window.
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                             stderr=self._messages, start_new_session=True)
            self._writer = self._connect(path)
        except BaseException:
            self.close()
            raise

    def _connect(self, path):
        until = time.monotonic() + _START_SECONDS
        while self._process.poll() is None and time.monotonic() < until:
            try:
                return live.connect(path)
            except OSError:
                time.sleep(0.01)
        raise RuntimeError(f"kinetograph view does not listen: {self._last_message()}")

    def _last_message(self):
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def __repr__(self):
        state = "shows latents" if self.alive else f"no longer shows: {self._gone or self._last_message()}"
        return f"<kinetograph.Preview {self._stated['name']!r}, process {self._process.pid}, {state}>"

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.end()

    @property
    def alive(self):
        """Whether the viewer takes latents."""
        return self._writer is not None and self._gone is None and self._process.poll() is None

    @property
    def process(self):
        """The viewer's process, a subprocess.Popen."""
        return self._process

    def show(self, latents, timeout=None):
        """Sends the next latent frames: [C, T, h, w], [1, C, T, h, w] or [C, h, w]; a torch tensor of any device, or an
        array in host memory. Another shape or dtype than before begins another clip.

        Waits while the viewer has no room, at most `timeout` seconds (None: as long as it lives). Returns how many
        latent frames were sent: with a timeout, send the others again. A viewer that has gone is warned of once; from
        then on nothing is sent, and 0 is returned. Raises TypeError and ValueError for what are no latents.
        """
        latents = live.Latents.of(latents)
        channels, _, height, width = latents.shape
        wanted = {"channels": channels, "height": height, "width": width, "dtype": latents.dtype, **self._stated}

        def send():
            if self._writer.header != wanted:
                self._writer.start(**wanted)
            return self._writer.send(latents, timeout)
        return self._safely(send) or 0

    def reset(self):
        """Drops what is not shown yet; the next latents begin a clip anew."""
        self._safely(lambda: self._writer.reset() if self._writer.header else None)

    def end(self):
        """The clip is complete; show() begins another one."""
        if self.alive:  # a window that was closed is no news here
            self._safely(lambda: self._writer.end())

    def wait(self, timeout=None):
        """Waits until the viewer is closed; returns its exit code."""
        return self._process.wait(timeout)

    def close(self):
        """Closes the window."""
        self._gone = self._gone or "it was closed"
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        process = getattr(self, "_process", None)
        if process is not None and process.poll() is None:
            process.terminate()
            process.wait()
        self._messages.close()
        self._folder.cleanup()

    def _safely(self, send):
        """What `send` returns; None, after a warning, once the viewer has gone."""
        if self._gone is not None or self._writer is None:
            return None
        try:
            return send()
        except OSError as error:
            refused = isinstance(error, live.Refused)
            self._gone = str(error) if refused else f"the viewer has gone: {self._last_message()}"
            warnings.warn(f"kinetograph.Preview: {self._gone}; nothing more is shown", RuntimeWarning, stacklevel=4)
            return None
