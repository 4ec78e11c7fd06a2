"""The service: sessions, both WebSockets, limits, the clients, and that a session's data stays its own."""

import asyncio
import contextlib
import io
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import numpy
import pytest
from conftest import ROOT, latents_of

for package in ("fastapi", "uvicorn", "websockets", "prometheus_client", "av"):
    pytest.importorskip(package, reason=f"{package} is not installed")

import av
from documents_test import examples
from serving import Cable, psnr, serving
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import kinetograph as kg
from kinetograph import _wire
from kinetograph.serve import Limits

WIDTH, HEIGHT = 24, 16  # of latents_of()


@pytest.fixture(scope="module")
def served(decoder):
    limits = Limits(sessions=24, idle_seconds=3600, message_bytes=1 << 20, pixels=512 * 512)
    with serving({"wan2.1": decoder}, limits) as (service, port):
        yield service, f"http://127.0.0.1:{port}"


@pytest.fixture
def url(served):
    yield served[1]
    for session in served[0].sessions():
        served[0].close(session)


@pytest.fixture
def client(url):
    return kg.Client(url, timeout=20)


def ask(url, method="GET", body=None, headers={}, kind="application/json"):
    """(status, the answer's text)"""
    request = urllib.request.Request(url, body, {"Content-Type": kind, **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def opened(url, **more):
    status, answer = ask(f"{url}/sessions", "POST", json.dumps({"width": WIDTH, "height": HEIGHT, **more}).encode())
    assert status == 201, answer
    return json.loads(answer)


def message_of(latents, sequence, **metadata):
    return _wire.pack("latents", "F32", latents.shape, latents, {"sequence": sequence, **metadata})


def socket_of(url, session, path):
    return connect(f"ws{url[4:]}/sessions/{session['id']}/{path}", compression=None, max_size=None,
                   close_timeout=1)  # a reader that stalls does not read the end either


def refusal_of(socket):
    """The sentence and the code with which the service closes it."""
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            last = socket.recv(timeout=20)
    assert json.loads(last)["error"].startswith(closed.value.rcvd.reason)
    return json.loads(last)["error"], closed.value.rcvd.code


# Frames


def test_a_client_gets_the_frames_of_the_decoder(client, decoder):
    latents = latents_of(5)
    with client.open(WIDTH, HEIGHT) as session:
        assert session.state_bytes > 0
        frames = []
        for t in range(5):
            session.push(latents[:, t], stamp=f"input {t}")
            frames += session.frames()
        assert session.pending == 0
    assert numpy.array_equal(numpy.stack([frame.pixels for frame in frames]), decoder.decode(latents))
    assert [frame.index for frame in frames] == list(range(17))
    assert [frame.stamp for frame in frames[::4]] == [f"input {t}" for t in range(5)]
    assert [frame.sequence for frame in frames] == [0] + [t for t in range(1, 5) for _ in range(4)]
    assert all(0 < frame.age < 20 for frame in frames) and frames[8].time == pytest.approx(8 / 24)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_frames_of_floats_go_out_raw_alone(url, client, decoder, dtype):
    latents = latents_of(2)
    with client.open(WIDTH, HEIGHT, dtype=dtype) as session:
        session.push(latents)
        frames = numpy.stack([frame.pixels for frame in session.frames()])
        with socket_of(url, {"id": session.id}, "frames?encoding=h264") as socket:
            assert refusal_of(socket)[0] == f"h264 takes frames of uint8, and the session's are {dtype}: they go out raw"
    assert frames.dtype == dtype and numpy.array_equal(frames, decoder.decode(latents, dtype=dtype))


def test_the_async_client_gets_the_frames_of_the_decoder(url, decoder):
    async def frames():
        async with await kg.AsyncClient(url).open(WIDTH, HEIGHT) as session:
            await session.push(latents_of(3).astype("float16"))
            return [frame.pixels async for frame in session.frames()]

    assert numpy.array_equal(numpy.stack(asyncio.run(frames())), decoder.decode(latents_of(3).astype("float16")))


def test_a_reset_drops_frames_and_a_clip_that_begins_in_order_does_not(client, decoder):
    wanted = decoder.decode(latents_of(3))
    with client.open(WIDTH, HEIGHT) as session:
        session.push(latents_of(4, seed=1))
        session.reset()
        session.push(latents_of(3))
        first = list(session.frames())
        session.push(latents_of(3), begins_clip=True)
        second = list(session.frames())
    for frames, clip in ((first, 1), (second, 2)):
        assert numpy.array_equal(numpy.stack([frame.pixels for frame in frames]), wanted)
        assert {frame.clip for frame in frames} == {clip}


def test_a_fork_goes_on_where_its_session_is(url, client, decoder):
    latents = latents_of(7)
    wanted = decoder.decode(latents)
    other = decoder.decode(numpy.concatenate([latents[:, :3], latents_of(2, seed=1)], axis=1))
    with client.open(WIDTH, HEIGHT) as session:
        assert session.fork().pending == 0  # of nothing: it begins a clip
        session.push(latents[:, :3])
        with session.fork() as fork:  # before its frames were taken
            assert fork.id != session.id and fork.state_bytes == session.state_bytes
            fork.push(latents_of(2, seed=1))
            session.push(latents[:, 3:5])
            assert numpy.array_equal(numpy.stack([frame.pixels for frame in session.frames()]), wanted[:17])
            frames = list(fork.frames())
        assert numpy.array_equal(numpy.stack([frame.pixels for frame in frames]), other[9:])
        assert [frame.index for frame in frames] == list(range(8)) and frames[0].time == pytest.approx(9 / 24)
        session.push(latents[:, 5:])
        session.reset()
        with session.fork() as begun:
            begun.push(latents[:, :1])
            assert numpy.array_equal(begun.take().pixels, wanted[0])


def test_the_async_client_forks(url, decoder):
    latents = latents_of(3)

    async def frames():
        async with await kg.AsyncClient(url).open(WIDTH, HEIGHT) as session:
            await session.push(latents[:, :2])
            async with await session.fork() as fork:
                await fork.push(latents[:, 2])
                return [frame.pixels async for frame in fork.frames()]

    assert numpy.array_equal(numpy.stack(asyncio.run(frames())), decoder.decode(latents)[5:])


def test_a_fork_counts_as_a_session_and_says_when_frames_are_not_read(decoder):
    with serving({"wan2.1": decoder}, Limits(sessions=2, state_seconds=0.3)) as (service, port):
        session = opened(f"http://127.0.0.1:{port}")
        fork = f"http://127.0.0.1:{port}/sessions/{session['id']}/fork"
        status, answer = ask(fork, "POST")
        assert status == 201 and json.loads(answer)["state_bytes"] == session["state_bytes"]
        assert ask(fork, "POST") == (429, '{"error":"2 sessions are open, which is this service\'s limit"}')
        service.close(service.session(json.loads(answer)["id"]))
        ours = service.session(session["id"])
        for sequence in range(11):
            while ours.intake["room"] == 0 and sequence < 17:
                time.sleep(0.01)
            ours.push(latents_of(1), sequence)
        while ours.describe()["frames"] < Limits.held_frames:
            time.sleep(0.01)
        assert ask(fork, "POST") == (409, '{"error":"latents that the session has were not decoded within 0.3 s: its '
                                          'frames are not read"}')
        assert len(service.sessions()) == 1


@pytest.mark.parametrize("encoding, least", [("jpeg", 30), ("h264", 30)])
def test_pictures_are_the_decoders_within_the_codecs_loss(url, encoding, least):
    with kg.Decoder(ROOT / "assets" / "demo_tiny.safetensors", device="cpu") as tiny, serving({"tiny": tiny}) as \
            (service, port):
        with open(ROOT / "assets" / "orbit.safetensors", "rb") as file:
            clip = _wire.unpack_clip(file.read())
        latents = numpy.ascontiguousarray(clip.array()[:, :2, 8:24, 16:48]).astype("float32")
        wanted = tiny.decode(latents)
        session = opened(f"http://127.0.0.1:{port}", width=256, height=128)
        with socket_of(f"http://127.0.0.1:{port}", session, "latents") as up, \
                socket_of(f"http://127.0.0.1:{port}", session, f"frames?encoding={encoding}") as down:
            up.send(message_of(latents, 0))
            found = pictures_of(down, encoding, 5)
        assert [index for index, _ in found] == list(range(5))
        for (_, picture), frame in zip(found, wanted):
            assert psnr(picture, frame) > least


def pictures_of(socket, encoding, count):
    """[(index, picture)]"""
    if encoding == "jpeg":
        messages = [_wire.unpack(socket.recv(timeout=20), "frame") for _ in range(count)]
        return [(int(one.metadata["index"]), next(av.open(io.BytesIO(one.data)).decode(video=0)).to_ndarray(
            format="rgb24")) for one in messages]
    stream, facts = b"", []
    while len(facts) < count or len(stream.split(b"moof")) <= count:
        message = socket.recv(timeout=20)
        if isinstance(message, bytes):
            stream += message
        elif "number" in message:
            facts.append(json.loads(message))
        else:
            assert re.fullmatch(r"avc1\.[0-9a-f]{6}", json.loads(message)["codec"])
    assert [one["start"] for one in facts] == pytest.approx([n / 24 for n in range(count)])
    frames = av.open(io.BytesIO(stream)).decode(video=0)
    return [(one["index"], frame.reformat(format="rgb24", src_colorspace="ITU709").to_ndarray())
            for one, frame in zip(facts, frames)]


# Sessions


def test_twenty_sessions_with_slow_readers_and_lost_connections_get_their_own_frames(served, decoder):
    """Each session's latents have a watermark of their own: its frames are those of these latents, all of them, once."""
    wanted = [decoder.decode(latents_of(6, seed=seed)) for seed in range(20)]
    cable = Cable(int(served[1].rsplit(":", 1)[1]))
    used = threading.Semaphore(0)
    failures, taken, step = [], [], threading.Barrier(21)  # connections are cut while sessions are used: not while they are opened

    def use(seed):
        try:
            latents = latents_of(6, seed=seed)
            with kg.Client(f"http://127.0.0.1:{cable.port}", timeout=60).open(WIDTH, HEIGHT) as session:
                step.wait()
                for again in range(2):
                    for t in range(6):
                        session.push(latents[:, t], begins_clip=again > 0 and t == 0)
                        if seed % 4 == 0:
                            time.sleep(0.05)
                    frames = []
                    for frame in session.frames():
                        frames.append(frame.pixels)
                        taken.append(seed)
                        if seed % 5 == 0:
                            time.sleep(0.02)
                    assert numpy.array_equal(numpy.stack(frames), wanted[seed]), f"session {seed}"
                used.release()
                step.wait()
        except BaseException as error:
            failures.append(error)
            step.abort()

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(20)]
    for thread in threads:
        thread.start()
    step.wait()
    cuts = before = 0
    while sum(not thread.is_alive() for thread in threads) + used._value < 20:
        time.sleep(0.2)
        if len(taken) >= before + 20:  # a busy machine gets to nothing within 0.2 s
            before = len(taken)
            cable.cut()
            cuts += 1
    with contextlib.suppress(threading.BrokenBarrierError):
        step.wait()
    for thread in threads:
        thread.join()
    cable.close()
    assert not failures, failures
    assert cuts > 1 and not served[0].sessions()


def test_a_client_comes_back_from_a_network_that_does_not_answer(served, decoder, monkeypatch):
    monkeypatch.setattr(kg.client, "_HANDSHAKE_SECONDS", 0.3)
    cable = Cable(int(served[1].rsplit(":", 1)[1]))
    with kg.Client(f"http://127.0.0.1:{cable.port}", timeout=20).open(WIDTH, HEIGHT) as session:
        session.push(latents_of(1))
        cable.is_deaf = True
        cable.cut()
        with pytest.raises((ConnectionError, TimeoutError)):
            session.take(timeout=1)
        threading.Timer(1, lambda: setattr(cable, "is_deaf", False)).start()
        session.push(latents_of(2)[:, 1:])
        frames = [frame.pixels for frame in session.frames()]
    cable.close()
    wanted = decoder.decode(numpy.concatenate([latents_of(1), latents_of(2)[:, 1:]], axis=1))
    assert numpy.array_equal(numpy.stack(frames), wanted)


def test_frames_that_were_not_confirmed_come_again(url):
    session = opened(url)
    with socket_of(url, session, "latents") as up:
        assert json.loads(up.recv(timeout=20)) == {"next": 0, "room": 8}
        up.send(message_of(latents_of(2), 0))
        up.send(message_of(latents_of(2), 0))  # as after a lost connection: taken once
        up.send(message_of(latents_of(1), 1))
        while json.loads(up.recv(timeout=20)) != {"next": 2, "room": 8}:
            pass
    for begin, query in ((0, ""), (3, ""), (2, "&begin=2")):
        with socket_of(url, session, "frames?encoding=raw" + query) as down:
            frames = [_wire.unpack(down.recv(timeout=20), "frame") for _ in range(9 - begin)]
            assert [int(frame.metadata["index"]) for frame in frames] == list(range(begin, 9))
            if begin == 0:
                down.send(json.dumps({"next": 3}))
                time.sleep(0.2)


def test_a_new_reader_of_every_frame_takes_the_place_of_the_old_one(url):
    session = opened(url)
    with socket_of(url, session, "frames") as old, socket_of(url, session, "frames") as new:
        sentence, code = refusal_of(old)
        assert sentence.startswith("another connection reads every frame") and code == 4400
        with socket_of(url, session, "latents") as up:
            up.send(message_of(latents_of(1), 0))
            assert _wire.unpack(new.recv(timeout=20), "frame").shape == (HEIGHT, WIDTH, 4)


def test_a_reader_that_stalls_stops_its_own_session_alone(served, client, url):
    stalled = opened(url)
    with socket_of(url, stalled, "frames"), socket_of(url, stalled, "latents") as up:
        sent, full = 0, False
        while not full:
            room = json.loads(up.recv(timeout=20))
            while sent < room["next"] + room["room"]:
                up.send(message_of(latents_of(1), sent))
                sent += 1
            time.sleep(0.05)
            described = served[0].session(stalled["id"]).describe()
            full = (described["frames"] == Limits.held_frames and described["decoding_latents"] == 3 and
                    described["queued_latents"] == Limits.queued_latents)
        with client.open(WIDTH, HEIGHT) as session:
            for frames in (13, 16, 16):
                session.push(latents_of(4))
                assert len(list(session.frames())) == frames
        described = served[0].session(stalled["id"]).describe()
        assert described["frames"] - described["first_held"] == Limits.held_frames
        up.send(message_of(latents_of(1), sent))
        while "error" not in (answer := json.loads(up.recv(timeout=20))):
            pass
    assert answer == {"error": "1 latent frames, and there was room for 0"}
    while served[0].session(stalled["id"]).connections:  # both are noticed to have gone
        time.sleep(0.01)


def test_a_reader_of_the_newest_frames_makes_nobody_wait(url, client):
    with client.open(WIDTH, HEIGHT) as session, \
            socket_of(url, {"id": session.id}, "frames?encoding=jpeg&late=skip") as idle:
        for _ in range(4):
            session.push(latents_of(8))
            list(session.frames())
        assert idle.recv(timeout=20)


def test_a_paced_session_comes_at_its_rate_and_pauses(url, client):
    with client.open(WIDTH, HEIGHT, fps=20, paced=True) as session:
        begin = time.monotonic()
        session.push(latents_of(4))
        frames = list(session.frames())
        assert len(frames) == 13 and time.monotonic() - begin >= 12 / 20 - 0.06
        assert ask(f"{url}/sessions/{session.id}/pause", "POST")[0] == 204
        session.push(latents_of(1))
        with pytest.raises(TimeoutError, match="no frame within 0.3 s"):
            session.take(timeout=0.3)
        assert ask(f"{url}/sessions/{session.id}/play", "POST")[0] == 204
        assert session.take().index == 13


def test_a_latents_file_is_played_again_and_again(url, client, tmp_path, decoder):
    from conftest import write_latents
    write_latents(tmp_path / "clip.safetensors", latents_of(2))
    played = client.play(tmp_path / "clip.safetensors")
    assert (played["width"], played["height"], played["paced"]) == (WIDTH, HEIGHT, True)
    with socket_of(url, played, "frames") as down:
        for index in range(11):
            frame = _wire.unpack(down.recv(timeout=20), "frame")
            down.send(json.dumps({"next": index + 1}))
            assert frame.metadata["clip"] == str(index // 5)
            assert numpy.array_equal(frame.array()[..., :3], decoder.decode(latents_of(2))[index % 5])
    with socket_of(url, played, "latents") as up:
        assert refusal_of(up)[0] == "the session plays a clip and takes no latents"


def test_snapshot_and_trace(url, client, decoder):
    with client.open(WIDTH, HEIGHT) as session:
        at = f"{url}/sessions/{session.id}"
        assert ask(at + "/snapshot") == (409, '{"error":"the session has no frame yet"}')
        session.push(latents_of(2))
        list(session.frames())
        with urllib.request.urlopen(at + "/snapshot") as answer:
            index = int(answer.headers["kinetograph-frame"])
            picture = next(av.open(io.BytesIO(answer.read())).decode(video=0)).to_ndarray(format="rgb24")
        assert numpy.array_equal(picture, decoder.decode(latents_of(2))[index])
        trace = json.loads(ask(at + "/trace")[1])["traceEvents"]
    lanes = {one["tid"]: one["args"]["name"] for one in trace if one["name"] == "thread_name"}
    found = {lanes[one["tid"]] for one in trace if one["ph"] == "X"}
    assert found == {"queue", "decode", "encode", "send"} and all(one["dur"] >= 0 for one in trace if "dur" in one)


def test_the_dearest_passes_are_named(url, client):
    with client.open(WIDTH, HEIGHT) as session:
        assert ask(f"{url}/sessions/{session.id}/passes") == (200, "[]")
        session.push(latents_of(3))
        list(session.frames())
        passes = json.loads(ask(f"{url}/sessions/{session.id}/passes?most=1000")[1])
        few = json.loads(ask(f"{url}/sessions/{session.id}/passes?most=3")[1])
    assert [one["name"] for one in few] == [one["name"] for one in passes[:3]] and len(passes) > 20
    assert "decoder.conv1" in {one["name"] for one in passes}
    assert sum(one["share"] for one in passes) == pytest.approx(1)


# Sessions that go on elsewhere


class Elsewhere:
    """Two services, the first of which ends: what a fleet does, in one process."""

    def __init__(self, decoder, limits=Limits()):
        self.stored, self.names, self._end, self._adopts = {}, {}, contextlib.ExitStack(), threading.Lock()
        self.is_full = False
        self.first = self.serve("a.", decoder, limits)
        self.second = self.serve("b.", decoder, limits)
        self.cable = Cable(self.first[1])

    def serve(self, prefix, decoder, limits):
        return self._end.enter_context(serving({"wan2.1": decoder}, limits, prefix=prefix, store=self.store,
                                               successor=self.adopt))

    def store(self, name, saved):
        if self.is_full and saved is not None:
            raise OSError("the shelf is full")
        self.stored[name] = saved

    def adopt(self, name):
        """The second service has them; one is adopted once."""
        with self._adopts:
            if name not in self.names and self.stored.get(name) is not None:
                self.names[name] = self.second[0].adopt(self.stored.pop(name)).id
            return self.names.get(name)

    def die(self):
        """Nothing of the first one is left; its address is the second one's."""
        self.cable._to = self.second[1]
        self.cable.cut()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cable.close()
        self._end.close()


def test_sessions_of_a_service_that_ends_are_moved_whatever_they_are_about(decoder):
    wanted = decoder.decode(latents_of(6))
    with Elsewhere(decoder) as fleet:
        client = kg.Client(f"http://127.0.0.1:{fleet.cable.port}", timeout=60)
        fresh, read, unread, full = (client.open(WIDTH, HEIGHT) for _ in range(4))
        read.push(latents_of(6)[:, :3])
        frames = [frame.pixels for frame in read.frames()]
        unread.push(latents_of(6)[:, :3])
        for t in range(15):  # as much as there is room for: 6 steps in frames, one begun, 8 in the queue
            full.push(latents_of(16)[:, t])
        fleet.cable._to = fleet.second[1]
        fleet.first[0].move_all(fleet.store)
        assert fleet.first[0].sessions() == [] and len(fleet.stored) == 4
        read.push(latents_of(6)[:, 3:])
        frames += [frame.pixels for frame in read.frames()]
        assert numpy.array_equal(numpy.stack(frames), wanted) and read.id.startswith("b.")
        fresh.push(latents_of(6))
        unread.push(latents_of(6)[:, 3:])
        full.push(latents_of(16)[:, 15])
        for session, all_wanted in ((fresh, wanted), (unread, wanted), (full, decoder.decode(latents_of(16)))):
            found = list(session.frames())
            assert [frame.index for frame in found] == list(range(len(all_wanted)))
            assert numpy.array_equal(numpy.stack([frame.pixels for frame in found]), all_wanted)
        assert fresh.describe()["id"] == fresh.id


def test_a_clip_that_is_played_begins_again_where_its_session_moves_to(decoder):
    with Elsewhere(decoder) as fleet:
        played = kg.Client(f"http://127.0.0.1:{fleet.cable.port}", timeout=60).play(
            _wire.pack("latents", "F32", (16, 2, 2, 3), latents_of(2), {"fps": "100"}))
        with socket_of(f"http://127.0.0.1:{fleet.first[1]}", played, "frames?late=skip") as down:
            assert _wire.unpack(down.recv(timeout=60), "frame").metadata["clip"] == "0"
            fleet.first[0].move_all(fleet.store)
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    last = down.recv(timeout=60)
            assert json.loads(last)["moved"] is None and closed.value.rcvd.code == 1012
        moved = fleet.adopt(played["id"])
        with socket_of(f"http://127.0.0.1:{fleet.second[1]}", {"id": moved}, "frames?late=wait") as down:
            frame = _wire.unpack(down.recv(timeout=60), "frame")
            assert int(frame.metadata["clip"]) > 0 and frame.metadata["time"] == "0.0"
            assert numpy.array_equal(frame.array()[..., :3], decoder.decode(latents_of(2))[0])


def test_a_session_is_rebuilt_from_the_state_that_was_stored_and_the_latents_since(decoder):
    latents = latents_of(14)
    wanted = decoder.decode(latents)
    with Elsewhere(decoder, Limits(store_seconds=0.05)) as fleet:
        client = kg.Client(f"http://127.0.0.1:{fleet.cable.port}", timeout=60)
        session, lost = client.open(WIDTH, HEIGHT, rebuild=True), client.open(WIDTH, HEIGHT)
        frames = []
        for t in range(9):
            session.push(latents[:, t])
            frames += session.frames()
            time.sleep(0.02)
        while fleet.stored[session.id].next_sequence == 0:
            time.sleep(0.01)
        fleet.is_full = True
        session.push(latents[:, 9:12])  # without a later state, and without their frames
        stored = fleet.stored[session.id].next_sequence
        assert 0 < stored <= 9 and fleet.stored[session.id].frames == []
        fleet.die()
        fleet.is_full = False
        session.push(latents[:, 12:])
        frames += session.frames()
        assert session.id.startswith("b.")
        assert [frame.index for frame in frames] == list(range(len(wanted)))
        assert numpy.array_equal(numpy.stack([frame.pixels for frame in frames]), wanted)
        with pytest.raises(kg.InvalidArgument, match="the replica of this session has ended, and the session's state"):
            lost.push(latents[:, :1])
        session.close()
        assert fleet.stored[session.id] is None


def test_a_session_is_rebuilt_while_its_frames_are_taken_and_after_a_reset(decoder):
    with Elsewhere(decoder, Limits(store_seconds=3600)) as fleet:  # only what is stored at once
        client = kg.Client(f"http://127.0.0.1:{fleet.cable.port}", timeout=60)
        session = client.open(WIDTH, HEIGHT, rebuild=True)
        session.push(latents_of(3, seed=1))
        session.reset()
        latents = latents_of(12)
        session.push(latents[:, :9])
        first = [session.take() for _ in range(7)]
        fleet.die()
        frames = first + list(session.frames())  # nothing is pushed: take() has the latents sent again
        assert numpy.array_equal(numpy.stack([frame.pixels for frame in frames]), decoder.decode(latents[:, :9]))
        assert {frame.clip for frame in frames} == {1}


def test_sessions_are_rebuilt_in_a_fleet_alone(url):
    assert ask(f"{url}/sessions", "POST", b'{"width": 24, "height": 16, "rebuild": true}') == (
        422, '{"error":"sessions are rebuilt in a fleet alone: kinetograph.ray"}')


def test_inputs_of_viewers_come_to_the_generator(url, client):
    with client.open(WIDTH, HEIGHT) as session, socket_of(url, {"id": session.id}, "frames?late=skip") as viewer:
        viewer.send(json.dumps({"input": "w"}))
        viewer.send(json.dumps({"input": "a"}))
        inputs, until = [], time.monotonic() + 20
        while len(inputs) < 2 and time.monotonic() < until:
            session.push(latents_of(1))
            list(session.frames())
            inputs += session.take_inputs()
        assert inputs == ["w", "a"] and session.take_inputs() == []
        viewer.send(json.dumps({"input": "x" * 1025}))
        assert "up to 1024 characters" in refusal_of(viewer)[0]


def test_offers_of_webrtc_that_are_none_are_refused(url):
    pytest.importorskip("aiortc", reason="aiortc is not installed")
    at = f"{url}/sessions/{opened(url)['id']}/whep"
    refused = (422, '{"error":"the offer is not SDP for one video in H.264"}')
    for offer in (b"", b"v=0", b"\xff\xfe", b"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=video 9 X 1\r\n" * 50):
        assert ask(at, "POST", offer, kind="application/sdp") == refused, offer
    assert ask(at, "POST", b"{}")[0] == 415 and ask(at + "/none", "DELETE")[0] == 404


# Limits, and what is refused


def test_bad_requests_get_a_sentence(served, url):
    def sentence(body):
        status, answer = ask(f"{url}/sessions", "POST", json.dumps(body).encode())
        return status, json.loads(answer).get("error") or json.loads(answer)["detail"][0]["msg"]

    assert sentence({"width": 25, "height": 16}) == (422, "frames of 25 x 16: both are multiples of 8")
    assert sentence({"width": 1024, "height": 512}) == (
        422, "frames of 1024 x 512 have more than this service's 262144 pixels")
    assert sentence({"width": 24, "height": 16, "fps": 500}) == (
        422, "500 frames a second: this service gives up to 240")
    assert sentence({"width": 24, "height": 16, "family": "sora"}) == (
        422, "there is no decoder of sora here, but wan2.1")
    assert sentence({"width": 24, "height": 16, "more": 1})[0] == 422
    assert sentence({"width": 24})[0] == 422
    assert ask(f"{url}/sessions/none") == (
        404, '{"error":"there is no such session: it was closed, or idle for too long"}')
    assert ask(f"{url}/sessions", "POST", b" " * 70000)[0] == 413
    assert ask(f"{url}/clips", "POST", b"x" * 100)[0] == 422
    assert served[0].sessions() == []


@pytest.mark.parametrize("message, sentence", [
    ("text", "latents come as binary messages, and all others as texts"),
    (b"\0" * 4, "4 bytes are no safetensors file: its header's length has 8"),
    (message_of(latents_of(1), 1), "message 1 of latents, wanted 0"),
    (message_of(latents_of(1), "-1"), "the metadata sequence is the message's number, from 0"),
    (message_of(latents_of(1), 0, stamp="x" * 300), "a stamp of 300 characters: there are up to 256"),
    (message_of(latents_of(1), 0, path="/etc"), "the metadata path means nothing here"),
    (message_of(latents_of(1, height=4), 0), "latents of 3 x 4, and the session's are 3 x 2"),
    (message_of(latents_of(9), 0), "9 latent frames, and there was room for 8"),
    (message_of(latents_of(1) * numpy.float32("nan"), 0),
     "latents hold a value that is not finite at [0, 0, 0, 0] of [C, T, h, w]"),
])
def test_bad_latents_end_their_connection_and_the_session_goes_on(url, message, sentence):
    session = opened(url)
    with socket_of(url, session, "latents") as up:
        up.send(message)
        assert refusal_of(up) == (sentence, 4400)
    with socket_of(url, session, "latents") as up, socket_of(url, session, "frames") as down:
        up.send(message_of(latents_of(1), 0))
        assert _wire.unpack(down.recv(timeout=20), "frame").metadata["index"] == "0"


def test_a_client_whose_latents_are_refused_goes_on_with_good_ones(client, decoder):
    with client.open(WIDTH, HEIGHT) as session:
        with pytest.raises(kg.InvalidArgument, match="not finite"):
            session.push(latents_of(2) * numpy.float32("nan"))
        assert session.pending == 0
        session.push(latents_of(2))
        assert numpy.array_equal(numpy.stack([frame.pixels for frame in session.frames()]), decoder.decode(latents_of(2)))


def test_a_message_beyond_the_limit_is_not_read(url):
    session = opened(url)
    with socket_of(url, session, "latents") as up, pytest.raises(ConnectionClosed) as closed:
        up.send(bytes((1 << 20) + 1))
        while True:
            up.recv(timeout=20)
    assert closed.value.rcvd.code == 1009


def test_random_messages_crash_nothing(url, client):
    draw = numpy.random.default_rng(0)
    session = opened(url)
    for _ in range(25):
        for path in ("latents", "frames?late=skip"):
            with socket_of(url, session, path) as socket:
                data = draw.bytes(int(draw.integers(1, 400)))
                socket.send(data if draw.integers(2) else data.decode("latin-1"))
                with pytest.raises(ConnectionClosed):
                    while True:
                        socket.recv(timeout=20)
    with client.open(WIDTH, HEIGHT) as good:
        good.push(latents_of(1))
        assert len(list(good.frames())) == 1


def test_sessions_and_readers_have_limits_and_idle_sessions_end(decoder):
    limits = Limits(sessions=2, readers=2, idle_seconds=0.4)
    with serving({"wan2.1": decoder}, limits) as (service, port):
        url = f"http://127.0.0.1:{port}"
        first = opened(url)
        second = opened(url)
        status, answer = ask(f"{url}/sessions", "POST", b'{"width": 24, "height": 16}')
        assert status == 429 and "2 sessions are open" in answer
        with socket_of(url, first, "frames?late=skip"), socket_of(url, first, "frames?late=skip"), \
                socket_of(url, first, "frames?late=skip") as third:
            assert refusal_of(third)[0] == "the session has 2 readers, which is this service's limit"
            until = time.monotonic() + 20
            while len(service.sessions()) > 1 and time.monotonic() < until:
                time.sleep(0.05)
            assert [one.id for one in service.sessions()] == [first["id"]]  # it has connections
        with socket_of(url, second, "latents") as socket:
            assert refusal_of(socket)[1] == 4410


def test_a_session_that_is_closed_ends_its_connections_with_a_sentence(url):
    session = opened(url)
    with socket_of(url, session, "latents") as up, socket_of(url, session, "frames") as down:
        assert ask(f"{url}/sessions/{session['id']}", "DELETE")[0] == 204
        assert refusal_of(down) == ("the session was closed", 4410)
        assert refusal_of(up) == ("the session was closed", 4410)


def test_a_service_with_a_token_answers_nobody_else(decoder):
    with serving({"wan2.1": decoder}, token="s3cret") as (_, port):
        url = f"http://127.0.0.1:{port}"
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret"}):
            for path in ("/sessions", "/metrics", "/openapi.json", "/docs"):
                assert ask(url + path, headers=headers) == (401, '{"error": "the service asks for its token"}')
        assert ask(url + "/healthz")[0] == ask(url + "/")[0] == ask(url + "/web/main.js")[0] == 200
        with pytest.raises(kg.InvalidArgument, match="asks for its token"):
            kg.Client(url).open(WIDTH, HEIGHT)
        with kg.Client(url, token="s3cret").open(WIDTH, HEIGHT) as session:
            session.push(latents_of(1))
            assert len(list(session.frames())) == 1
            at = f"ws{url[4:]}/sessions/{session.id}/frames"
            with connect(at, subprotocols=["kinetograph", "token.s3cret"]) as socket:  # as a browser
                assert socket.subprotocol == "kinetograph"
            with pytest.raises(InvalidStatus, match="401"):
                connect(at, subprotocols=["kinetograph", "token.wrong"])


def test_pages_of_other_sites_and_other_names_of_this_machine_are_refused(url):
    assert ask(url + "/sessions", headers={"Origin": "http://evil.example"})[0] == 403
    assert ask(url + "/sessions", headers={"Origin": url})[0] == 200
    assert ask(url + "/sessions", headers={"Host": "evil.example"})[0] == 421
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"ws{url[4:]}/sessions/x/frames", origin="http://evil.example")
    request = urllib.request.Request(url + "/sessions", headers={"Origin": url})
    with urllib.request.urlopen(request) as answer:
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_the_command_takes_what_the_viewer_starts_it_with():
    from kinetograph.serve import command
    source = (ROOT / "tools" / "kinetograph" / "view_command.cpp").read_text()
    (call,) = re.findall(r"start_service\(\{(.*?)\}\);", source, flags=re.S)
    words = [word for name in re.findall(r'"(--[a-z]+)"', call) for word in (name, name[2:])]
    given = {"device": "cuda:1", "precision": "fp16", "sums": "fast", "port": "8001"}
    parsed = command._parse([given.get(word, word) for word in words])
    assert (parsed.weights, parsed.device, parsed.precision, parsed.sums, parsed.port) == (
        ["weights"], "cuda:1", "fp16", "fast", 8001) and [str(clip) for clip in parsed.clip] == ["clip"]


def test_it_listens_on_loopback_unless_told_otherwise():
    from kinetograph.serve import command
    assert command._parse([]).host == "127.0.0.1" and command._is_loopback("127.0.0.1")
    assert not any(command._is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org"))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_tls_carries_both_interfaces(decoder, tmp_path, monkeypatch):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", tmp_path / "key", "-out", tmp_path / "cert"],
                   check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
    with serving({"wan2.1": decoder}, ssl_certfile=tmp_path / "cert", ssl_keyfile=tmp_path / "key") as (_, port):
        with kg.Client(f"https://localhost:{port}", timeout=20).open(WIDTH, HEIGHT) as session:
            session.push(latents_of(1))
            assert numpy.array_equal(session.take().pixels, decoder.decode(latents_of(1))[0])
        with pytest.raises(ConnectionError):
            kg.Client(f"http://localhost:{port}", timeout=20).describe()


def test_answers_name_no_path_of_the_server(tmp_path):
    shutil.copy(ROOT / "assets" / "demo_tiny.safetensors", tmp_path / "tiny.safetensors")
    with kg.Decoder(tmp_path / "tiny.safetensors", device="cpu") as tiny, serving({"tiny": tiny}) as (_, port):
        url = f"http://127.0.0.1:{port}"
        session = opened(url, width=64, height=32)
        at = f"{url}/sessions/{session['id']}"
        answers = [ask(url + path) for path in ("/sessions", "/openapi.json", "/metrics", "/readyz", "/none", "/web/none")]
        answers += [ask(at + path) for path in ("", "/snapshot", "/trace", "/passes", "/none")]
        answers += [ask(at + path, "POST", b"x") for path in ("/fork", "/reset", "/whep", "/none")]
        answers += [ask(f"{url}/clips", "POST", body) for body in (b"x" * 100, message_of(latents_of(1) * numpy.inf, 0))]
        answers += [ask(f"{url}/sessions", "POST", b'{"width": 64, "height": 32, "family": "../etc/passwd"}')]
    assert "tiny.safetensors" in answers[0][1]
    for _, answer in answers:
        assert str(tmp_path) not in answer and str(ROOT) not in answer and ".py" not in answer, answer


_written = None  # paths that this process opens for writing, while that is looked at


def _note_writes(event, arguments):
    if event == "open" and _written is not None and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        _written.append(arguments[0])


def test_uploads_stay_in_memory(url, client, monkeypatch):
    sys.addaudithook(_note_writes)
    monkeypatch.setattr(sys.modules[__name__], "_written", written := [])
    file = _wire.pack("latents", "F32", (16, 100, 2, 3), latents_of(100), {})
    with open(os.devnull, "w"):
        assert written == [os.devnull]  # they are noted
    played = client.play(file)
    with socket_of(url, played, "frames?late=skip") as down:
        down.recv(timeout=20)
    with urllib.request.urlopen(f"{url}/sessions/{played['id']}/snapshot") as answer:
        assert answer.status == 200 and written == [os.devnull]


def test_a_reader_that_takes_nothing_is_cut_off(decoder):
    with serving({"wan2.1": decoder}, Limits(stall_seconds=0.5)) as (service, port):
        url = f"http://127.0.0.1:{port}"
        session = opened(url, width=256, height=256)
        plug = socket.socket()
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plug.connect(("127.0.0.1", port))
        with connect(f"ws{url[4:]}/sessions/{session['id']}/frames", sock=plug, compression=None, max_queue=1,
                     close_timeout=1), socket_of(url, session, "latents") as up:
            for sequence in range(9):  # 33 frames of 256 KiB
                while json.loads(up.recv(timeout=20))["room"] == 0:
                    pass
                up.send(message_of(latents_of(1, 32, 32), sequence))
            ours = service.session(session["id"])
            while ours.describe()["frames"] < 17 and ours.describe()["readers"]:  # more than sockets hold
                time.sleep(0.05)
            until = time.monotonic() + 15  # before the pings of a WebSocket find it
            while ours.describe()["readers"] and time.monotonic() < until:
                time.sleep(0.05)
            assert ours.describe()["readers"] == 0


@pytest.mark.parametrize("text", [
    "", "null", "[]", "3", '"next"', "{}", '{"next": -1}', '{"next": 1.5}', '{"next": true}', '{"next": "1"}',
    '{"next": null}', '{"next": 1' + "0" * 5000 + "}", "[" * 100_000, '{"input": 5}', '{"input": ["a"]}', "\ud800",
    '{"next": NaN}', '{"input": "' + "x" * 1025 + '"}'])
def test_what_a_viewer_says_is_a_confirmation_or_an_input_or_refused(text):
    from kinetograph.serve.limits import Refused
    from kinetograph.serve.sockets import take_answer
    with pytest.raises(Refused, match="a reader of frames sends"):
        take_answer(text, None, None)


def test_damaged_requests_are_refused_and_nothing_else(url, client):
    """Good bodies and messages of every interface with bytes changed, cut off or doubled."""
    draw = random.Random(0)
    good = opened(url)

    def damaged(data):
        data = bytearray(data)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(data))
            how = draw.randrange(3)
            if how == 0:
                data[at] = draw.randrange(256)
            elif how == 1:
                del data[at:at + draw.randint(1, 8)]
            else:
                data[at:at] = data[at:at + draw.randint(1, 8)]
            data = data or bytearray(b"0")
        return bytes(data)

    clip = _wire.pack("latents", "F32", (16, 1, 2, 3), latents_of(1), {"fps": "12"})
    offer = b"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=rtpmap:96 H264/90000\r\n"
    seen = set()
    for _ in range(60):
        seen.add(ask(f"{url}/sessions", "POST", damaged(b'{"width": 24, "height": 16, "fps": 24, "paced": false}'))[0])
        seen.add(ask(f"{url}/clips", "POST", damaged(clip))[0])
        seen.add(ask(f"{url}/sessions/{good['id']}/whep", "POST", damaged(offer), kind="application/sdp")[0])
        for session in client.describe()["sessions"]:
            if session["id"] != good["id"]:
                ask(f"{url}/sessions/{session['id']}", "DELETE")
    assert seen <= {201, 400, 404, 415, 422}, seen
    for _ in range(40):
        with socket_of(url, good, "latents") as up:
            up.send(damaged(message_of(latents_of(1), 0)))
            with contextlib.suppress(ConnectionClosed, TimeoutError):
                while "error" not in json.loads(up.recv(timeout=0.05)):
                    pass
    with client.open(WIDTH, HEIGHT) as session:
        session.push(latents_of(1))
        assert len(list(session.frames())) == 1


