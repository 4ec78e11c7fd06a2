#!/usr/bin/python3
"""Decode with each family's public decoders and with kinetograph on one GPU, in one session, and say who is how fast.

    bench/peers/compare_families.py --record               # every family, to bench/results/families_beside_h200.json
    bench/peers/compare_families.py --families wan2.2 --peers vllm-omni --sizes 832x480 --seconds 90
    bench/peers/compare_families.py --families wan2.2 qwen-image --sums fast --record

Synthetic latents and weights, whole clips in the type that each family is used in, of Qwen-Image one latent frame; fast
sums are recorded beside exact ones, under a name of their own; each peer (peer_decoders.py) in the
faster of cuDNN's two ways to choose algorithms. Pictures are compared with the first peer's in fp32 on a small clip. A
program that fails or runs out of time is recorded as that, beside what it has measured; nothing runs after --seconds.
After every program its family is written to the record, where other families keep what an earlier session measured:
that of --keep, or of the file that is written.
Exit code 1 when a goal of FAMILIES is missed or a program has failed.
"""
import argparse
import datetime
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from compare_pytorch import HERE, ROOT, ROUNDS
from tensor_files import read_safetensors, write_safetensors
from wan21_pytorch import psnr, synthetic_tensor

sys.path.append(str(ROOT / "bench/tables"))
from record_results import commit  # noqa: E402


class Compared(NamedTuple):
    precision: str
    peers: tuple  # the first one, run in fp32, makes the reference pictures
    clip: tuple   # latents of the pictures: channels, frames, height, width
    goals: dict   # least frames/s by size, least ratio to the fastest peer, least dB; most seconds to a first frame


TINY_PEERS = ("taehv-sequential", "taehv-parallel")
FAMILIES = {
    "taew2.1": Compared("fp16", TINY_PEERS, (16, 3, 30, 52), {"fps": {"832x480": 2000, "1280x704": 600},
                                                            "seconds_first_frame": 0.005, "psnr_db": 38}),
    "wan2.2": Compared("bf16", ("diffusers", "vllm-omni"), (48, 3, 15, 26), {"ratio": 1.5, "psnr_db": 38}),
    "taew2.2": Compared("fp16", TINY_PEERS, (48, 3, 15, 26), {"seconds_first_frame": 0.005, "psnr_db": 38}),
    "wan2.1,dim=24": Compared("bf16", ("diffusers", "vllm-omni"), (16, 3, 30, 52), {"ratio": 1.5, "psnr_db": 38}),
    "taehv1.5": Compared("fp16", TINY_PEERS, (32, 3, 15, 26), {"seconds_first_frame": 0.005, "psnr_db": 38}),
    "qwen-image": Compared("bf16", ("diffusers",), (16, 1, 30, 52), {"psnr_db": 38}),
    "taehv": Compared("fp16", TINY_PEERS, (16, 3, 30, 52), {"seconds_first_frame": 0.005, "psnr_db": 38}),
    "lighttaew2.1": Compared("fp16", TINY_PEERS, (16, 3, 30, 52), {"seconds_first_frame": 0.005, "psnr_db": 38}),
    "lighttaew2.2": Compared("fp16", TINY_PEERS, (48, 3, 15, 26), {"seconds_first_frame": 0.005, "psnr_db": 38}),
    "lighttaehy1.5": Compared("fp16", TINY_PEERS, (32, 3, 15, 26), {"seconds_first_frame": 0.005, "psnr_db": 38}),
}


