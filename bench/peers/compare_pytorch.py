#!/usr/bin/python3
"""Decode with PyTorch and with kinetograph, alternating on one machine, and print the ratio of their rates.

    bench/peers/compare_pytorch.py                # the demo clip on the CPU: build/release, 4 latent frames, prints
    bench/peers/compare_pytorch.py --record       # and writes bench/results/decode_cpu.json
    bench/peers/compare_pytorch.py --lane cuda --peers fastvae vllm-omni --record
                                   --output bench/results/decode_h200.json

Exit code 1 when a picture is wrong or a goal is missed. On the CPU: bf16 at least 1.5 times, fp32 at least 1.0 times
PyTorch's steady rate; at least 60 dB (fp32) and 38 dB (bf16) against the stored reference frames. On CUDA, at 832x480
and 1280x704, 61 frames of synthetic latents and weights, bf16: at least 1.2 times the whole clip's rate of PyTorch with
channels_last_3d weights, the faster of cuDNN's two ways to choose algorithms; at most 5.5 GiB of device memory at
1280x704, and no more than was stated before; the first frame within 150 ms after loading at 832x480; 38 dB against
PyTorch in fp32 on a small clip; 185 and 82 frames/s. Each peer, a public decoder in its own code (peer_decoders.py),
runs in the same session, the faster of cuDNN's two ways too: at least 1.6 times its rate, and 38 dB for its pictures.
Exact and fast sums run in bf16 and in fp16: fast ones give 230 and 102 frames/s in one of the types in which the demo
clips have at least 60 dB, and take at most 5 % more memory than exact ones in the same type.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tensor_files import read_safetensors, write_safetensors
from wan21_pytorch import psnr, synthetic_tensor

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CLIP, WEIGHTS = ROOT / "assets/orbit.safetensors", ROOT / "assets/demo_vae.safetensors"
REFERENCE = ROOT / "assets/orbit_ref.safetensors"
CPU_GOALS = {"fp32": {"ratio": 1.0, "psnr_db": 60.0}, "bf16": {"ratio": 1.5, "psnr_db": 38.0}}
CUDA_GOALS = {"ratio": 1.2, "ratio_to_peers": 1.6, "peak_device_bytes_at_1280x704": 5.5 * 2 ** 30,
              "seconds_first_frame_at_832x480": 0.15, "psnr_db": 38.0, "psnr_db_fast_demo": 60.0,
              "fps_exact": {"832x480": 185.0, "1280x704": 82.0}, "fps_fast": {"832x480": 230.0, "1280x704": 102.0},
              "memory_fast_to_exact": 1.05}
SYNTHETIC = "synthetic:wan2.1"
ROUNDS = {"cpu": 2, "cuda": 5}  # decodes that count, of every decoder alike; on CUDA after one that warms up
KINDS = ("exact, bf16", "fast, bf16", "exact, fp16", "fast, fp16")
DEMO_CLIPS = ("orbit", "tunnel", "bounce")


def run(command, environment=None):
    done = subprocess.run([str(part) for part in command], env={**os.environ, **(environment or {})},
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed with exit code {done.returncode}:\n{done.stderr}{done.stdout}")


def run_for_json(folder, command, environment=None):
    """The JSON that the command writes to its --json file."""
    path = folder / "result.json"
    run([*command, "--json", path], environment)
    return json.loads(path.read_text())


# ---- the demo clip on the CPU ----------------------------------------------------------------------------------------


def run_pytorch(folder, options):
    stats = run_for_json(folder, [sys.executable, HERE / "pytorch_decoder.py", folder / "latents.safetensors",
                                  "--weights", WEIGHTS, "--threads", options.threads, "--check", REFERENCE])
    stats["psnr_db"] = min(stats["psnr_db"].values())
    return stats


def run_kinetograph(folder, options, precision):
    out = folder / "frames.safetensors"
    stats = run_for_json(folder, [options.kinetograph, "decode", folder / "latents.safetensors", "--weights", WEIGHTS,
                                  "-o", out, "--lane", "cpu", "--precision", precision],
                         {"OMP_NUM_THREADS": str(options.threads)})
    frames = read_safetensors(out)[0]["frames"]
    reference, about = read_safetensors(REFERENCE)
    ids = [int(i) for i in about["frame_ids"].split(",")]
    stats["psnr_db"] = min(psnr(frames[:, i], reference["frames"][:, n]) for n, i in enumerate(ids)
                           if i < frames.shape[1])
    return stats


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), "unknown processor")


def compare_on_cpu(folder, options):
    """Whether all goals were met, and the record."""
    latents = read_safetensors(CLIP)[0]["latents"][:, :options.steps]
    write_safetensors(folder / "latents.safetensors", {"latents": latents}, {"fps": "24"})
    rates, pictures = {}, {}
    for _ in range(options.rounds):
        for key, decode in (("pytorch", lambda: run_pytorch(folder, options)),
                            ("fp32", lambda: run_kinetograph(folder, options, "fp32")),
                            ("bf16", lambda: run_kinetograph(folder, options, "bf16"))):
            stats = decode()
            rates.setdefault(key, []).append(stats["fps_steady"])
            pictures[key] = min(pictures.get(key, 999.0), stats["psnr_db"])
    median = {key: statistics.median(values) for key, values in rates.items()}
    ratio = {key: median[key] / median["pytorch"] for key in CPU_GOALS}

    print(f"{CLIP.name}, {stats['width']}x{stats['height']}, {options.steps} latent frames, {options.threads} threads, "
          f"{processor()}")
    print(f"  PyTorch eager fp32  {median['pytorch']:7.3f} frames/s  {pictures['pytorch']:6.1f} dB")
    met = True
    for key, goal in CPU_GOALS.items():
        good = ratio[key] >= goal["ratio"] and pictures[key] >= goal["psnr_db"]
        met = met and good
        print(f"  kinetograph {key}    {median[key]:7.3f} frames/s  {pictures[key]:6.1f} dB  {ratio[key]:5.2f} times "
              f"PyTorch (goal {goal['ratio']:.1f}: {'met' if good else 'missed'})")
    return met, {
        "machine": {"processor": processor(), "threads": options.threads}, "commit": stats["commit"],
        "clip": CLIP.name, "latent_frames": options.steps, "width": stats["width"], "height": stats["height"],
        "fps_steady": median, "fps_steady_rounds": rates, "ratio_to_pytorch": ratio, "psnr_db": pictures}


# ---- synthetic clips on a GPU ----------------------------------------------------------------------------------------


def pytorch_on_cuda(folder, options, size, *flags):
    return run_for_json(folder, [sys.executable, HERE / "pytorch_decoder.py", "--size", size, "--steps", options.steps,
                                 "--weights", SYNTHETIC, "--device", "cuda", "--precision", "bf16", "--repeats",
                                 options.rounds, *flags])


def kinetograph_on_cuda(folder, options, size):
    """Every kind's rate, without stamps between passes; for the first kind also its passes' times, of another run."""
    command = [options.kinetograph, "bench", "decode", "--lane", "cuda", "--weights", SYNTHETIC, "--size", size,
               "--steps", options.steps, "--rounds", 1 + options.rounds]
    kinds = {}
    for kind in KINDS:
        sums, precision = kind.split(", ")
        kinds[kind] = run_for_json(folder, [*command, "--no-passes", "--sums", sums, "--precision", precision])
    stamped = run_for_json(folder, command)
    kinds[KINDS[0]].update(passes=stamped["passes"], fps_clip_with_stamps=stamped["fps_clip"])
    return kinds


def peers_on_cuda(folder, options, size):
    """Each peer with the faster of cuDNN's two ways to choose algorithms, and a sentence for each that failed."""
    peers, failed = {}, []
    for peer in options.peers:
        try:
            peers[peer] = max((pytorch_on_cuda(folder, options, size, "--decoder", peer, *flags)
                               for flags in ((), ("--cudnn-benchmark",))), key=lambda stats: stats["fps_clip"])
        except SystemExit as error:
            failed.append(f"{size}: {peer} did not run: {str(error).splitlines()[-1]}")
    return peers, failed


