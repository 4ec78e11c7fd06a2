"""python -m kinetograph info | demo [FILE.mp4 | FILE.png] | serve [--help]"""

from __future__ import annotations

import os
import pathlib
import sys
import time

from . import Decoder, Error, info, video


def _assets() -> pathlib.Path:
    named = os.environ.get("KINETOGRAPH_ASSETS")
    return pathlib.Path(named) if named else pathlib.Path(__file__).parent / "assets"


def demo(path: pathlib.Path) -> None:
    """Decodes the bundled clip and writes it: an .mp4 by ffmpeg, or an animated .png."""
    decoder = Decoder(_assets() / "demo_vae.safetensors")
    clip = decoder.open(_assets() / "orbit.safetensors", device="cpu")
    stats = clip.stats()
    print(f"{decoder.description}: {stats['frames']} frames of {stats['width']} x {stats['height']}")
    begin = time.perf_counter()
    count = video.save(path, clip, stats["width"], stats["height"], stats["fps"])
    print(f"{path}: {count / (time.perf_counter() - begin):.1f} frames/s, decoded and written")


def serve(arguments: list[str]) -> int:
    try:
        from .serve import command
    except ModuleNotFoundError as error:
        raise Error(f"serve needs the package {error.name}: pip install 'kinetograph[serve]'") from None
    return command.run(arguments, _assets())


def main(arguments: list[str]) -> int:
    try:
        if arguments in (["-h"], ["--help"], ["help"]):
            print(__doc__)
        elif arguments == ["info"]:
            print(info())
        elif arguments[:1] == ["demo"] and len(arguments) <= 2:
            demo(pathlib.Path(arguments[1] if len(arguments) == 2 else "kinetograph_demo" + video.preferred_suffix()))
        elif arguments[:1] == ["serve"]:
            return serve(arguments[1:])
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except Error as error:
        print(f"kinetograph: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
