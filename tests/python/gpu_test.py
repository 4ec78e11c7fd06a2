"""Latents and frames in CUDA memory, on the stand-in for CUDA's driver that KINETOGRAPH_TEST_CUDA names."""

import ctypes
import os
import subprocess
import sys
import types

import numpy
import pytest
from conftest import WEIGHTS, latents_of

import kinetograph as kg
from kinetograph import _dlpack, _latents

STANDIN = os.environ.get("KINETOGRAPH_TEST_CUDA")
pytestmark = pytest.mark.skipif(not STANDIN, reason="KINETOGRAPH_TEST_CUDA names no stand-in for CUDA's driver")


class Application:
    """What torch is to a real driver: a context, a stream, memory, and arrays of it with __dlpack__."""

    def __init__(self):
        self.cuda = ctypes.CDLL(STANDIN)
        self.context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", ctypes.c_uint(0))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), ctypes.c_int(0))
        self.call("cuCtxPushCurrent_v2", self.context)
        self.call("cuStreamCreate", ctypes.byref(self.stream), ctypes.c_uint(1))

    def call(self, name, *arguments):
        assert getattr(self.cuda, name)(*arguments) == 0, name

    def copy(self, to, source, size):
        self.call("cuMemcpyAsync", ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(size), self.stream)

    def array(self, values, code=_dlpack.FLOAT):
        memory, item = ctypes.c_uint64(), values.itemsize
        self.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(values.nbytes))
        self.copy(memory.value, values.ctypes.data, values.nbytes)
        return Array(memory.value, values.shape, tuple(step // item for step in values.strides), dtype=(code, 8 * item))

    def read(self, view):
        """The bytes of a frame, row by row without gaps, in the order of the stream."""
        size = view.shape[0] * view.strides[0]
        host = ctypes.create_string_buffer(size)
        self.copy(ctypes.addressof(host), view.address, size)
        self.call("cuStreamSynchronize", self.stream)
        return host.raw


@_dlpack._Deleter
def nothing(_managed):
    pass


class Array:
    def __init__(self, address, shape, strides, ordinal=0, dtype=(_dlpack.FLOAT, 32)):
        self.ordinal, self.asked = ordinal, []
        self.address, self.shape, self.strides = address, shape, strides
        self.extents = (ctypes.c_int64 * (2 * len(shape)))(*shape, *strides)
        steps = ctypes.cast(ctypes.addressof(self.extents) + 8 * len(shape), ctypes.POINTER(ctypes.c_int64))
        tensor = _dlpack._Tensor(address, _dlpack.CUDA, ordinal, len(shape), *dtype, 1,
                                 ctypes.cast(self.extents, ctypes.POINTER(ctypes.c_int64)), steps, 0)
        self.managed = _dlpack._Managed(tensor, None, nothing)

    def __dlpack_device__(self):
        return _dlpack.CUDA, self.ordinal

    def __dlpack__(self, *, stream=None):
        self.asked.append(stream)
        return _dlpack.capsule(ctypes.addressof(self.managed))


@pytest.fixture(scope="module")
def application():
    os.environ["KINETOGRAPH_CUDA_LIBRARY"] = STANDIN
    yield Application()
    del os.environ["KINETOGRAPH_CUDA_LIBRARY"]


@pytest.fixture(scope="module")
def on_gpu(application):
    return kg.Decoder(WEIGHTS, device="cuda")


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


def test_latents_of_two_bytes_are_read_as_they_are(application, on_gpu):
    latents = latents_of(2, 1, 2)
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


def test_latents_of_other_types_are_refused_in_a_sentence(application, on_gpu):
    doubles = application.array(latents_of(1, 1, 2).astype("float64"))
    with on_gpu.stream() as stream:
        with pytest.raises(kg.InvalidArgument, match="float32, float16 or bfloat16"):
            stream.push(doubles, stream=application.stream.value)


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
        self.cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=application.stream.value))

    def empty(self, shape, dtype):
        return self

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
    bad = latents_of(2, 1, 2)
    bad[3, 1, 0, 1] = float("nan")
    with monkeypatch.context() as running:
        running.setattr(kg.Frame, "finite", None)
        on_gpu.decode(application.array(bad))
    with pytest.warns(RuntimeWarning, match="the clip before: frame 4 holds values that are not finite"):
        on_gpu.decode(application.array(latents_of(2, 1, 2)))


PROGRAM = f"""
import os, numpy, kinetograph as kg
from kinetograph import _dlpack
decoder = kg.Decoder({WEIGHTS!r}, device="cuda")
stream = decoder.stream()
stream.push(numpy.zeros((16, 1, 1, 2), "float32"))
frame = stream.take()
"""


def run(program):
    environment = {**os.environ, "KINETOGRAPH_CUDA_LIBRARY": STANDIN}
    return subprocess.run([sys.executable, "-c", PROGRAM + program], env=environment, capture_output=True, text=True, timeout=120)


def test_the_interpreter_ends_quietly_with_frames_on_the_device():
    ended = run("""
class Late:
    def __init__(self): self.capsule, self.view = frame.__dlpack__(stream=-1), _dlpack.View(frame.__dlpack__(stream=-1))
late = Late()
late.self = late
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_child_of_fork_is_told_to_open_its_own_after_cuda_was_used():
    ended = run("""
child = os.fork()
if child == 0:
    told = 0
    for call in (stream.take, stream.reset, stream.stats, frame.__dlpack__):
        try:
            call()
        except kg.Unsupported as error:
            told += "before fork()" in str(error)
    frame.release()
    del frame, stream, decoder
    os._exit(0 if told == 4 else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
    assert ended.returncode == 0, ended.stderr


def test_a_stream_of_cupys_lives_as_long_as_what_is_ordered_by_it(application, on_gpu, monkeypatch):
    current = types.SimpleNamespace(ptr=application.stream.value)
    cupy = types.SimpleNamespace(ndarray=Array, cuda=types.SimpleNamespace(get_current_stream=lambda: current))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(_latents, "_kept", {})
    array = application.array(latents_of(1, 1, 2))
    with on_gpu.stream() as stream:
        stream.push(array)
        assert array.asked == [application.stream.value] and _latents._kept == {application.stream.value: current}
        _latents._kept.clear()
        with stream.take() as frame:
            frame.__dlpack__(stream=application.stream.value)
        assert _latents._kept == {application.stream.value: current}


def test_a_frame_is_read_on_one_stream(application, on_gpu):
    with on_gpu.stream() as stream:
        stream.push(application.array(latents_of(1, 1, 2)), stream=application.stream.value)
        frame = stream.take()
        first = frame.__dlpack__(stream=application.stream.value)
        with pytest.raises(BufferError, match="is read on one stream"):
            frame.__dlpack__(stream=1)
        with pytest.raises(TypeError, match="torch.from_dlpack"):
            frame.__array__()
        del first, frame


def test_another_device_is_refused(application, on_gpu, decoder):
    latents = latents_of(1, 1, 2)
    array = application.array(latents)
    with pytest.raises(kg.InvalidArgument, match="latents are on cuda:0, the decoder is on cpu:0"):
        decoder.decode(array)
    elsewhere = Array(array.address, array.shape, array.strides, 1)
    with pytest.raises(kg.InvalidArgument, match="latents are on cuda:1, the decoder is on cuda:0"):
        on_gpu.decode(elsewhere)
    with pytest.raises(kg.InvalidArgument, match="by DLPack"):
        on_gpu.decode(array)
