"""Who holds what, in which order, and what is refused, with latents and frames in CUDA memory: on the stand-in for
CUDA's driver that KINETOGRAPH_TEST_CUDA_IDLE names, whose kernels do nothing."""

import ctypes
import gc
import os
import subprocess
import sys
import types
import weakref

import numpy
import pytest
from conftest import WEIGHTS, latents_of
from cuda_application import Array

import kinetograph as kg
from kinetograph import _dlpack, _output
from kinetograph import frame as frame_module

STANDIN = os.environ.get("KINETOGRAPH_TEST_CUDA_IDLE")
pytestmark = pytest.mark.skipif(not STANDIN, reason="KINETOGRAPH_TEST_CUDA_IDLE names no stand-in for CUDA's driver")


def test_latents_are_held_until_they_were_read_unless_their_package_orders_reuse(application, on_gpu, monkeypatch):
    arrays = [application.array(latents_of(1, 1, 2)) for _ in range(11)]
    with on_gpu.stream(chunk=1) as stream:  # of 12 slots, which hold the frames of three
        for array in arrays[:10]:
            stream.push(array, stream=application.stream.value)
            for _ in range(1 if array is arrays[0] else 4):
                stream.take().release()
        # Three may wait, two steps may be reading, and one more may have been begun.
        assert [array.given_back for array in arrays[:10]] == [1] * 4 + [0] * 6
        current = types.SimpleNamespace(ptr=application.stream.value)
        cupy = types.SimpleNamespace(ndarray=Array, cuda=types.SimpleNamespace(get_current_stream=lambda: current))
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        stream.push(arrays[10])
        assert arrays[10].given_back == 1
    assert [array.given_back for array in arrays] == [1] * 11


def test_what_failed_to_read_frames_tells_so_once():
    failed, good = Ready(), Ready()
    failed.block_until_ready = lambda: 1 / 0
    reads, frames = _output.Reads(), [[], []]
    reads.add(failed, frames[0])
    reads.add(good, frames[1])
    with pytest.raises(ZeroDivisionError):
        reads.drop(0)
    reads.drop(0)
    assert good.done


class Ready:
    """What JAX's arrays tell of their computation, which here ends when it is waited for."""

    def __init__(self):
        self.done = False

    def is_ready(self):
        return self.done

    def block_until_ready(self):
        self.done = True


@pytest.fixture
def jax(application, monkeypatch):
    """What decode() asks of JAX."""
    def join(channels_first):
        def joined(views):
            frames = [numpy.frombuffer(application.read(view), "uint8").reshape(view.shape) for view in views]
            package.computed.append(Ready())
            return numpy.stack(frames)[..., :3], package.computed[-1]
        return joined

    def from_dlpack(frame):
        return _dlpack.View(frame.__dlpack__(stream=application.stream.value))

    package = types.SimpleNamespace(Array=Array, dlpack=types.SimpleNamespace(from_dlpack=from_dlpack),
                                    numpy=types.SimpleNamespace(concatenate=numpy.concatenate), computed=[])
    monkeypatch.setitem(sys.modules, "jax", package)
    monkeypatch.setattr(_output, "_join", join)
    return package


def test_arrays_of_jax_are_decoded_and_frames_held_until_it_has_read_them(application, on_gpu, jax):
    array, parts = application.array(latents_of(4, 1, 2)), []
    frames = on_gpu.decode(array, on_frames=lambda first, part: parts.append((first, len(part))))
    assert frames.shape == (13, 8, 16, 3) and array.asked == [1]  # CUDA's default stream
    assert parts == [(0, 1), (1, 4), (5, 4), (9, 4)]
    assert [ready.done for ready in jax.computed] == [True, True, False, False]
    state = on_gpu._cached
    assert state.stats()["frames_held"] >= 8
    with pytest.raises(TimeoutError, match="copies of the last frames have not ended within 0.01 s"):
        state.close(timeout=0.01)
    on_gpu._forget_state()
    assert all(ready.done for ready in jax.computed) and array.given_back == 1


