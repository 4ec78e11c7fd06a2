#!/usr/bin/python3
"""Takes the pictures of docs/profiling.md: the viewer's panels under Xvfb, with a mouse that this script moves.

    tools/panel_pictures.py build/release/tools/kinetograph/kinetograph docs

Needs the Debian packages xvfb, libxtst6 and python3-numpy.
"""
import ctypes
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parent.parent
WIDTH, HEIGHT = 1560, 1000
BAR = {"Passes": 24, "Timeline": 106, "Pacing": 193, "Memory": 268, "Graph": 350, "Spikes": 420}  # boxes to tick


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

    def wheel(self, x, y, notches):
        self.move(x, y)
        for _ in range(abs(notches)):
            for down in (1, 0):
                self.button(4 if notches > 0 else 5, down)

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
    """With a palette of at most 256 colours: the frequent ones, and the nearest of them for the others."""
    colors, index, counts = numpy.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    kept = numpy.argsort(-counts)[:256]
    palette = colors[kept].astype(numpy.int32)
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


def take(screen, folder):
    half, row = WIDTH // 2, (HEIGHT - 80 - 64) // 2
    places = {"passes": (8, 72), "timeline": (half + 3, 72), "pacing": (8, 72 + row), "memory": (half + 3, 72 + row)}
    screen.click(100, 72 + 121)  # a pass of the decoder: it is selected everywhere
    screen.wheel(half + 500, 72 + 120, -12)  # the timeline: some seconds
    screen.move(places["memory"][0] + 420, places["memory"][1] + 260)
    for name, (x, y) in places.items():
        write_png(folder / f"profiling_{name}.png", screen.picture(x, y, half - 14, row - 8))
    for name in ("Passes", "Timeline", "Pacing", "Memory", "Graph"):
        screen.click(BAR[name], 26)
    screen.move(191, 189)  # a pass explains itself
    write_png(folder / "profiling_graph.png", screen.picture(60, 60, 620, 360))
    for name in ("Graph", "Spikes"):
        screen.click(BAR[name], 26)
    screen.click(92, 122)  # Keep A
    time.sleep(15)
    write_png(folder / "profiling_spikes.png", screen.picture(60, 60, 620, 360))


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
        viewer = subprocess.Popen([program, "view", clip, "--weights", ROOT / "assets/demo_vae.safetensors", "--lane",
                                   "cpu", "--panels", "--loop", "--size", f"{WIDTH}x{HEIGHT}", "--stats", statistics])
        try:
            wait_for_steps(statistics, 6)
            take(screen, folder)
        finally:
            viewer.terminate()
            viewer.wait()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