def test_files_of_the_server_stay_its_own(url):
    for path in ("/web/../app.py", "/web/%2e%2e/app.py", "/web//etc/passwd", "/web/..%2fapp.py"):
        assert ask(url + path)[0] == 404


# The service as a whole


def test_metrics_count_what_was_decoded(url, client):
    def metric(name):
        page = ask(url + "/metrics")[1]
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", page, flags=re.M))

    before = metric("kinetograph_frames_total"), metric("kinetograph_chunk_seconds_count")
    with client.open(WIDTH, HEIGHT) as session:
        session.push(latents_of(3))
        list(session.frames())
        assert metric("kinetograph_sessions") == 1
        assert metric("kinetograph_state_bytes") == session.state_bytes
    assert metric("kinetograph_frames_total") - before[0] == 9
    assert metric("kinetograph_chunk_seconds_count") - before[1] == 3
    assert metric("kinetograph_first_frame_seconds_count") > 0
    assert "kinetograph_deadline_missed_total" in ask(url + "/metrics")[1] and metric("kinetograph_sessions") == 0


def test_opentelemetry_gets_a_span_of_each_latent_frame(client):
    pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    with client.open(WIDTH, HEIGHT) as session:
        session.push(latents_of(3))
        list(session.frames())
    spans = [one for one in exporter.get_finished_spans() if one.name == "kinetograph.chunk"]  # FastAPI makes others
    assert [one.attributes["kinetograph.sequence"] for one in spans] == [0, 1, 2]
    assert all(one.end_time > one.start_time for one in spans)
    assert {one.attributes["kinetograph.session"] for one in spans} == {session.id}


