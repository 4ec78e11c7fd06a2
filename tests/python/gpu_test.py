"""Pictures that a GPU decodes, on the stand-in for CUDA's driver that KINETOGRAPH_TEST_CUDA names: it runs the kernels.
The order of work, which needs none: gpu_order_test.py."""

import os
import sys
import types

import numpy
import pytest
from conftest import latents_of
from cuda_application import Array

import kinetograph as kg
from kinetograph import _dlpack

STANDIN = os.environ.get("KINETOGRAPH_TEST_CUDA")
pytestmark = pytest.mark.skipif(not STANDIN, reason="KINETOGRAPH_TEST_CUDA names no stand-in for CUDA's driver")


def test_latents_and_frames_stay_on_the_device(application, on_gpu):
    latents = latents_of(2, 1, 2)
    wanted = on_gpu.decode(latents)  # in the host's memory
    array = application.array(latents)
    with on_gpu.stream() as stream:
        stream.push(array, stream=application.stream.value)
        assert array.asked == [application.stream.value]
        for frame in stream.frames():
            assert frame.__dlpack_device__() == (_dlpack.CUDA, 0)
            view = _dlpack.View(frame.__dlpack__(stream=application.stream.value))
            rows = memoryview(application.read(view)).cast("B", (8, 16, 4)).tolist()
            assert [[pixel[:3] for pixel in row] for row in rows] == wanted[frame.index].tolist()
            view.close()
            frame.release()
        assert stream.stats()["frames_held"] == 0


def test_halves_stay_on_the_device(application, on_gpu):
    latents = latents_of(1, 1, 2)
    wanted = on_gpu.decode(latents, dtype="float32").astype("float16")
    with on_gpu.stream(dtype="float16") as stream:
        stream.push(application.array(latents), stream=application.stream.value)
        with stream.take() as frame:
            view = _dlpack.View(frame.__dlpack__(stream=application.stream.value))
            assert view.dtype == (_dlpack.FLOAT, 16)
            halves = numpy.frombuffer(application.read(view), "float16").reshape(view.shape)
            view.close()
        assert (halves == wanted[0]).all()


def test_latents_of_two_bytes_are_read_as_they_are(application, on_gpu):
    latents = latents_of(1, 1, 2)
    upper = numpy.ascontiguousarray((latents.view("uint32") >> 16).astype("uint16"))
    bfloats = (upper.astype("uint32") << 16).view("float32")
    for given, code, widened in ((latents.astype("float16"), _dlpack.FLOAT, latents.astype("float16")),
                                 (upper, _dlpack.BFLOAT, bfloats)):
        wanted = on_gpu.decode(widened)  # through the host
        with on_gpu.stream(layout="HWC4") as stream:
            stream.push(application.array(given, code), stream=application.stream.value)
            for frame in stream.frames():
                view = _dlpack.View(frame.__dlpack__(stream=application.stream.value))
                pixels = numpy.frombuffer(application.read(view), "uint8").reshape(view.shape)
                assert (pixels[..., :3] == wanted[frame.index]).all()
                view.close()
                frame.release()


def test_a_frame_that_is_complete_says_whether_it_is_finite(application, on_gpu):
    for value, finite in ((0.5, True), (float("nan"), False)):
        latents = latents_of(1, 1, 2)
        latents[3, 0, 0, 1] = value
        with on_gpu.stream() as stream:
            stream.push(application.array(latents), stream=application.stream.value)
            with stream.take() as frame:
                view = _dlpack.View(frame.__dlpack__(stream=application.stream.value))
                application.read(view)  # waits for the frame
                view.close()
                assert frame.finite is finite


class Package:
    """What decode() asks of CuPy: the current stream, and an array into which frames go one by one."""

    ndarray = Array

    def __init__(self, application):
        self.application, self.stored = application, []
        self.cuda = types.SimpleNamespace(
            get_current_stream=lambda: types.SimpleNamespace(ptr=application.stream.value))

    def empty(self, shape, dtype):
        return self

    def __getitem__(self, index):
        return self.stored[index]

    def __setitem__(self, index, frame):
        self.stored.append(frame)

    def from_dlpack(self, frame):
        view = _dlpack.View(frame.__dlpack__(stream=self.application.stream.value))
        try:
            return self.application.read(view)  # waits for the frame
        finally:
            view.close()


def test_a_clip_whose_frames_are_not_finite_is_an_error(application, on_gpu, monkeypatch):
    package = Package(application)
    monkeypatch.setitem(sys.modules, "cupy", package)
    latents = latents_of(2, 1, 2)
    assert on_gpu.decode(application.array(latents)) is package and len(package.stored) == 5
    bad = latents.copy()
    bad[3, 1, 0, 1] = float("nan")
    with pytest.raises(kg.InvalidArgument, match="frame 4 holds values that are not finite"):
        on_gpu.decode(application.array(bad))
    assert package.stored[5] == package.stored[0]  # the frame before it


def test_of_steps_that_had_not_ended_the_next_call_warns(application, on_gpu, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", Package(application))
    bad = latents_of(1, 1, 2)
    bad[3, 0, 0, 1] = float("nan")
    with monkeypatch.context() as running:
        running.setattr(kg.Frame, "finite", None)
        on_gpu.decode(application.array(bad))
    with pytest.warns(RuntimeWarning, match="the clip before: frame 0 holds values that are not finite"):
        on_gpu.decode(application.array(latents_of(1, 1, 2)))
