#!/usr/bin/python3
"""Decode Wan 2.2 with its public decoders and with kinetograph on a GPU, in one session, and print who is how fast.

    tools/compare_wan22.py --record        # build/release, 1280x704, 33 frames; writes bench/results/decode_wan22_h200.json

Synthetic latents and weights, bf16, whole clips; each peer (peer_decoders.py) in the faster of cuDNN's two ways to choose
algorithms. Exit code 1 when a goal is missed: at least 1.5 times the rate of the fastest peer, less device memory than
any of them, no more than was stated before, and 38 dB against diffusers in fp32 on a small clip.
"""
import argparse
import datetime
import json
import sys
import tempfile
from pathlib import Path

from compare_pytorch import ROOT, TOOLS, gib, run, run_for_json
from wan21_pytorch import psnr, read_safetensors, synthetic_tensor, write_safetensors

WEIGHTS = "synthetic:wan2.2"
GOALS = {"ratio_to_peers": 1.5, "psnr_db": 38.0}


def pytorch(peer, precision="bf16"):
    return [sys.executable, TOOLS / "pytorch_decoder.py", "--weights", WEIGHTS, "--device", "cuda", "--decoder", peer,
            "--precision", precision]


def pictures(folder, options):
    """dB of kinetograph, exact and fast, and of each peer in bf16 against diffusers in fp32."""
    clip, out = folder / "clip.safetensors", folder / "frames.safetensors"
    write_safetensors(clip, "latents", synthetic_tensor("latents", (48, 3, 15, 26)), {"fps": "24"})

    def frames_of(command):
        run(command)
        return read_safetensors(out)[0]["frames"]

    def ours(sums):
        return frames_of([options.kinetograph, "decode", clip, "--weights", WEIGHTS, "-o", out, "--lane", "cuda",
                          "--sums", sums])
    reference = frames_of([*pytorch("diffusers", "fp32"), clip, "--output", out])
    frames = {"kinetograph": ours("exact"), "kinetograph fast sums": ours("fast"),
              **{peer: frames_of([*pytorch(peer), clip, "--output", out]) for peer in options.peers}}
    return {who: min(psnr(theirs[:, i], reference[:, i]) for i in range(reference.shape[1]))
            for who, theirs in frames.items()}


def rates(folder, options, size):
    def theirs(peer, *flags):
        return run_for_json(folder, [*pytorch(peer), "--size", size, "--steps", options.steps, "--repeats",
                                     options.rounds, *flags])

    def ours(*flags):
        return run_for_json(folder, [options.kinetograph, "bench", "decode", "--lane", "cuda", "--weights", WEIGHTS,
                                     "--size", size, "--steps", options.steps, "--rounds", 1 + options.rounds, *flags])
    exact = ours("--no-passes")
    exact["passes"] = ours()["passes"]
    peers = {peer: max((theirs(peer), theirs(peer, "--cudnn-benchmark")), key=lambda stats: stats["fps_clip"])
             for peer in options.peers}
    return {"kinetograph": exact, "kinetograph_fast_sums": ours("--no-passes", "--sums", "fast"), "peers": peers}


def compare(folder, options):
    """Whether all goals were met, and the record."""
    record = {"goals": GOALS, "psnr_db": pictures(folder, options), "sizes": {}}
    missed = [f"pictures of {who} differ: {value:.1f} dB" for who, value in record["psnr_db"].items()
              if value < GOALS["psnr_db"]]
    for who, value in record["psnr_db"].items():
        print(f"pictures of {who}: {value:.1f} dB against diffusers in fp32", flush=True)
    for size in options.sizes:
        measured = rates(folder, options, size)
        ours = measured["kinetograph"]
        record["sizes"][size] = measured
        record.update(commit=ours["commit"], machine=ours["machine"])
        print(f"{size}, {ours['frames']} frames, bf16, {ours['machine']['device']}")
        for who, stats in (("kinetograph", ours), ("fast sums", measured["kinetograph_fast_sums"])):
            print(f"  {who:<12} {stats['fps_clip']:7.2f} frames/s, {gib(stats['peak_device_bytes'])} at most "
                  f"({gib(stats['stated_device_bytes'])} stated), first frame "
                  f"{1e3 * stats['seconds_first_frame_after_load']:.1f} ms after loading", flush=True)
        if ours["peak_device_bytes"] > ours["stated_device_bytes"]:
            missed.append(f"{size}: more memory than was stated")
        for peer, stats in measured["peers"].items():
            times = ours["fps_clip"] / stats["fps_clip"]
            print(f"  {peer:<12} {stats['fps_clip']:7.2f} frames/s, {gib(stats['peak_device_bytes'])} at most: "
                  f"kinetograph runs {times:.2f} times as fast", flush=True)
            if times < GOALS["ratio_to_peers"]:
                missed.append(f"{size}: {times:.2f} times the rate of {peer} instead of {GOALS['ratio_to_peers']}")
            if ours["peak_device_bytes"] >= stats["peak_device_bytes"]:
                missed.append(f"{size}: no less device memory than {peer}")
    for goal in missed:
        print(f"missed: {goal}")
    return not missed, {**record, "missed": missed}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinetograph", default=ROOT / "build/release/tools/kinetograph/kinetograph", help="the program")
    parser.add_argument("--sizes", nargs="+", default=["1280x704"], metavar="WIDTHxHEIGHT")
    parser.add_argument("--peers", nargs="+", default=["diffusers", "vllm-omni"], metavar="NAME")
    parser.add_argument("--steps", type=int, default=9, help="latent frames")
    parser.add_argument("--rounds", type=int, default=2, help="times that each decoder runs; the median counts")
    parser.add_argument("--record", action="store_true", help="write the results as JSON")
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results/decode_wan22_h200.json", help="where to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        met, record = compare(Path(name), options)
    if options.record:
        record = {"command": " ".join(["tools/compare_wan22.py", *sys.argv[1:]]),
                  "date": datetime.date.today().isoformat(), **record}
        options.output.write_text(json.dumps(record, indent=1) + "\n")
        print(f"wrote {options.output}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
