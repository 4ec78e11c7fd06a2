"""python -m kinetograph info | demo [FILE.mp4]"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import time

from . import Decoder, Error, Frame, info


def _assets() -> pathlib.Path:
    named = os.environ.get("KINETOGRAPH_ASSETS")
    return pathlib.Path(named) if named else pathlib.Path(__file__).parent / "assets"


def demo(path: str) -> None:
    """Decodes the bundled clip and writes an MP4 by ffmpeg, or without ffmpeg raw rgb24."""
    decoder = Decoder(_assets() / "demo_vae.safetensors")
    clip = decoder.open(_assets() / "orbit.safetensors", device="cpu")
    stats = clip.stats()
    print(f"{decoder.description}: {stats['frames']} frames of {stats['width']} x {stats['height']}")
    ffmpeg = shutil.which("ffmpeg")
    size = f"{stats['width']}x{stats['height']}"
    begin = time.perf_counter()
    if ffmpeg is None:
        path = str(pathlib.Path(path).with_suffix(".rgb24"))
        with open(path, "wb") as file:
            for frame in clip:
                file.write(_rows(frame))
    else:
        command = [ffmpeg, "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", str(stats["fps"]),
                   "-i", "-", "-pix_fmt", "yuv420p", path]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as encoder:
            assert encoder.stdin is not None
            for frame in clip:
                encoder.stdin.write(_rows(frame))
            encoder.stdin.close()
        if encoder.returncode != 0:
            raise SystemExit(f"ffmpeg failed with {encoder.returncode}")
    seconds = time.perf_counter() - begin
    print(f"{path}: {stats['frames'] / seconds:.1f} frames/s" + ("" if ffmpeg else f", {size} rgb24: there is no ffmpeg here"))


def _rows(frame: Frame) -> bytes:
    """[height, width, 3] without gaps."""
    import numpy
    return numpy.ascontiguousarray(numpy.asarray(frame)).tobytes()


def main(arguments: list[str]) -> int:
    try:
        if arguments == ["info"]:
            print(info())
        elif arguments[:1] == ["demo"] and len(arguments) <= 2:
            demo(arguments[1] if len(arguments) == 2 else "kinetograph_demo.mp4")
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except Error as error:
        print(f"kinetograph: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
