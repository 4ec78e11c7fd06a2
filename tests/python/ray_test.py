"""A fleet on Ray's own cluster of three nodes on this machine: sessions stay with their replica, and end with it."""

import asyncio
import socket

import numpy
import pytest
from conftest import WEIGHTS, latents_of

for package in ("ray", "fastapi", "websockets", "prometheus_client", "av"):
    pytest.importorskip(package, reason=f"{package} is not installed")

import ray
from ray import serve
from ray.cluster_utils import Cluster

import kinetograph as kg
from kinetograph.ray import Fleet, build

WIDTH, HEIGHT, STEPS, SESSIONS = 24, 16, 6, 50


@pytest.fixture
def fleet():
    """(url, cluster, a node without the proxy)"""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    others = [cluster.add_node(num_cpus=1) for _ in range(2)]
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        serve.start(http_options={"host": "127.0.0.1", "port": port, "location": "HeadOnly"})
        serve.run(build(Fleet(weights=[WEIGHTS], device="cpu", precision="fp32", fewest_replicas=3, most_replicas=3,
                              sessions=SESSIONS)))
        yield f"http://127.0.0.1:{port}", cluster, others[0]
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_fifty_sessions_get_their_frames_or_the_sentence_that_their_replica_has_ended(fleet, decoder):
    url, cluster, node = fleet
    wanted = [decoder.decode(latents_of(STEPS, seed=seed)) for seed in range(SESSIONS)]
    half = asyncio.Barrier(SESSIONS + 1)

    async def use(seed):
        """(the replica's name, the sentence with which the session ended or None)"""
        latents = latents_of(STEPS, seed=seed)
        session = await kg.AsyncClient(url, timeout=90).open(WIDTH, HEIGHT)
        frames = []
        try:
            for t in range(STEPS):
                if t == STEPS // 2:
                    await half.wait()
                    await half.wait()
                await session.push(latents[:, t])
                frames += [frame.pixels async for frame in session.frames()]
            await session.close()
        except kg.InvalidArgument as error:
            return session.id.partition(".")[0], str(error)
        finally:
            assert numpy.array_equal(numpy.stack(frames), wanted[seed][:len(frames)])
        assert len(frames) == len(wanted[seed])
        return session.id.partition(".")[0], None

    async def run():
        using = [asyncio.ensure_future(use(seed)) for seed in range(SESSIONS)]
        await half.wait()
        await asyncio.to_thread(cluster.remove_node, node, allow_graceful=False)
        await half.wait()
        return await asyncio.gather(*using)

    ended = asyncio.run(run())
    replicas = {replica for replica, _ in ended}
    dead = {replica for replica, sentence in ended if sentence is not None}
    assert len(replicas) == 3 and len(dead) == 1, ended
    assert {sentence for replica, sentence in ended if replica in dead} == {
        "the replica of this session has ended, and the session's state with it"}