def test_the_dashboard_asks_for_metrics_that_there_are(url, client):
    with client.open(WIDTH, HEIGHT) as session:
        session.push(latents_of(1))
        list(session.frames())
    page = ask(url + "/metrics")[1]
    dashboard = (ROOT / "samples" / "serve" / "grafana.json").read_text()
    names = set(re.findall(r"kinetograph_\w+", dashboard))
    assert len(names) >= 7 and [name for name in names if name not in page] == []
    json.loads(dashboard)


def test_health_and_readiness(served, url):
    assert ask(url + "/healthz") == (200, '{"status":"ok"}')
    assert ask(url + "/readyz") == (200, '{"ready":true,"situation":"0 of 24 sessions are open"}')
    served[0].draining = True
    assert ask(url + "/readyz") == (503, '{"ready":false,"situation":"the service is ending"}')
    served[0].draining = False


def test_the_api_describes_itself(url):
    paths = json.loads(ask(url + "/openapi.json")[1])["paths"]
    assert {"/sessions", "/sessions/{number}", "/sessions/{number}/reset", "/sessions/{number}/fork",
            "/sessions/{number}/passes", "/clips", "/metrics"} <= paths.keys()


def test_the_command_refuses_what_would_be_open_to_others():
    def ended(*arguments):
        done = subprocess.run([sys.executable, "-m", "kinetograph", "serve", *arguments], capture_output=True, text=True)
        return done.returncode, done.stderr.strip()

    code, message = ended("--demo", "--host", "0.0.0.0")
    assert code == 1 and "0.0.0.0 can be reached from other machines: set KINETOGRAPH_TOKEN" in message
    assert ended() == (1, "kinetograph: give --weights FILE, or --demo for the bundled decoder and clip")
    assert ended("--weights", "none.safetensors")[0] == 1


