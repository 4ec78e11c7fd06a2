#!/usr/bin/python3
"""Decode the demo clip with eager float32 PyTorch and with kinetograph, in turn and with as many threads, and print how
many times as fast kinetograph is.

    tools/compare_pytorch.py                       # build/release, 4 latent frames, prints
    tools/compare_pytorch.py --record              # and writes bench/results/decode_cpu.json

Exit code 1 when a picture is wrong or a goal is missed: bf16 at least 1.5 times, fp32 at least 1.0 times PyTorch's steady
rate; at least 60 dB (fp32) and 38 dB (bf16) against the stored reference frames.
"""
import argparse
import datetime
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from wan21_pytorch import psnr, read_safetensors

ROOT = Path(__file__).resolve().parent.parent
CLIP, WEIGHTS = ROOT / "assets/orbit.safetensors", ROOT / "assets/demo_vae.safetensors"
REFERENCE = ROOT / "assets/orbit_ref.safetensors"
GOALS = {"fp32": {"ratio": 1.0, "psnr_db": 60.0}, "bf16": {"ratio": 1.5, "psnr_db": 38.0}}


def write_first_frames(path, steps):
    """The clip's first `steps` latent frames as a latents file of their own."""
    latents = read_safetensors(CLIP)[0]["latents"][:, :steps].contiguous()
    header = {"__metadata__": {"fps": "24"},
              "latents": {"dtype": "F32", "shape": list(latents.shape), "data_offsets": [0, 4 * latents.numel()]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + latents.numpy().tobytes())


def run(command, environment):
    done = subprocess.run([str(part) for part in command], env={**os.environ, **environment}, capture_output=True,
                          text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed with exit code {done.returncode}:\n{done.stderr}{done.stdout}")


def run_pytorch(folder, options):
    run(["/usr/bin/python3", ROOT / "tools/pytorch_decoder.py", folder / "latents.safetensors", "--weights", WEIGHTS,
         "--threads", options.threads, "--check", REFERENCE, "--json", folder / "pytorch.json"], {})
    stats = json.loads((folder / "pytorch.json").read_text())
    stats["psnr_db"] = min(stats["psnr_db"].values())
    return stats


def run_kinetograph(folder, options, precision):
    out = folder / "frames.safetensors"
    run([options.kinetograph, "decode", folder / "latents.safetensors", "--weights", WEIGHTS, "-o", out, "--lane", "cpu",
         "--precision", precision, "--json", folder / "stats.json"], {"OMP_NUM_THREADS": str(options.threads)})
    stats = json.loads((folder / "stats.json").read_text())
    frames = read_safetensors(out)[0]["frames"]
    reference, about = read_safetensors(REFERENCE)
    ids = [int(i) for i in about["frame_ids"].split(",")]
    stats["psnr_db"] = min(psnr(frames[:, i], reference["frames"][:, n]) for n, i in enumerate(ids)
                           if i < frames.shape[1])
    return stats


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), "unknown processor")


def commit():
    def git(*arguments):
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True).stdout.strip()
    return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain", "--untracked-files=no") else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinetograph", default=ROOT / "build/release/tools/kinetograph/kinetograph", type=Path,
                        help="the program")
    parser.add_argument("--steps", type=int, default=4, help="latent frames of the clip to decode, 2 to 16")
    parser.add_argument("--rounds", type=int, default=2, help="times that each decoder runs; the median counts")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--record", action="store_true", help="write bench/results/decode_cpu.json")
    options = parser.parse_args()

    rates, pictures = {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_first_frames(folder / "latents.safetensors", options.steps)
        for _ in range(options.rounds):
            for key, decode in (("pytorch", lambda: run_pytorch(folder, options)),
                                ("fp32", lambda: run_kinetograph(folder, options, "fp32")),
                                ("bf16", lambda: run_kinetograph(folder, options, "bf16"))):
                stats = decode()
                rates.setdefault(key, []).append(stats["fps_steady"])
                pictures[key] = min(pictures.get(key, 999.0), stats["psnr_db"])
    median = {key: statistics.median(values) for key, values in rates.items()}
    ratio = {key: median[key] / median["pytorch"] for key in GOALS}

    print(f"{CLIP.name}, {stats['width']}x{stats['height']}, {options.steps} latent frames, {options.threads} threads, "
          f"{processor()}")
    print(f"  PyTorch eager fp32  {median['pytorch']:7.3f} frames/s  {pictures['pytorch']:6.1f} dB")
    met = True
    for key, goal in GOALS.items():
        good = ratio[key] >= goal["ratio"] and pictures[key] >= goal["psnr_db"]
        met = met and good
        print(f"  kinetograph {key}    {median[key]:7.3f} frames/s  {pictures[key]:6.1f} dB  {ratio[key]:5.2f} times "
              f"PyTorch (goal {goal['ratio']:.1f}: {'met' if good else 'missed'})")
    if options.record:
        target = ROOT / "bench/results/decode_cpu.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps({
            "machine": {"processor": processor(), "threads": options.threads},
            "commit": commit(), "command": " ".join(["tools/compare_pytorch.py", *sys.argv[1:]]),
            "date": datetime.date.today().isoformat(), "clip": CLIP.name, "latent_frames": options.steps,
            "width": stats["width"], "height": stats["height"], "fps_steady": median, "fps_steady_rounds": rates,
            "ratio_to_pytorch": ratio, "psnr_db": pictures}, indent=1) + "\n")
        print(f"wrote {target.relative_to(ROOT)}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
