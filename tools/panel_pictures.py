#!/usr/bin/python3
"""Takes the pictures of docs/profiling.md: the viewer's panels under Xvfb, with a mouse that this script moves.

    tools/panel_pictures.py build/release/tools/kinetograph/kinetograph docs

Needs the Debian packages xvfb, libxtst6 and python3-numpy.
"""
import ctypes
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parent.parent
WIDTH, HEIGHT = 1200, 640
PANEL = (8, 72, 1184, 490)  # x, y, width and height of a panel that is alone in the viewer's window
BAR = {"Passes": 24, "Timeline": 106, "Pacing": 193, "Memory": 268, "Graph": 350, "Spikes": 420}  # boxes to tick
ARRANGE = 580  # the button behind them
COLORS = 32
SHIFT = 0xFFE1  # X11's symbol of the key on the left


class Screen:
    """The X server's pointer, and what it shows."""

    def __init__(self, name):
        os.environ["DISPLAY"] = name
        self.x11, self.xtst = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libXtst.so.6")
        self.x11.XOpenDisplay.restype = self.x11.XGetImage.restype = ctypes.c_void_p
        self.x11.XDefaultRootWindow.restype = ctypes.c_ulong
        self.display = ctypes.c_void_p(self.x11.XOpenDisplay(None))
        self.root = ctypes.c_ulong(self.x11.XDefaultRootWindow(self.display))

    def move(self, x, y):
        self.xtst.XTestFakeMotionEvent(self.display, -1, int(x), int(y), 0)
        self._sync()

    def button(self, number, down):
        self.xtst.XTestFakeButtonEvent(self.display, number, down, 0)
        self._sync()

    def click(self, x, y):
        self.move(x, y)
        for down in (1, 0):
            self.button(1, down)

    def key(self, letter):
        codes = [self.x11.XKeysymToKeycode(self.display, ctypes.c_ulong(symbol))
                 for symbol in ([SHIFT] if letter.isupper() else []) + [ord(letter)]]
        for down in (1, 0):
            for code in codes if down else reversed(codes):
                self.xtst.XTestFakeKeyEvent(self.display, code & 0xFF, down, 0)
        self._sync()

    def _sync(self):
        self.x11.XSync(self.display, 0)
        time.sleep(0.4)  # a picture or two: the viewer looks at the mouse once in each

    def picture(self, x, y, width, height):
        """RGB bytes, [height, width, 3]."""
        image = self.x11.XGetImage(self.display, self.root, x, y, width, height, ctypes.c_ulong(-1).value, 2)
        data = ctypes.cast(image + 16, ctypes.POINTER(ctypes.c_void_p))[0]  # after four ints
        pixels = numpy.ctypeslib.as_array(ctypes.cast(data, ctypes.POINTER(ctypes.c_uint8)), (height, width, 4))
        return pixels[:, :, 2::-1].copy()


def write_png(path, pixels):
    """With a palette: each next colour is the one that is missed most, by pixels and distance."""
    pixels = (pixels & 0xF8) | 4
    colors, index, counts = numpy.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    palette, missed = colors[[numpy.argmax(counts)]].astype(numpy.int32), numpy.full(len(colors), numpy.inf)
    while len(palette) < min(COLORS, len(colors)):
        missed = numpy.minimum(missed, ((colors.astype(numpy.int32) - palette[-1]) ** 2).sum(1))
        palette = numpy.vstack([palette, colors[[numpy.argmax(missed * counts)]]])
    nearest = numpy.array([numpy.argmin(((palette - color) ** 2).sum(1)) for color in colors.astype(numpy.int32)])
    rows = nearest[index.reshape(-1)].astype(numpy.uint8).reshape(pixels.shape[:2])
    lines = b"".join(b"\0" + row.tobytes() for row in rows)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 3, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
                     chunk(b"PLTE", palette.astype(numpy.uint8).tobytes()) +
                     chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))
    print(f"{path}: {path.stat().st_size} bytes")