def test_the_demo_serves_its_clip_and_logs_a_json_object_a_line():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = subprocess.Popen([sys.executable, "-m", "kinetograph", "serve", "--demo", "--device", "cpu", "--port",
                                str(port)], stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "KINETOGRAPH_ASSETS": str(ROOT / "assets")})
    try:
        lines = [json.loads(started.stderr.readline()) for _ in range(2)]
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                (clip,) = kg.Client(f"http://127.0.0.1:{port}").describe()["sessions"]
                break
            time.sleep(0.1)
        assert (clip["width"], clip["height"], clip["takes_latents"]) == (512, 288, False)
    finally:
        started.terminate()
        rest = started.communicate()[1]
    lines += [json.loads(line) for line in rest.splitlines()]
    assert [line["event"] for line in lines] == ["session opened", "serving", "session closed"]
    assert lines[1]["url"] == f"http://127.0.0.1:{port}/" and lines[0]["session"] == lines[2]["session"] == clip["id"]
    assert all(re.fullmatch(r"[-0-9]{10}T[:0-9]{8}Z", line["time"]) and line["level"] == "info" for line in lines)


def test_the_pages_example_of_a_client(served, url, monkeypatch):
    (lines,) = examples("docs/serve.md", "kinetograph.Client(")
    shown = []
    monkeypatch.setattr(kg, "Client", lambda _, made=kg.Client: made(url))
    exec(lines.replace("512", str(WIDTH)).replace("288", str(HEIGHT)),
         {"kinetograph": kg, "generator": [latents_of(1), latents_of(2)], "show": lambda *what: shown.append(what)})
    assert [index for _, index, _ in shown] == list(range(9)) and {stamp for *_, stamp in shown} == {"a text"}