def test_latents_and_streams_of_other_types_are_refused_in_a_sentence(application, on_gpu):
    doubles = application.array(latents_of(1, 1, 2).astype("float64"))
    with on_gpu.stream() as stream:
        with pytest.raises(kg.InvalidArgument, match="float32, float16 or bfloat16"):
            stream.push(doubles, stream=application.stream.value)
        with pytest.raises(kg.InvalidArgument, match="a stream is its handle, an int, and not a SimpleNamespace"):
            stream.push(doubles, stream=types.SimpleNamespace(cuda_stream=0))


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
    return subprocess.run([sys.executable, "-c", PROGRAM + program], env=environment, capture_output=True, text=True,
                          timeout=120)


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


class CupyStream:
    """CuPy destroys the stream with the last reference to this."""

    def __init__(self, ptr):
        self.ptr = ptr


def test_streams_of_cupys_live_as_long_as_arrays_are_read_on_them_and_no_longer(application, on_gpu, monkeypatch):
    current, owners, views = [CupyStream(0)], [], []
    cupy = types.SimpleNamespace(ndarray=Array, cuda=types.SimpleNamespace(get_current_stream=lambda: current[0]))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    array, handles = application.array(latents_of(1, 1, 2)), [ctypes.c_void_p() for _ in range(6)]
    with on_gpu.stream() as stream:
        for handle in handles:
            application.call("cuStreamCreate", ctypes.byref(handle), ctypes.c_uint(1))
            current[0] = CupyStream(handle.value)
            owners.append(weakref.ref(current[0]))
            stream.push(array)
            while stream.pending > 0:
                with stream.take() as frame:
                    views.append(_dlpack.View(frame.__dlpack__(stream=handle.value)))
                if stream.pending > 0:  # of each stream's frames one is kept
                    views.pop().close()
        current[0] = CupyStream(0)
        gc.collect()
        assert [owner() is not None for owner in owners] == [True] * 6 and len(frame_module.readers) == 6
        for left in range(5, -1, -1):
            views.pop(0).close()
            stream.push(array)
            for frame in stream.frames():
                frame.release()
            gc.collect()
            assert sum(owner() is not None for owner in owners) == left and len(frame_module.readers) == left
    for handle in handles:
        application.call("cuStreamDestroy_v2", handle)


def test_a_stream_of_cupys_on_which_nothing_is_read_is_not_kept(application, on_gpu, monkeypatch):
    current = [CupyStream(application.stream.value)]
    owner = weakref.ref(current[0])
    cupy = types.SimpleNamespace(ndarray=Array, cuda=types.SimpleNamespace(get_current_stream=lambda: current[0]))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with on_gpu.stream() as stream:
        stream.push(application.array(latents_of(1, 1, 2)))
        frame = stream.take()
        _dlpack.View(frame.__dlpack__(stream=application.stream.value)).close()
        current[0] = CupyStream(0)
        assert owner() is not None
        frame.release()
        assert owner() is None


def test_a_graph_that_is_captured_meanwhile_stays_the_applications(application, on_gpu):
    array, graph, nodes = application.array(latents_of(1, 1, 2)), ctypes.c_void_p(), ctypes.c_size_t(9)
    with on_gpu.stream() as stream:
        stream.push(array, stream=application.stream.value)
        frame = stream.take()
        application.call("cuStreamSynchronize", application.stream)
        application.call("cuStreamBeginCapture_v2", application.stream, ctypes.c_int(0))
        for call in (lambda: stream.push(array, stream=application.stream.value),
                     lambda: frame.__dlpack__(stream=application.stream.value)):
            with pytest.raises(kg.InvalidArgument, match="the stream is in a capture of a graph"):
                call()
        application.call("cuStreamEndCapture", application.stream, ctypes.byref(graph))
        application.call("cuGraphGetNodes", graph, None, ctypes.byref(nodes))
        application.call("cuGraphDestroy", graph)
        assert nodes.value == 0
        stream.push(array, stream=application.stream.value)
        frame.release()


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