def least_psnr(theirs, reference, first=0):
    """PSNR in dB of the frame that differs most, from frame `first` on."""
    return min(psnr(theirs[:, i], reference[:, i]) for i in range(first, reference.shape[1]))


def pictures_on_cuda(folder, options):
    """PSNR in dB against PyTorch in fp32, over three latent frames, of the frame that differs most: for the synthetic
    clip kinetograph's and each peer's, in bf16; for every clip kinetograph's in each type and with either sums, without
    the first frame, which is decoded alone, with exact sums."""
    clips = {"synthetic": (SYNTHETIC, synthetic_tensor("latents", (16, 3, 30, 52)))}
    for name in DEMO_CLIPS:
        clips[name] = WEIGHTS, read_safetensors(ROOT / f"assets/{name}.safetensors")[0]["latents"][:, :3]
    for name, (_, latents) in clips.items():
        write_safetensors(folder / f"{name}.safetensors", {"latents": latents}, {"fps": "24"})

    def pytorch(name, *flags):
        out = folder / f"{name} {' '.join(flags)} pytorch.safetensors"
        run([sys.executable, HERE / "pytorch_decoder.py", folder / f"{name}.safetensors", "--weights", clips[name][0],
             "--device", "cuda", "--output", out, *flags])
        return read_safetensors(out)[0]["frames"]

    def kinetograph(name, kind):
        out = folder / f"{name} {kind}.safetensors"
        sums, precision = kind.split(", ")
        run([options.kinetograph, "decode", folder / f"{name}.safetensors", "--weights", clips[name][0], "-o", out,
             "--lane", "cuda", "--sums", sums, "--precision", precision])
        return read_safetensors(out)[0]["frames"]

    with ThreadPoolExecutor(8) as pool:  # nothing is timed here
        references = {name: pool.submit(pytorch, name) for name in clips}
        theirs = {peer: pool.submit(pytorch, "synthetic", "--precision", "bf16", "--decoder", peer)
                  for peer in options.peers}
        ours = {(name, kind): pool.submit(kinetograph, name, kind) for name in clips for kind in KINDS}
    kinds = {name: {kind: least_psnr(ours[name, kind].result(), references[name].result(), first=1) for kind in KINDS}
             for name in clips}
    alike = {"kinetograph": ours["synthetic", KINDS[0]], **theirs}
    return {who: least_psnr(frames.result(), references["synthetic"].result()) for who, frames in alike.items()}, kinds


