#!/usr/bin/python3
"""Decode a clip with PyTorch and time it, on the CPU or a GPU, for comparison with kinetograph.

    /usr/bin/python3 bench/peers/pytorch_decoder.py assets/orbit.safetensors --weights assets/demo_vae.safetensors \\
        --steps 3 --check assets/orbit_ref.safetensors --json pytorch.json
    python3 bench/peers/pytorch_decoder.py --size 1280x704 --steps 16 --weights synthetic:wan2.1 --device cuda \\
        --precision bf16 --channels-last --repeats 3 --json pytorch.json

--decoder names the implementation: `eager` executes the published one's operations one by one; the others are the
public decoders of peer_decoders.py, which take whole clips. On a GPU times are those between CUDA events; the clip's
rate counts every frame and the time from the first step's begin to the last one's end. Frames stay on the device, as
in the published implementations.
"""
import argparse
import functools
import json
import os
import statistics
import sys
import time

import torch

from peer_decoders import PEERS, decoder_of, is_wan22, version_of
from tensor_files import read_safetensors, write_safetensors
from wan21_pytorch import PRECISIONS, Decoder, per_channel, psnr, synthetic_tensor, synthetic_weights


def decode_whole(decode_clip, latents):
    """Frames [3, T, H, W] of a decoder of whole clips; seconds of a one-latent-frame clip (a list), and of this one."""
    on_gpu = latents.is_cuda
    seconds = []
    for clip in (latents[:, :, :1].contiguous(), latents):
        if on_gpu:
            torch.cuda.synchronize()
        begin = mark(on_gpu)
        frames = decode_clip(clip)
        end = mark(on_gpu)
        if on_gpu:
            torch.cuda.synchronize()
        seconds.append(between(begin, end))
    return frames, seconds[:1], seconds[1]


def decode(decoder, latents):
    """Frames [3, T, H, W] of the latent frames, and the seconds of each step and of the clip."""
    decoder.reset()
    on_gpu, steps = latents.is_cuda, latents.shape[2]
    if on_gpu:
        torch.cuda.synchronize()
    frames, marks = [], [mark(on_gpu)]
    for t in range(steps):
        frames.append(decoder.step(latents[:, :, t:t + 1])[0])
        marks.append(mark(on_gpu))
    frames = torch.cat(frames, dim=1).clamp_(-1, 1)
    marks.append(mark(on_gpu))
    if on_gpu:
        torch.cuda.synchronize()
    seconds = [between(a, b) for a, b in zip(marks, marks[1:-1])]
    return frames, seconds, between(marks[0], marks[-1])


def mark(on_gpu):
    if not on_gpu:
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def between(begin, end):
    return end - begin if isinstance(begin, float) else begin.elapsed_time(end) / 1e3


def size_of(text):
    width, height = (int(side) for side in text.split("x"))
    if width % 8 or height % 8 or min(width, height) < 8:  # Wan 2.2: 16
        raise ValueError(text)
    return width, height


def about_device(device):
    if device == "cpu":
        return {"device": "cpu", "threads": torch.get_num_threads()}
    properties = torch.cuda.get_device_properties(0)
    return {"device": properties.name, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
            "cudnn_benchmark": torch.backends.cudnn.benchmark}


