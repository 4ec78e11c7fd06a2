#!/usr/bin/env python3
"""Many sessions of one service, in a process of its own: rates, latencies, memory, and that no session gets another's
frames.

    python bench/run/serve_load.py --sessions 20 --seconds 600 --fps 4 --slow 4 --cut 20      # on a CPU
    python bench/run/serve_load.py --weights synthetic:wan2.1 --device cuda --size 832x480 --sessions 8 --check 7 \
        --seconds 33 --rounds 2 --json serve_h200.json

Each session decodes a clip of its own again and again, and frames are compared with the decoder's of that clip: the
latents are the watermark. Without --fps latents come as fast as they are taken; then the same streams run without a
service as well, in one process and before each round, for what the service takes from the rate.
"""

import argparse
import asyncio
import json
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import numpy

import kinetograph as kg

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))
CLIP = 4  # latent frames of a session's clip
WARM_SECONDS = 3.0  # at the beginning, which are not counted


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default=str(ROOT / "assets" / "demo_tiny.safetensors"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", default="128x64", help="of frames")
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--fps", type=float, default=0, help="frames a second of each session; 0: as fast as they come")
    parser.add_argument("--check", type=int, default=1, help="every so many-th frame is compared")
    parser.add_argument("--slow", type=int, default=0, help="every so many-th session reads slowly")
    parser.add_argument("--cut", type=float, default=0, help="seconds between cuts of all connections")
    parser.add_argument("--rounds", type=int, default=1, help="a service of its own for each")
    parser.add_argument("--commit", default="", help="for the record")
    parser.add_argument("--json", type=pathlib.Path, help="the record")
    return parser.parse_args()


def start(options, port):
    """The service's process, once it is ready."""
    process = subprocess.Popen([sys.executable, "-m", "kinetograph", "serve", "--weights", options.weights, "--device",
                                options.device, "--port", str(port), "--sessions", str(options.sessions)],
                               stderr=subprocess.DEVNULL)
    while True:
        assert process.poll() is None, "the service has ended"
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()
            return process
        except OSError:
            time.sleep(0.1)


def resident_bytes(process):
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) * 1024


class Session:
    """What one session does and sees."""

    def __init__(self, number, options, decoder):
        width, height = map(int, options.size.split("x"))
        self.size, self.number, self.options = (width, height), number, options
        scale = decoder.spatial_scale
        draw = numpy.random.default_rng(number)
        self.latents = draw.standard_normal((decoder.channels, CLIP, height // scale, width // scale)).astype("float16")
        self.wanted = decoder.decode(self.latents)
        self.latencies, self.frames, self.mixed = [], 0, 0

    async def run(self, client, begin, end):
        async with await client.open(*self.size, fps=self.options.fps or 24) as session:
            pushing = asyncio.ensure_future(self.push(session, begin, end))
            taken = 0
            while not pushing.done() or session.pending > 0:
                if session.pending == 0:
                    await asyncio.sleep(0.001)
                    continue
                frame = await session.take()
                now = time.monotonic()
                if taken % self.options.check == 0:
                    self.mixed += not numpy.array_equal(frame.pixels, self.wanted[taken % len(self.wanted)])
                taken += 1
                if begin + WARM_SECONDS <= now <= end:
                    self.frames += 1
                    self.latencies.append(now - float(frame.stamp))
                if self.options.slow and self.number % self.options.slow == 0:
                    await asyncio.sleep(0.02)
            await pushing

    async def push(self, session, begin, end):
        pushed = 0
        while time.monotonic() < end or pushed % CLIP:
            if self.options.fps:
                due = begin + (pushed * 4 + self.number / self.options.sessions * 4) / self.options.fps
                await asyncio.sleep(max(0, due - time.monotonic()))
            at = pushed % CLIP
            await session.push(self.latents[:, at], stamp=str(time.monotonic()), begins_clip=at == 0)
            pushed += 1


async def serve(options, sessions, port, process):
    """(bytes of the process ten times during the run, what sessions have failed with)"""
    client = kg.AsyncClient(f"http://127.0.0.1:{port}", timeout=120)
    begin = time.monotonic()
    end = begin + options.seconds
    running = [asyncio.ensure_future(one.run(client, begin, end)) for one in sessions]
    resident = []
    for tenth in range(1, 11):
        await asyncio.sleep(max(0, begin + tenth * options.seconds / 10 - time.monotonic()))
        resident.append(resident_bytes(process))
    failures = [repr(one) for one in await asyncio.gather(*running, return_exceptions=True) if one is not None]
    return resident, failures


def without_service(options, decoder, sessions):
    """Frames a second of the same streams in this process, for ten seconds; frames are taken and dropped."""
    counts, end = [0] * len(sessions), time.monotonic() + WARM_SECONDS + 10

    def use(at):
        with decoder.stream(device="cpu", layout="HWC4") as stream:
            pushed = 0
            while time.monotonic() < end:
                while stream.pending < 12:
                    stream.push(sessions[at].latents[:, pushed % CLIP])
                    pushed += 1
                with stream.take():
                    counts[at] += time.monotonic() > end - 10

    threads = [threading.Thread(target=use, args=(at,)) for at in range(len(sessions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / 10


def measure(options):
    """One round."""
    from serving import Cable
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with kg.Decoder(options.weights, device=options.device) as decoder:
        sessions = [Session(number, options, decoder) for number in range(options.sessions)]
        alone = None if options.fps else without_service(options, decoder, sessions)
    process = start(options, port)
    cable, cuts = Cable(port), 0
    ended = threading.Event()

    def cut():
        nonlocal cuts
        last = time.monotonic() + options.seconds - WARM_SECONDS  # sessions are closed without one
        while not ended.wait(options.cut) and time.monotonic() < last:
            cable.cut()
            cuts += 1

    if options.cut:
        threading.Thread(target=cut, daemon=True).start()
    try:
        resident, failures = asyncio.run(serve(options, sessions, cable.port if options.cut else port, process))
    finally:
        ended.set()
        process.terminate()
        process.wait()
    prompt = [one for one in sessions if not options.slow or one.number % options.slow]
    latencies = numpy.concatenate([one.latencies for one in prompt])
    rate = sum(one.frames for one in sessions) / (options.seconds - WARM_SECONDS)
    return {"frames": sum(one.frames for one in sessions),
            "frames_of_another_session": sum(one.mixed for one in sessions),
            "sessions_failed": failures, "frames_per_second": round(rate, 2),
            "frames_per_second_without_service": alone, "connections_cut": cuts,
            "latency_median_ms": round(float(numpy.median(latencies)) * 1e3, 1),
            "latency_p99_ms": round(float(numpy.quantile(latencies, 0.99)) * 1e3, 1),
            "resident_mib": [round(one / 2**20, 1) for one in resident]}


def main():
    options = arguments()
    (device,) = [one for one in kg.devices() if one["name"].startswith(options.device)][:1]
    record = {"command": " ".join(["bench/run/serve_load.py", *sys.argv[1:]]), "commit": options.commit,
              "device": device["product"], "sessions": options.sessions, "size": options.size,
              "seconds": options.seconds, "rounds": [measure(options) for _ in range(options.rounds)]}
    print(json.dumps(record, indent=2))
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    return 1 if any(one["frames_of_another_session"] or one["sessions_failed"] for one in record["rounds"]) else 0


if __name__ == "__main__":
    sys.exit(main())
