#!/usr/bin/env python3
"""A generator of live latents that needs no GPU: drawn motion in the latent space of the demo model.

    python3 samples/live_latents/generate.py | kinetograph view - --weights assets/demo_vae.safetensors

Every latent frame is a weighted mean of one frame of each bundled clip, and the weights oscillate over time. A frame is
made when it is sent, at the rate of a generator that keeps up with the video (24 frames a second by default).
"""
import argparse
import json
import math
import os
import struct
import sys
import time
from array import array
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "kinetograph"))  # one module of the package; its native library is not loaded
import live  # noqa: E402

CLIPS = ("orbit", "bounce", "tunnel")
FRAMES_OF_A_LATENT = 4  # frames of video per latent frame of the demo model; a clip's first becomes one


def read_clip(path):
    """The frames of a bundled clip, the values of [C, h, w] each, and (C, h, w)."""
    data = path.read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    tensor = json.loads(data[8:8 + length])["latents"]
    begin, end = tensor["data_offsets"]
    channels, frames, height, width = tensor["shape"][-4:]
    values = struct.unpack_from(f"<{(end - begin) // 2}e", data, 8 + length + begin)
    plane = height * width
    return [[value for c in range(channels) for value in values[(c * frames + t) * plane:(c * frames + t + 1) * plane]]
            for t in range(frames)], (channels, height, width)


def there_and_back(count, index):
    """The frame shown at `index` when frames 0 to count - 1 play forwards and backwards in turn."""
    lap = max(1, 2 * (count - 1))
    return min(index % lap, lap - index % lap)


def draw(clips, index):
    """Latent frame `index`: the weighted mean of one frame of each clip."""
    shares = [1.0 + math.sin(0.21 * index + 2.0 * math.pi * i / len(clips)) for i in range(len(clips))]
    shares = [share ** 3 for share in shares]  # so that one clip dominates most of the time
    total = sum(shares)
    frames = [clip[there_and_back(len(clip), index)] for clip in clips]
    return array("f", [sum(share * value for share, value in zip(shares, values)) / total for values in zip(*frames)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connect", metavar="PATH", help="to the socket of `kinetograph view unix:PATH`")
    parser.add_argument("--streams", type=int, default=1, help="clips in a row (default 1)")
    parser.add_argument("--latent-frames", type=int, default=60,
                        help=f"of each; a video has 1 + {FRAMES_OF_A_LATENT} (N - 1) frames")
    parser.add_argument("--chunk", type=int, default=3, help="latent frames made at a time (default 3)")
    parser.add_argument("--fps", type=float, default=24.0, help="of the video, and of this generator")
    parser.add_argument("--unpaced", action="store_true", help="as fast as the viewer takes them")
    options = parser.parse_args()
    clips, shapes = zip(*(read_clip(ROOT / "assets" / f"{name}.safetensors") for name in CLIPS))
    channels, height, width = shapes[0]
    writer = live.connect(options.connect) if options.connect else live.to_standard_output()
    for stream in range(options.streams):
        writer.start(channels=channels, height=height, width=width, fps=options.fps, name=f"wandering {stream + 1}")
        began = time.monotonic()
        for first in range(0, options.latent_frames, options.chunk):
            count = min(options.chunk, options.latent_frames - first)
            frames = [draw(clips, 40 * stream + first + i) for i in range(count)]
            for frame in frames:
                writer.send(live.Latents((channels, height, width), "float32", frame.tobytes()))
            ready = began + FRAMES_OF_A_LATENT * (first + count) / options.fps
            if not options.unpaced:
                time.sleep(max(0.0, ready - time.monotonic()))
        writer.end()


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the flush at exit succeeds
        sys.exit("generate.py: the viewer has gone")
    except ConnectionError as error:
        sys.exit(f"generate.py: {error}")
    except KeyboardInterrupt:
        pass