def small_clip(path):
    """Latents for 128x80 pixels out of the middle of a demo clip: steps take a part of a second."""
    data = (ROOT / "assets/orbit.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    entry = header["latents"]
    values = numpy.frombuffer(data[8 + size:], {"F32": "u4", "F16": "u2", "BF16": "u2"}[entry["dtype"]],
                              offset=entry["data_offsets"][0], count=int(numpy.prod(entry["shape"]))
                              ).reshape(entry["shape"])
    top, left = (values.shape[-2] - 10) // 2, (values.shape[-1] - 16) // 2
    cut = numpy.ascontiguousarray(values[..., top:top + 10, left:left + 16])
    header["latents"].update(shape=list(cut.shape), data_offsets=[0, cut.nbytes])
    text = json.dumps({key: header[key] for key in header if key in ("latents", "__metadata__")}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + cut.tobytes())


def wait_for_steps(statistics, steps):
    """Until the decoder has made so many: the viewer writes a line a second."""
    while True:
        lines = statistics.read_text().splitlines() if statistics.exists() else []
        passes = json.loads(lines[-1])["passes"] if lines else []
        if max((each["calls"] for each in passes if each["track"] == "accelerator"), default=0) >= steps:
            return
        time.sleep(1)


class Panels:
    """The viewer's panels, one at a time."""

    def __init__(self, screen, folder):
        self.screen, self.folder, self.shown = screen, folder, {"Passes", "Timeline", "Pacing", "Memory"}

    def open(self, name):
        for each in BAR:
            if (each in self.shown) != (each == name):
                self.screen.click(BAR[each], 26)
        self.shown = {name}
        self.screen.click(ARRANGE, 26)

    def at(self, x, y):
        """Of the window, for a place in the panel."""
        return PANEL[0] + x, PANEL[1] + y

    def click(self, x, y):
        self.screen.click(*self.at(x, y))

    def take(self, name):
        self.screen.move(WIDTH - 4, HEIGHT - 4)
        time.sleep(1)
        write_png(self.folder / f"profiling_{name}.png", self.screen.picture(*PANEL))


def take(screen, folder, statistics):
    panels = Panels(screen, folder)
    panels.open("Spikes")
    panels.click(50, 36)  # the threshold: a little under twice the median
    panels.click(30, 60)  # Keep A
    wait_for_steps(statistics, 40)
    panels.open("Passes")
    panels.click(60, 159)  # below the two passes of the display: it is selected everywhere
    panels.take("passes")
    panels.open("Timeline")
    panels.click(115, 36)  # one step
    panels.take("timeline")
    for name in ("Pacing", "Memory", "Graph"):
        panels.open(name)
        panels.take(name.lower())
    panels.open("Spikes")
    panels.click(60, 104)  # the kept step that took the most over its median
    panels.take("spikes")
    for letter in "PIH":  # the compact form alone
        screen.key(letter)
    time.sleep(1)
    write_png(folder / "profiling_compact.png", screen.picture(WIDTH - 290, 6, 280, 130))


def main():
    program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as temporary:
        read_end, write_end = os.pipe()
        server = subprocess.Popen(["Xvfb", "-displayfd", str(write_end), "-screen", "0", f"{WIDTH}x{HEIGHT}x24"],
                                  pass_fds=(write_end,), stderr=subprocess.DEVNULL)
        os.close(write_end)
        screen = Screen(":" + os.read(read_end, 16).decode().strip())
        clip, statistics = Path(temporary) / "orbit.safetensors", Path(temporary) / "statistics"
        small_clip(clip)
        weights = shutil.copy(ROOT / "assets/demo_vae.safetensors", temporary)  # beside no preview
        viewer = subprocess.Popen([program, "view", clip, "--weights", weights, "--lane", "cpu", "--panels", "--loop",
                                   "--size", f"{WIDTH}x{HEIGHT}", "--stats", statistics])
        try:
            wait_for_steps(statistics, 6)
            take(screen, folder, statistics)
        finally:
            viewer.terminate()
            viewer.wait()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