def load(options):
    """Weights, and latents [1, C, T, h, w] at the decoder's scale."""
    if options.weights.startswith("synthetic:"):
        weights, metadata = synthetic_weights(options.weights, options.device), {}
    else:
        weights, metadata = read_safetensors(options.weights)
    if options.size:
        width, height = options.size
        side = 16 if is_wan22(weights) else 8
        latents = synthetic_tensor("latents", (weights["conv2.weight"].shape[0], options.steps, height // side,
                                               width // side), options.device)
    else:
        latents = read_safetensors(options.latents)[0]["latents"].to(options.device)
    latents = latents if latents.dim() == 5 else latents[None]
    channels = latents.shape[1]
    latents = latents * per_channel(metadata, "latents_std", 1.0, channels).to(options.device) \
        + per_channel(metadata, "latents_mean", 0.0, channels).to(options.device)
    return weights, latents


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("latents", nargs="?", help="safetensors with `latents` [C,T,h,w] or [1,C,T,h,w], normalised")
    parser.add_argument("--size", type=size_of, metavar="WIDTHxHEIGHT", help="synthetic latents instead of a file")
    parser.add_argument("--weights", required=True, help="original key names, or synthetic:FAMILY[,dim=N] of wan2.1 or "
                        "wan2.2, which needs another decoder than eager")
    parser.add_argument("--steps", type=int, default=0, help="latent frames to decode (0: the whole file)")
    parser.add_argument("--repeats", type=int, default=0, help="decodes that count, after one that does not")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--decoder", choices=("eager", *PEERS), default="eager", help="whose code decodes")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument("--channels-last", action="store_true", help="weights in channels_last(_3d) memory format")
    parser.add_argument("--cudnn-benchmark", action="store_true", help="let cuDNN try its algorithms at first")
    parser.add_argument("--threads", type=int, default=0, help="threads (0: one a processor)")
    parser.add_argument("--check", help="safetensors with `frames` [3,N,H,W] and metadata frame_ids to compare with")
    parser.add_argument("--output", help="write the frames there: safetensors, `frames` F32 [3,T,H,W]")
    parser.add_argument("--json", help="write timing and agreement there")
    options = parser.parse_args()
    if bool(options.latents) == bool(options.size):
        parser.error("give either a latents file or --size")
    if options.size and options.steps < 1:
        parser.error("--size needs --steps")
    return options


def main():
    options = parse()
    torch.set_num_threads(options.threads or len(os.sched_getaffinity(0)))
    torch.set_grad_enabled(False)
    torch.backends.cudnn.benchmark = options.cudnn_benchmark
    torch.backends.cudnn.allow_tf32 = False  # fp32 means fp32
    weights, latents = load(options)
    dtype, eager = PRECISIONS[options.precision], options.decoder == "eager"
    latents = latents[:, :, :options.steps or None].to(dtype)
    if eager:
        run = functools.partial(decode, Decoder(weights, options.device, dtype, options.channels_last))
    else:
        run = functools.partial(decode_whole, decoder_of(options.decoder, weights, options.device, dtype))
    del weights

    rounds = []
    for i in range(1 + options.repeats):
        if options.device == "cuda" and i == min(1, options.repeats):
            torch.cuda.reset_peak_memory_stats()
        frames, seconds, clip = run(latents)
        rounds.append((clip, seconds))
    first_decode = rounds[0][0]
    counted = rounds[1:] or rounds
    clip = statistics.median(clip for clip, _ in counted)
    steady = [step for _, seconds in counted for step in seconds[1:]]

    stats = {"lane": options.device, "precision": options.precision,
             "program": f"PyTorch {torch.__version__}, {'eager' if eager else version_of(options.decoder)}",
             "command": " ".join(sys.argv), **about_device(options.device), "weights": options.weights,
             "memory_format": "the decoder's" if not eager else "channels_last_3d" if options.channels_last else
             "contiguous",
             "frames": frames.shape[1], "width": frames.shape[3], "height": frames.shape[2], "repeats": len(counted),
             "seconds_first_decode": first_decode, "seconds_total": clip,
             "seconds_total_all": [clip for clip, _ in counted],
             "seconds_first_frame": statistics.median(seconds[0] for _, seconds in counted),
             "seconds_per_step": statistics.median(steady) if steady else None, "fps_clip": frames.shape[1] / clip,
             "fps_steady": 4 * len(steady) / sum(steady) if steady else None}
    if options.device == "cuda":
        stats["peak_device_bytes"] = torch.cuda.max_memory_allocated()
        stats["peak_device_bytes_reserved"] = torch.cuda.max_memory_reserved()
    print(f"{stats['frames']} frames of {stats['width']}x{stats['height']} in {clip:.3f} s: {stats['fps_clip']:.3f} "
          f"frames/s, steady {stats['fps_steady'] or 0:.3f}; {stats['device']}, {options.precision}, "
          f"{stats['memory_format']}, median of {len(counted)}"
          + (f"; peak {stats['peak_device_bytes'] / 2**30:.2f} GiB" if options.device == "cuda" else
             f"; {stats['threads']} threads"))

    agreed = True
    frames = frames.float().cpu()
    if options.output:
        write_safetensors(options.output, {"frames": frames.float()}, {"fps": "24"})
    if options.check:
        reference, about = read_safetensors(options.check)
        ids = [int(i) for i in about["frame_ids"].split(",") if int(i) < frames.shape[1]]
        stats["psnr_db"] = {i: psnr(frames[:, i], reference["frames"][:, n]) for n, i in enumerate(ids)}
        agreed = bool(ids) and all(value >= 60 for value in stats["psnr_db"].values())
        for i, value in stats["psnr_db"].items():
            print(f"frame {i}: {value:.1f} dB against {options.check}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(stats, file, indent=1)
            file.write("\n")
    if not agreed:
        print("error: frames differ from the reference (less than 60 dB)", file=sys.stderr)
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