class Session:
    """Runs programs until its time is over."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def run(self, command, limit, folder):
        """Runs the program in `folder`; returns what it printed, and a sentence on its failure or None."""
        left = min(limit, self.end - time.monotonic())
        if left <= 1:
            return "", "not run: the session's time was over"
        try:
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=left,
                                  cwd=folder)
        except subprocess.TimeoutExpired as expired:
            return (expired.stdout or b"").decode(), f"ended after {left:.0f} s"
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return done.stdout, None if done.returncode == 0 else f"exit code {done.returncode}: {last}"


def steps_of(name, options):
    """Latent frames of the clip that is timed: one where a clip is a picture."""
    return 1 if FAMILIES[name].clip[1] == 1 else options.steps


def recorded_name(name, sums):
    return name if sums == "exact" else f"{name}, {sums} sums"


def peer(session, folder, name, who, options):
    """What the peer has measured by size, with its failure, if any."""
    about, is_reference = FAMILIES[name], who == FAMILIES[name].peers[0]
    command = [sys.executable, HERE / "peer_rates.py", name, who, "--precision", about.precision, "--steps",
               steps_of(name, options), "--rounds", options.rounds, "--sizes", *options.sizes, "--clip",
               "clip.safetensors", "--frames", f"{who}.safetensors",
               *(["--reference", "reference.safetensors"] if is_reference else [])]
    printed, failure = session.run(command, options.limit, folder)
    record = {"sizes": {}, **({"failure": failure} if failure else {})}
    for line in printed.splitlines():
        measured = json.loads(line)
        best = record["sizes"].get(measured["size"])
        if best is None or measured["fps_clip"] > best["fps_clip"]:
            record["sizes"][measured["size"]] = measured
    return record


def ours(session, folder, name, options):
    about = FAMILIES[name]
    weights = ["--weights", f"synthetic:{name}", "--lane", "cuda", "--precision", about.precision, "--sums",
               options.sums]
    record = {"sizes": {}}
    program = options.kinetograph.resolve()
    _, failure = session.run([program, "decode", "clip.safetensors", *weights, "-o", "kinetograph.safetensors"],
                             options.limit, folder)
    for size in options.sizes:
        _, failed = session.run([program, "bench", "decode", *weights, "--size", size, "--steps",
                                 steps_of(name, options), "--rounds", 1 + options.rounds, "--no-passes", "--json",
                                 "ours.json"], options.limit, folder)
        failure = failure or failed
        if not failed:
            record["sizes"][size] = json.loads((folder / "ours.json").read_text())
    return {**record, **({"failure": failure} if failure else {})}


def against_reference(folder, who):
    """PSNR in dB of the worst frame of `who`; None if there are no pictures to compare."""
    paths = [folder / f"{each}.safetensors" for each in (who, "reference")]
    if not all(path.exists() for path in paths):
        return None
    frames, reference = (read_safetensors(path)[0]["frames"] for path in paths)
    return min(psnr(frames[:, i], reference[:, i]) for i in range(reference.shape[1]))


def missed(name, decoders):
    """The failures and missed goals of a family, as sentences."""
    goals, mine = FAMILIES[name].goals, decoders["kinetograph"]
    found = [f"{name}: {who}: {record['failure']}" for who, record in decoders.items() if "failure" in record]
    if mine.get("psnr_db") is not None and mine["psnr_db"] < goals["psnr_db"]:
        found.append(f"{name}: {mine['psnr_db']:.1f} dB against fp32")
    for size, stats in mine["sizes"].items():
        theirs = [record["sizes"][size] for who, record in decoders.items()
                  if who != "kinetograph" and size in record["sizes"]]
        fastest = max((each["fps_clip"] for each in theirs), default=0)
        least = min((each["peak_device_bytes"] for each in theirs), default=None)
        first = stats["seconds_first_frame_after_load"]
        wants = {f"{stats['fps_clip']:.0f} frames/s": stats["fps_clip"] >= goals.get("fps", {}).get(size, 0),
                 f"no {goals.get('ratio', 1)} times the {fastest:.1f} frames/s of the fastest peer":
                     stats["fps_clip"] >= goals.get("ratio", 1) * fastest,
                 f"first frame after {1e3 * first:.1f} ms": first <= goals.get("seconds_first_frame", first),
                 "no less memory than every peer": least is None or stats["peak_device_bytes"] < least,
                 "more memory than was stated": stats["peak_device_bytes"] <= stats["stated_device_bytes"]}
        found += [f"{name} at {size}: {what}" for what, met in wants.items() if not met]
    return found


def compare(session, name, options, keep):
    """Measures the family's decoders; after each of them calls `keep` with the results so far."""
    decoders = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_safetensors(folder / "clip.safetensors",
                          {"latents": synthetic_tensor("latents", FAMILIES[name].clip)}, {"fps": "24"})
        for who in ("kinetograph", *(each for each in FAMILIES[name].peers if each in options.peers)):
            decoders[who] = (ours(session, folder, name, options) if who == "kinetograph" else
                             peer(session, folder, name, who, options))
            for compared, record in decoders.items():
                record["psnr_db"] = against_reference(folder, compared)
            keep(decoders)
    return decoders


def show(name, decoders):
    print(f"{name}, {FAMILIES[name].precision}")
    for who, record in decoders.items():
        for size, stats in record["sizes"].items():
            first = stats.get("seconds_first_frame", stats.get("seconds_first_frame_after_load"))
            print(f"  {who:<17} {size:>9} {stats['fps_clip']:8.1f} frames/s, first frame {1e3 * first:7.1f} ms, "
                  f"{stats['peak_device_bytes'] / 2 ** 20:7.0f} MiB"
                  + (f", {record['psnr_db']:.1f} dB" if record["psnr_db"] else ""), flush=True)


def main():
    every = sorted({peer for about in FAMILIES.values() for peer in about.peers})
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinetograph", type=Path, default=ROOT / "build/release/tools/kinetograph/kinetograph",
                        help="the program")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES), metavar="NAME")
    parser.add_argument("--sizes", nargs="+", default=["832x480", "1280x704"], metavar="WIDTHxHEIGHT")
    parser.add_argument("--peers", nargs="+", choices=every, default=every, metavar="NAME")
    parser.add_argument("--sums", choices=("exact", "fast"), default="exact", help="of kinetograph's convolutions")
    parser.add_argument("--steps", type=int, default=16, help="latent frames")
    parser.add_argument("--rounds", type=int, default=ROUNDS["cuda"],
                        help="decodes of each decoder, after one that warms up; the median counts (5)")
    parser.add_argument("--limit", type=float, default=120, help="seconds of one program")
    parser.add_argument("--seconds", type=float, default=900, help="of the session")
    parser.add_argument("--record", action="store_true", help="write the results as JSON")
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results/families_beside_h200.json",
                        help="where to")
    parser.add_argument("--keep", type=Path, help="record whose other families the written one has (default --output)")
    options = parser.parse_args()
    session, known = Session(options.seconds), commit([options.kinetograph])
    earlier = options.keep or options.output
    record = json.loads(earlier.read_text()) if options.keep or earlier.exists() else {"families": {}}
    about = {"command": " ".join(["bench/peers/compare_families.py", *sys.argv[1:]]),
             "date": datetime.date.today().isoformat()}

    def write(name, decoders):
        of_ours = next(iter(decoders["kinetograph"]["sizes"].values()), {"commit": known, "machine": {}})
        record["families"][recorded_name(name, options.sums)] = {
            **about, "commit": of_ours["commit"], "machine": of_ours["machine"],
            "precision": FAMILIES[name].precision, "decoders": decoders}
        if options.record:
            options.output.write_text(json.dumps(record, indent=1) + "\n")

    found = []
    for name in options.families:
        decoders = compare(session, name, options, lambda decoders, name=name: write(name, decoders))
        show(name, decoders)
        found += missed(name, decoders)
    for sentence in found:
        print(f"missed: {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
