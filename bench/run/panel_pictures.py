#!/usr/bin/python3
"""Takes the pictures of docs/profiling.md: the panels in an application's ImGui context, with a mouse that this moves.

    bench/run/panel_pictures.py build/release/samples/embed_overlay/embed_overlay docs

The application is samples/embed_overlay under Xvfb. Needs the Debian packages xvfb, libxtst6 and python3-numpy.
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

ROOT = Path(__file__).resolve().parents[2]
WIDTH, HEIGHT = 1280, 720  # of the application's window
PANEL = (8, 72, 1261, 536)  # x, y, width and height of a panel that is the only one shown
COMPACT = (8, 620, 260, 94)  # of the compact HUD
BAR = {"Passes": 26, "Timeline": 102, "Pacing": 184, "Memory": 257, "Graph": 339, "Spikes": 406, "Clip": 479}  # x
FREEZE, ARRANGE = 535, 622  # x of the check box and of the button that follow those check boxes
COLORS = 48
STEP, LONGEST = 1.0, 120  # seconds: about one decoding step; longest wait for the panels
PAUSE = (0.4, 1.2)  # seconds to wait after each mouse action, least and most


class Screen:
    """The X server's pointer, and what it shows."""

    def __init__(self, name):
        os.environ["DISPLAY"] = name
        self.x11, self.xtst = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libXtst.so.6")
        self.x11.XOpenDisplay.restype = self.x11.XGetImage.restype = ctypes.c_void_p
        self.x11.XDefaultRootWindow.restype = ctypes.c_ulong
        self.display = ctypes.c_void_p(self.x11.XOpenDisplay(None))
        self.root = ctypes.c_ulong(self.x11.XDefaultRootWindow(self.display))
        self.pause = PAUSE[0]

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

    def _sync(self):
        self.x11.XSync(self.display, 0)
        time.sleep(self.pause)  # a picture or two: the application looks at the mouse once in each

    def learn_pause(self, x, y):
        """Sets the pause by how long the box at (x, y) takes to light up under the pointer: a machine may be busy."""
        self.move(x, y + 200)
        before, began = self.picture(x - 6, y - 6, 12, 12), time.monotonic()
        self.xtst.XTestFakeMotionEvent(self.display, -1, int(x), int(y), 0)
        self.x11.XSync(self.display, 0)
        while (self.picture(x - 6, y - 6, 12, 12) == before).all() and time.monotonic() < began + LONGEST:
            time.sleep(0.02)
        self.pause = min(max(PAUSE[0], 3 * (time.monotonic() - began)), PAUSE[1])

    def picture(self, x, y, width, height):
        """RGB bytes, [height, width, 3]."""
        image = self.x11.XGetImage(self.display, self.root, x, y, width, height, ctypes.c_ulong(-1).value, 2)
        data = ctypes.cast(image + 16, ctypes.POINTER(ctypes.c_void_p))[0]  # after four ints
        pixels = numpy.ctypeslib.as_array(ctypes.cast(data, ctypes.POINTER(ctypes.c_uint8)), (height, width, 4))
        return pixels[:, :, 2::-1].copy()


def write_png(path, pixels):
    """Writes an indexed PNG. The next palette colour is the one with most pixels x squared distance to the others."""
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
    """Writes latents for 128x80 pixels from the middle of a demo clip, so that a step takes a fraction of a second."""
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


class Panels:
    """The application's panels, one at a time."""

    def __init__(self, screen):
        self.screen, self.shown = screen, {"Passes", "Timeline", "Pacing", "Memory", "Clip"}
        self.taken = {}  # [name] -> pixels; packed at the end, because that slows the application down

    def open(self, name):
        for each in BAR:
            if (each in self.shown) != (each == name):
                self.screen.click(BAR[each], 27)
        self.shown = {name}
        self.screen.click(ARRANGE, 27)

    def click(self, x, y):
        """Clicks at a position in the panel."""
        self.screen.click(PANEL[0] + x, PANEL[1] + y)

    def take(self, name, x=WIDTH - 20, y=HEIGHT - 80):
        """Takes a picture with the pointer at a position in the panel."""
        self.screen.move(PANEL[0] + x, PANEL[1] + y)
        time.sleep(1 + self.screen.pause)
        self.taken[name] = self.screen.picture(*PANEL)


def take(screen, steps):
    panels = Panels(screen)
    screen.learn_pause(BAR["Spikes"], 27)
    panels.open("Spikes")
    panels.click(34, 37)  # the threshold: 1.5 times the median
    steps(6)
    panels.click(30, 61)  # Keep A
    steps(20)
    panels.open("Passes")
    panels.click(60, 124)  # the first row: selects the most expensive pass in all panels
    panels.take("passes")
    panels.open("Timeline")
    panels.click(110, 37)  # one step
    panels.take("timeline")
    panels.open("Pacing")
    panels.take("pacing")
    panels.open("Memory")
    panels.take("memory")
    panels.open("Graph")
    panels.take("graph")
    panels.open("Timeline")
    panels.click(600, 420)  # below all spans: nothing is selected
    panels.open("Spikes")
    screen.click(FREEZE, 27)  # so that the list of steps does not change before they are clicked
    panels.click(60, 107)  # the kept step that took the most over its median
    panels.click(60, 213)  # its pass that exceeded its own median most
    panels.take("spikes")
    screen.click(FREEZE, 27)
    panels.open("Clip")  # this panel draws the compact HUD
    time.sleep(1 + screen.pause)
    panels.taken["compact"] = screen.picture(*COMPACT)
    return panels.taken


def main():
    program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as temporary:
        read_end, write_end = os.pipe()
        server = subprocess.Popen(["Xvfb", "-displayfd", str(write_end), "-screen", "0", f"{WIDTH}x{HEIGHT}x24"],
                                  pass_fds=(write_end,), stderr=subprocess.DEVNULL)
        os.close(write_end)
        screen = Screen(":" + os.read(read_end, 16).decode().strip())
        clip = Path(temporary) / "orbit.safetensors"
        small_clip(clip)
        application = subprocess.Popen([program, clip, ROOT / "assets/demo_vae.safetensors"])
        try:
            started = time.monotonic()
            while len(numpy.unique(screen.picture(*PANEL))) < 16:  # the panels are there
                if time.monotonic() > started + LONGEST:
                    sys.exit("the application has drawn nothing")
                time.sleep(1)
            taken = take(screen, lambda steps: time.sleep(steps * STEP))
        finally:
            application.terminate()
            application.wait()
            server.terminate()
            server.wait()
    for name, pixels in taken.items():
        write_png(folder / f"profiling_{name}.png", pixels)


if __name__ == "__main__":
    main()
