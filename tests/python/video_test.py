"""Frames as videos: what notebooks show and files hold."""

import base64
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib

import numpy
import pytest
from conftest import latents_of

import kinetograph as kg
from kinetograph import video

FRAMES = numpy.random.default_rng(0).integers(0, 256, (5, 16, 24, 3), "uint8")


def pictures_of(data):
    """The frames of an animated PNG whose rows are those less the ones above, and its seconds a frame."""
    at, pictures, delays, sequence = 8, [], [], []
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            width, height = struct.unpack_from(">2I", body)
        elif kind == b"acTL":
            count = struct.unpack_from(">I", body)[0]
        elif kind == b"fcTL":
            sequence.append(struct.unpack_from(">I", body)[0])
            delays.append(struct.unpack_from(">2H", body, 20))
        elif kind in (b"IDAT", b"fdAT"):
            if kind == b"fdAT":
                sequence.append(struct.unpack_from(">I", body)[0])
                body = body[4:]
            rows = numpy.frombuffer(zlib.decompress(body), "uint8").reshape(height, -1)
            assert (rows[:, 0] == 2).all()
            pictures.append(rows[:, 1:].cumsum(0, "uint8").reshape(height, width, 3))
        at += 12 + size
    assert count == len(pictures) and sequence == list(range(2 * count - 1))
    return numpy.array(pictures), {numerator / denominator for numerator, denominator in delays}


def test_a_notebook_without_ffmpeg_shows_an_animated_png(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    shown = kg.Video(FRAMES, fps=16)._repr_html_()
    found = re.fullmatch(r'<img width="24" height="16" src="data:image/png;base64,(.*)">', shown)
    pictures, seconds = pictures_of(base64.b64decode(found[1]))
    assert (pictures == FRAMES).all() and seconds == {1 / 16}


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="there is no ffmpeg here")
def test_a_notebook_with_ffmpeg_plays_an_mp4(tmp_path):
    made = kg.Video(FRAMES)
    assert made._repr_html_().startswith('<video controls autoplay loop muted width="24" height="16" '
                                         'src="data:video/mp4;base64,')
    path = made.save(tmp_path / "video.mp4")
    rows = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], check=True,
                          capture_output=True).stdout
    assert len(rows) == FRAMES.nbytes


@pytest.mark.parametrize("fps, seconds", [(120, 1 / 120), (1000, 0.001), (65.536, 1 / 65.536), (0.5, 2), (1e-6, 65535),
                                          (24000 / 1001, 1001 / 24000)])
def test_an_animated_png_has_any_rate(tmp_path, fps, seconds):
    _, found = pictures_of(kg.Video(FRAMES[:2], fps=fps).save(tmp_path / "video.png").read_bytes())
    assert list(found) == [pytest.approx(seconds, rel=1e-7)]


ENCODER = """#!/bin/sh
for path; do :; done   # the last argument
exec cat >"$path"
"""


def test_a_clip_whose_frames_fail_leaves_no_file(tmp_path, monkeypatch):
    """With a program in ffmpeg's place that ends its file whenever its input ends, as ffmpeg does."""
    encoder = tmp_path / "ffmpeg"
    encoder.write_text(ENCODER)
    encoder.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def frames():
        yield FRAMES[0]
        raise RuntimeError("the generator has failed")

    out = tmp_path / "out"
    out.mkdir()
    for earlier in (None, b"a video of before"):
        if earlier:
            (out / "video.mp4").write_bytes(earlier)
        with pytest.raises(RuntimeError, match="the generator has failed"):
            video.save(out / "video.mp4", frames(), 24, 16, 24)
        assert [path.read_bytes() for path in out.iterdir()] == ([earlier] if earlier else [])
    assert video.save(out / "video.mp4", FRAMES, 24, 16, 24) == 5
    assert [path.read_bytes() for path in out.iterdir()] == [FRAMES.tobytes()]


def test_an_animated_png_that_cannot_be_written_leaves_the_one_before(tmp_path):
    """Where a file can grow to a few bytes only, as where a disk is full."""
    out = tmp_path / "video.png"
    out.write_bytes(b"a video of before")
    script = ("import resource, signal, sys\nimport numpy\nimport kinetograph as kg\n"
              "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
              "video = kg.Video(numpy.zeros((2, 16, 24, 3), 'uint8'))\n"
              "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
              "video.save(sys.argv[1])\n")
    ended = subprocess.run([sys.executable, "-c", script, out], capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and "File too large" in ended.stderr
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"a video of before"]


def test_frames_of_a_stream_are_a_video(decoder, tmp_path):
    latents = latents_of(2)
    with decoder.stream() as stream:
        stream.push(latents)
        made = kg.Video(stream.frames())
    assert repr(made) == "<kinetograph.Video: 5 frames of 24 x 16, 24 a second>"
    assert (pictures_of(made.save(tmp_path / "video.png").read_bytes())[0] == decoder.decode(latents)).all()


def test_what_is_no_video_is_refused(tmp_path, monkeypatch):
    for frames, sentence in ((FRAMES.astype("float32"), "of float32"), (FRAMES[..., 0], r"\[16, 24\]"),
                             (FRAMES[:0], "one size"), ([FRAMES[0], FRAMES[0, :8]], "one size")):
        with pytest.raises(kg.InvalidArgument, match=sentence):
            kg.Video(frames)
    for fps in (0, -1, 1001, float("inf"), float("nan")):
        with pytest.raises(kg.InvalidArgument, match=f"{fps} frames a second"):
            kg.Video(FRAMES, fps=fps)
    with pytest.raises(kg.InvalidArgument, match="written as .mp4"):
        kg.Video(FRAMES).save(tmp_path / "video.gif")
    with pytest.raises(kg.InvalidArgument, match="ffmpeg failed|no ffmpeg"):
        kg.Video(FRAMES).save(tmp_path / "absent" / "video.mp4")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert video.preferred_suffix() == ".png"