def fps_range(stats):
    """Frames/s of the slowest and of the fastest round."""
    seconds = stats.get("seconds_total_all") or [stats["seconds_clip"][end] for end in ("min", "max")]
    return [stats["frames"] / max(seconds), stats["frames"] / min(seconds)]


def gib(count):
    return f"{count / 2 ** 30:.2f} GiB"


def missed_by_kinds(size, ours, clips):
    """Missed goals for rates and memory of exact and fast sums in both types. `clips`: dB by demo clip and kind."""
    missed = []
    exact, goal = ours[KINDS[0]], CUDA_GOALS["fps_exact"].get(size, 0)
    if exact["fps_clip"] < goal:
        missed.append(f"{size}: {exact['fps_clip']:.1f} frames/s with exact sums instead of {goal}")
    good = [kind for kind in KINDS if kind.startswith("fast") and
            all(of[kind] >= CUDA_GOALS["psnr_db_fast_demo"] for of in clips.values())]
    best, goal = max((ours[kind]["fps_clip"] for kind in good), default=0.0), CUDA_GOALS["fps_fast"].get(size, 0)
    if good and best < goal:
        missed.append(f"{size}: {best:.1f} frames/s with fast sums instead of {goal}")
    for kind, stats in ours.items():
        if stats["peak_device_bytes"] > stats["stated_device_bytes"]:
            missed.append(f"{size}: more memory than was stated with {kind}")
        most = CUDA_GOALS["memory_fast_to_exact"] * ours[kind.replace("fast", "exact")]["peak_device_bytes"]
        if stats["peak_device_bytes"] > most:
            missed.append(f"{size}: {gib(stats['peak_device_bytes'])} with {kind}, more than {gib(most)}")
    if size == "1280x704" and exact["peak_device_bytes"] > CUDA_GOALS["peak_device_bytes_at_1280x704"]:
        missed.append(f"{size}: {gib(exact['peak_device_bytes'])} of device memory")
    return missed


def print_size(size, ours, best, ratio, theirs):
    exact = ours[KINDS[0]]
    print(f"{size}, {exact['frames']} frames, bf16, {exact['machine']['device']}\n"
          f"  PyTorch      {best:7.2f} frames/s, {gib(max(s['peak_device_bytes'] for s in theirs))} at most\n"
          f"  kinetograph  {exact['fps_clip']:7.2f} frames/s, {gib(exact['peak_device_bytes'])} at most "
          f"({gib(exact['stated_device_bytes'])} stated), first frame "
          f"{1e3 * exact['seconds_first_frame_after_load']:.1f} ms after loading\n"
          f"  {ratio:.2f} times PyTorch's rate", flush=True)
    for kind in KINDS[1:]:
        stats = ours[kind]
        print(f"  {kind:<12} {stats['fps_clip']:7.2f} frames/s, {gib(stats['peak_device_bytes'])} at most", flush=True)


