"""A fleet on Ray's own cluster of nodes on this machine: sessions stay with their replica, move when it is to stop, and
end with it or are rebuilt when its node dies."""

import asyncio
import faulthandler
import os
import socket
import types

import numpy
import pytest
from conftest import WEIGHTS, _messages, latents_of

# A busy machine answers late: these are read when Ray is imported.
os.environ.setdefault("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", "120")
os.environ.setdefault("RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S", "120")

for package in ("ray", "fastapi", "websockets", "prometheus_client", "av"):
    pytest.importorskip(package, reason=f"{package} is not installed")

import ray
from ray import serve
from ray.cluster_utils import Cluster

import kinetograph as kg
from kinetograph.ray import Fleet, Scaling, build

WIDTH, HEIGHT, STEPS, SESSIONS = 24, 16, 6, 50


LIMIT_SECONDS = 840  # of a test with the start of its cluster, which takes minutes where much else runs


@pytest.fixture(autouse=True)
def ends_in_time():
    faulthandler.dump_traceback_later(LIMIT_SECONDS, exit=True, file=_messages)
    yield
    faulthandler.cancel_dump_traceback_later()


def free_port():
    with socket.create_server(("", 0)) as free:
        return free.getsockname()[1]


def start_nodes(count):
    """A cluster of nodes with one processor each, and those without the proxy. A raylet waits some 20 s for its agents to
    write their ports into files, and aborts; a busy machine has not imported the agents' packages by then, but has read
    them for the next attempt."""
    for attempt in range(4):
        cluster = Cluster()
        try:
            nodes = [cluster.add_node(num_cpus=1, include_dashboard=False) for _ in range(count)]
            return cluster, nodes[1:]
        except Exception as error:  # Ray has no other type for it
            cluster.shutdown()
            if attempt == 3 or "timed out during startup" not in str(error):
                raise


@pytest.fixture
def fleet(request):
    """(url, cluster, a node without the proxy), of as many nodes as the test's parameter, with a replica on each"""
    port = free_port()
    cluster, others = start_nodes(request.param)
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        serve.start(http_options={"host": "127.0.0.1", "port": port, "location": "HeadOnly"})
        serve.run(build(small_fleet(request.param)))
        yield f"http://127.0.0.1:{port}", cluster, others[0]
    finally:
        ray.shutdown()
        cluster.shutdown()


def small_fleet(replicas, sessions=SESSIONS):
    return Fleet(weights=[WEIGHTS], device="cpu", precision="fp32", fewest_replicas=replicas, most_replicas=replicas,
                 sessions=sessions, store_seconds=0.2)


class Use:
    """Sessions that are used in two halves; between them something is done to the fleet."""

    def __init__(self, url, decoder, sessions):
        self.url, self.count = url, sessions
        self.wanted = [decoder.decode(latents_of(STEPS, seed=seed)) for seed in range(sessions)]
        self.half = asyncio.Barrier(sessions + 1)

    async def use(self, seed, rebuild):
        """(the replica's name before and after, the sentence with which the session ended or None)"""
        latents = latents_of(STEPS, seed=seed)
        session = await kg.AsyncClient(self.url, timeout=90).open(WIDTH, HEIGHT, rebuild=rebuild)
        frames, before, sentence = [], session.id.partition(".")[0], None
        try:
            for t in range(STEPS):
                if t == STEPS // 2:
                    await self.half.wait()
                    await self.half.wait()
                await session.push(latents[:, t])
                frames += [frame.pixels async for frame in session.frames()]
            await session.close()
        except kg.InvalidArgument as error:
            sentence = str(error)
        finally:
            assert numpy.array_equal(numpy.stack(frames), self.wanted[seed][:len(frames)])
        assert sentence is not None or len(frames) == len(self.wanted[seed])
        return before, session.id.partition(".")[0], sentence

    async def run(self, between, rebuilds):
        """What use() returns, by session."""
        using = [asyncio.ensure_future(self.use(seed, rebuilds(seed))) for seed in range(self.count)]
        await self.half.wait()
        await asyncio.to_thread(between)
        await self.half.wait()
        return await asyncio.gather(*using)


@pytest.mark.parametrize("fleet", [3], indirect=True)
def test_fifty_sessions_get_their_frames_or_the_sentence_that_their_replica_has_ended(fleet, decoder):
    url, cluster, node = fleet
    asked = lambda seed: seed % 2 == 0  # noqa: E731
    ended = asyncio.run(Use(url, decoder, SESSIONS).run(
        lambda: cluster.remove_node(node, allow_graceful=False), asked))
    assert len({before for before, *_ in ended}) == 3
    dead = {before for before, after, sentence in ended if after != before or sentence is not None}
    assert len(dead) == 1, ended
    for seed, (before, after, sentence) in enumerate(ended):
        if before not in dead:
            assert after == before and sentence is None
        elif asked(seed):
            assert after != before and sentence is None
        else:
            assert sentence == "the replica of this session has ended, and the session's state with it"
    assert {asked(seed) for seed, (before, *_) in enumerate(ended) if before in dead} == {True, False}


@pytest.mark.parametrize("fleet", [2], indirect=True)
def test_sessions_move_when_their_replicas_are_to_stop(fleet, decoder):
    url, _, _ = fleet
    # Another configuration: all replicas are replaced, one after the other where there is room for two alone.
    ended = asyncio.run(Use(url, decoder, 12).run(
        lambda: serve.run(build(small_fleet(2, SESSIONS + 1))), lambda seed: False))
    assert all(sentence is None and after != before for before, after, sentence in ended), ended


def test_replicas_are_added_for_sessions_and_for_seconds_of_decoding_a_second():
    def wanted(sessions, busy):
        return Scaling(8, 0.8)(types.SimpleNamespace(
            aggregated_metrics={"sessions": sessions, "busy": busy}, target_num_replicas=5))[0]

    assert wanted({"a": 8, "b": 8}, {"a": 0.1, "b": 0.1}) == 2
    assert wanted({"a": 9, "b": 8}, {"a": 0.1, "b": 0.1}) == 3
    assert wanted({"a": 2, "b": 2}, {"a": 0.9, "b": 0.9}) == 3
    assert wanted({}, {}) == 5  # nothing is known yet
