import faulthandler
import json
import os
import pathlib
import sys
import threading
import time

import numpy
import pytest
from cuda_application import Application

import kinetograph as kg

WEIGHTS = "synthetic:wan2.1,dim=2"
ROOT = pathlib.Path(__file__).resolve().parents[2]


LIMIT_SECONDS = 240  # of a test: below CTest's, and for a machine that does ten things at once
_messages = os.dup(2)  # of the program, before pytest puts a test's own in its place


@pytest.fixture(autouse=True)
def ends_in_time():
    """A test that hangs ends the run, with the stacks of all threads."""
    faulthandler.dump_traceback_later(LIMIT_SECONDS, exit=True, file=_messages)
    yield
    faulthandler.cancel_dump_traceback_later()


def latents_of(frames, height=2, width=3, seed=0):
    """[16, frames, height, width], no two alike."""
    return numpy.random.default_rng(seed).standard_normal((16, frames, height, width)).astype("float32")


def write_latents(path, latents):
    header = json.dumps({"latents": {"dtype": "F32", "shape": latents.shape,
                                     "data_offsets": [0, latents.nbytes]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + latents.tobytes())


@pytest.fixture(scope="session")
def decoder():
    with kg.Decoder(WEIGHTS, device="cpu", precision="fp32") as made:
        yield made


@pytest.fixture(scope="module")
def application(request):
    """On the stand-in that the test's module names as STANDIN."""
    yield Application(request.module.STANDIN)
    del os.environ["KINETOGRAPH_CUDA_LIBRARY"]


@pytest.fixture(scope="module")
def on_gpu(application):
    with kg.Decoder(WEIGHTS, device="cuda") as made:
        yield made


def race(calls):
    """Runs every call in a thread of its own, over and over until one of them has ended; returns what is no sentence of
    the library."""
    wrong = []
    stop, begin = threading.Event(), threading.Barrier(len(calls))

    def run(call):
        begin.wait()
        try:
            while not stop.is_set() and not call():
                pass
            stop.set()
        except (kg.Error, TimeoutError):
            stop.set()
        except BaseException as error:
            wrong.append(error)
            stop.set()

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def quietly(call):
    """Errors of the library do not end the race."""
    try:
        call()
    except (kg.Error, TimeoutError):
        time.sleep(0)


@pytest.fixture
def often_switched():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
