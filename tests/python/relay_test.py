"""Previews of latents in CUDA memory, which pass to another process by IPC handle: on a driver whose memory is
files."""

import ctypes
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

import numpy
import pytest
from conftest import latents_of

from kinetograph import _dlpack, preview

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler for the stand-in of CUDA's driver")

#: Stands in for `kinetograph view`: notes what comes and grants credits as its first argument's lines say.
VIEWER = f"""#!{sys.executable}
import pathlib, socket, struct, sys
here = pathlib.Path(__file__).parent
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[2].removeprefix('unix:'))
server.listen()
connection = server.accept()[0]
records = connection.makefile('rb')
with open(here / 'records', 'wb') as noted:
    while (record := records.read(16)):
        tag, size, number = struct.unpack('<4sIQ', record)
        noted.write(record + records.read(size))
        noted.flush()
        if tag == b'KGLV':
            if 'late' in open(here / 'credits').read():
                open(here / 'gate').close()  # until it is opened for writing
            for credit in filter(str.isdigit, open(here / 'credits').read().split()):
                connection.sendall(struct.pack('<4sIQ', b'CRDT', 0, int(credit)))
        if tag == b'RSET':
            connection.sendall(struct.pack('<4sIQ', b'CRDT', 0, 1000))
        if tag == b'CHNK' and 'refuse' in open(here / 'credits').read():
            connection.sendall(struct.pack('<4sIQ', b'FAIL', 4, 0) + b'full')
            break
records.read()
"""


class Array:
    """Of a package whose memory is CUDA's; address and values are the same thing on the stand-in. Its memory is there
    until it was given back as often as it was lent."""

    lent = []

    def __init__(self, values, ordinal=0):
        self.values, self.ordinal = numpy.ascontiguousarray(values), ordinal
        self.deleter = _dlpack._Deleter(lambda _: self.lent.remove(self))
        self.extents = (ctypes.c_int64 * values.ndim)(*values.shape)
        bits = 8 * values.itemsize
        tensor = _dlpack._Tensor(values.ctypes.data, _dlpack.CUDA, ordinal, values.ndim, _dlpack.FLOAT, bits, 1,
                                 self.extents, None, 0)
        self.managed = _dlpack._Managed(tensor, None, self.deleter)

    def __dlpack_device__(self):
        return _dlpack.CUDA, self.ordinal

    def __dlpack__(self, *, stream=None):
        assert stream == 1
        self.lent.append(self)
        return _dlpack.capsule(ctypes.addressof(self.managed))


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    path = tmp_path_factory.mktemp("driver") / "libcuda_ipc.so"
    source = pathlib.Path(__file__).parent / "ipc_standin.c"
    subprocess.run([COMPILER, "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", path, source],
                   check=True)
    return path