def compare_on_cuda(folder, options):
    pictures, kinds = pictures_on_cuda(folder, options)
    demo = {name: kinds[name] for name in DEMO_CLIPS}
    record = {"sizes": {}, "psnr_db": pictures, "psnr_db_of_kinds": kinds, "goals": CUDA_GOALS}
    missed = [f"pictures of {who} differ: {value:.1f} dB" for who, value in pictures.items()
              if value < CUDA_GOALS["psnr_db"]]
    fast = {name: max(of[kind] for kind in KINDS if kind.startswith("fast")) for name, of in demo.items()}
    missed += [f"pictures of {name} with fast sums: {value:.1f} dB" for name, value in fast.items()
               if value < CUDA_GOALS["psnr_db_fast_demo"]]
    for size in options.sizes:
        theirs = [pytorch_on_cuda(folder, options, size, "--channels-last"),
                  pytorch_on_cuda(folder, options, size, "--channels-last", "--cudnn-benchmark")]
        peers, failed = peers_on_cuda(folder, options, size)
        all_ours = kinetograph_on_cuda(folder, options, size)
        ours = all_ours[KINDS[0]]
        fastest = max(theirs, key=lambda stats: stats["fps_clip"])
        best = fastest["fps_clip"]
        ratio, first = ours["fps_clip"] / best, ours["seconds_first_frame_after_load"]
        record["sizes"][size] = {"ratio_to_pytorch": ratio, "kinetograph": ours, "pytorch": theirs,
                                 "kinds": {kind: all_ours[kind] for kind in KINDS[1:]},
                                 "peers": peers, "fps_clip": {"pytorch": best},
                                 "fps_clip_range": {who: fps_range(stats) for who, stats in
                                                    {"pytorch": fastest, **all_ours, **peers}.items()}}
        record["sizes"][size]["fps_clip"].update((kind, stats["fps_clip"]) for kind, stats in all_ours.items())
        record.update(commit=ours["commit"], machine={**ours["machine"], "pytorch": theirs[0]["program"],
                                                      "cuda": theirs[0]["cuda"], "cudnn": theirs[0]["cudnn"]})
        if ratio < CUDA_GOALS["ratio"]:
            missed.append(f"{size}: {ratio:.2f} times PyTorch's rate instead of {CUDA_GOALS['ratio']}")
        missed += missed_by_kinds(size, all_ours, demo) + failed
        if size == "832x480" and first > CUDA_GOALS["seconds_first_frame_at_832x480"]:
            missed.append(f"{size}: the first frame came {1e3 * first:.0f} ms after loading")
        print_size(size, all_ours, best, ratio, theirs)
        for peer, stats in peers.items():
            times = ours["fps_clip"] / stats["fps_clip"]
            if times < CUDA_GOALS["ratio_to_peers"]:
                missed.append(f"{size}: {times:.2f} times the rate of {peer} instead of {CUDA_GOALS['ratio_to_peers']}")
            print(f"  {peer:<12} {stats['fps_clip']:7.2f} frames/s, {gib(stats['peak_device_bytes'])} at most: "
                  f"kinetograph runs {times:.2f} times as fast", flush=True)
    for who, value in record["psnr_db"].items():
        print(f"pictures of {who}: {value:.1f} dB against PyTorch in fp32")
    record["missed"] = missed
    for goal in missed:
        print(f"missed: {goal}")
    return not missed, record


def parsed(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinetograph", default=ROOT / "build/release/tools/kinetograph/kinetograph",
                        type=lambda path: Path(path).resolve(), help="the program")
    parser.add_argument("--lane", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--sizes", nargs="+", default=["832x480", "1280x704"], metavar="WIDTHxHEIGHT", help="on CUDA")
    parser.add_argument("--peers", nargs="+", default=[], metavar="NAME", help="public decoders to run too, "
                        "on CUDA: what pytorch_decoder.py --decoder takes; their packages are installed")
    parser.add_argument("--steps", type=int, help="latent frames, at least 2 (default 4 on the CPU, where the clip has "
                        "16; 16 on CUDA)")
    parser.add_argument("--rounds", type=int, help="decodes of each decoder; the median counts (default 2 on the CPU; "
                        "5 on CUDA, after one that warms up)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--record", action="store_true", help="write the results as JSON")
    parser.add_argument("--output", type=Path, help="where to (default bench/results/decode_LANE.json)")
    options = parser.parse_args(arguments)
    options.steps = options.steps or (4 if options.lane == "cpu" else 16)
    options.rounds = options.rounds or ROUNDS[options.lane]
    return options


def main():
    options = parsed()
    with tempfile.TemporaryDirectory() as name:
        met, record = (compare_on_cpu if options.lane == "cpu" else compare_on_cuda)(Path(name), options)
    if options.record:
        target = options.output or ROOT / f"bench/results/decode_{options.lane}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        record = {"command": " ".join(["bench/peers/compare_pytorch.py", *sys.argv[1:]]),
                  "date": datetime.date.today().isoformat(), **record}
        target.write_text(json.dumps(record, indent=1) + "\n")
        print(f"wrote {target}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