@pytest.fixture
def opened(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("KINETOGRAPH_CUDA_LIBRARY", str(driver))
    shared = tempfile.mkdtemp(prefix="kg-")  # a short name: a handle has 64 bytes
    monkeypatch.setenv("IPC_STANDIN_FOLDER", shared)
    made = []

    def open_preview(grants):
        (tmp_path / "credits").write_text(grants)
        program = tmp_path / "viewer"
        program.write_text(VIEWER)
        program.chmod(0o755)
        made.append(preview.Preview("vae.safetensors", program=program))
        return made[-1]

    yield open_preview
    for one in made:
        one.close()
    os.rmdir(shared)  # nothing is left in it


def records(folder):
    """[(tag, payload)] of what the viewer got."""
    data, found = (folder / "records").read_bytes(), []
    while data:
        tag, size, _ = struct.unpack_from("<4sIQ", data)
        found.append((tag.decode(), data[16:16 + size]))
        data = data[16 + size:]
    return found


def ended(one):
    """When the relay has written everything and gone, and the viewer has read it."""
    one.end()
    one._writer.close()
    one.wait(60)


def frames_of(latents):
    """As chunks hold them: frame after frame."""
    return latents.transpose(1, 0, 2, 3).tobytes()


def test_latents_reach_the_viewer_from_another_process(opened, tmp_path):
    one = opened("1000")
    small, large = latents_of(2), latents_of(3, 200, 200).astype("float16")  # the second needs larger slots
    for _ in range(5):
        assert one.show(Array(small)) == 2
    assert one.show(small) == 2  # of the host: the same connection
    assert one.show(Array(large)) == 3
    assert one.alive
    ended(one)
    assert Array.lent == []
    found = records(tmp_path)
    assert [tag for tag, _ in found] == ["KGLV", *["CHNK"] * 6, "DONE", "KGLV", "CHNK", "DONE"]
    assert all(payload == frames_of(small) for tag, payload in found[1:7])
    assert found[9][1] == frames_of(large)


def test_latents_are_held_until_the_relay_has_copied_them(opened):
    one = opened("1000")
    assert one.show(Array(latents_of(1))) == 1
    while Array.lent:  # the first one was copied
        one._writer._receive(60)
    one._writer._process.send_signal(signal.SIGSTOP)
    for _ in range(2):
        assert one.show(Array(latents_of(1))) == 1
    assert len(Array.lent) == 2
    one._writer._process.send_signal(signal.SIGCONT)
    ended(one)
    assert Array.lent == []


def test_a_viewer_without_room_costs_no_more_than_the_time_that_is_given(opened, tmp_path):
    one = opened("1")
    latents = Array(latents_of(1))
    taken = [one.show(latents, timeout=60 if i < 4 else 0.01) for i in range(6)]
    assert taken[:4] == [1, 1, 1, 1] and taken[4:] == [0, 0]  # the first is sent, three slots are full
    one.reset()  # drops them
    assert one.show(latents, timeout=60) == 1
    ended(one)
    assert [tag for tag, _ in records(tmp_path)] == ["KGLV", "CHNK", "RSET", "CHNK", "DONE"]


def test_latents_of_a_generator_that_has_gone_are_shown(opened, tmp_path):
    one = opened("late 1 2 3")
    os.mkfifo(tmp_path / "gate")
    for _ in range(3):
        assert one.show(Array(latents_of(1))) == 1
    one.end()
    one._writer._pipe.close()
    with open(tmp_path / "gate", "w"):
        one._writer._process.wait(60)
    one.wait(60)
    assert [tag for tag, _ in records(tmp_path)] == ["KGLV", "CHNK", "CHNK", "CHNK", "DONE"]
    one._writer._slots.free()


def test_the_viewers_refusal_is_warned_of(opened):
    one = opened("1000 refuse")
    latents = Array(latents_of(1))
    with pytest.warns(RuntimeWarning, match="full; nothing more is shown"):
        while one.show(latents):  # also once the viewer's process has ended
            pass
    assert not one.alive


def test_a_relay_that_is_killed_is_warned_of_and_the_pipeline_goes_on(opened):
    one = opened("1000")
    latents = Array(latents_of(1))
    assert one.show(latents) == 1
    one._writer._process.kill()
    with pytest.warns(RuntimeWarning, match="nothing more is shown"):
        while one.show(latents):
            pass
    assert not one.alive


def test_without_shared_memory_latents_are_those_of_the_host(opened, monkeypatch, tmp_path):
    one = opened("1000")
    monkeypatch.setenv("IPC_STANDIN_REFUSES", "1")
    with pytest.raises(TypeError, match="in host memory"):  # torch tensors are copied there
        one.show(Array(latents_of(1)))
    assert one.show(latents_of(1)) == 1
    one.end()


def test_latents_that_are_none_are_refused(opened):
    one = opened("1000")
    for wrong, error in ((latents_of(1).astype("float64"), TypeError), (latents_of(1)[0, 0], ValueError)):
        with pytest.raises(error, match="latents have the"):
            one.show(Array(wrong))
    assert one.show(Array(latents_of(1))) == 1
