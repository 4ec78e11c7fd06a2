#!/usr/bin/python3
"""Times one public decoder on a GPU and prints a line of JSON for every size as soon as it is measured.

    python3 bench/peers/peer_rates.py wan2.2 diffusers --precision bf16 --sizes 832x480

compare_families.py runs it and reads the lines: what was printed counts, whatever becomes of the rest. Synthetic
latents and weights; a clip is timed between CUDA events, once with either of cuDNN's two ways to choose algorithms,
after a decode that does not count. Frames stay on the device, as in the published implementations.
"""
import argparse
import json
import statistics

import torch

from peer_decoders import TAEHV_PEERS, TAEHV_SHAPES, decoder_of, taehv_decoder_of, version_of
from pytorch_decoder import about_device, decode_whole, size_of
from tensor_files import read_safetensors, write_safetensors
from wan21_pytorch import PRECISIONS, synthetic_tensor, synthetic_weights


def decoder(options, precision):
    dtype = PRECISIONS[precision]
    if options.peer in TAEHV_PEERS:
        return taehv_decoder_of(options.peer, options.family.split(",")[0], options.device, dtype)
    family, comma, dim = options.family.partition(",")
    spec, kind = ("wan2.1", "AutoencoderKLQwenImage") if family == "qwen-image" else (family, "AutoencoderKLWan")
    weights = synthetic_weights(f"synthetic:{spec}{comma}{dim}", options.device)
    return decoder_of(options.peer, weights, options.device, dtype, kind)


def latents_of(options, size):
    channels, patch = TAEHV_SHAPES.get(options.family, (48, 2) if options.family.startswith("wan2.2") else (16, 1))
    side = 8 * patch
    return synthetic_tensor("latents", (channels, options.steps, size[1] // side, size[0] // side),
                            options.device)[None]


def pictures(options):
    """Writes the clip's frames, in fp32 and in the precision that is timed."""
    clip = read_safetensors(options.clip)[0]["latents"].to(options.device)[None]
    for precision, path in (("fp32", options.reference), (options.precision, options.frames)):
        if path:
            frames = decoder(options, precision)(clip.to(PRECISIONS[precision])).float()
            write_safetensors(path, {"frames": frames}, {"fps": "24"})


def rate(decode, latents, rounds):
    decode_whole(decode, latents)
    torch.cuda.reset_peak_memory_stats()
    counted = [decode_whole(decode, latents) for _ in range(rounds)]
    frames = counted[0][0].shape[1]
    clip = statistics.median(seconds for _, _, seconds in counted)
    return {"frames": frames, "fps_clip": frames / clip, "seconds_clip": [seconds for _, _, seconds in counted],
            "seconds_first_frame": statistics.median(first[0] for _, first, _ in counted),
            "peak_device_bytes": torch.cuda.max_memory_allocated(),
            "peak_device_bytes_reserved": torch.cuda.max_memory_reserved(), **about_device("cuda")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", help="its synthetic weights: wan2.2, wan2.1,dim=24, taew2.1 ...")
    parser.add_argument("peer")
    parser.add_argument("--precision", choices=PRECISIONS, default="bf16")
    parser.add_argument("--sizes", nargs="*", type=size_of, default=[], metavar="WIDTHxHEIGHT")
    parser.add_argument("--steps", type=int, default=16, help="latent frames")
    parser.add_argument("--rounds", type=int, default=5,
                        help="decodes that count, after one that warms up; the median is the rate")
    parser.add_argument("--clip", help="safetensors with `latents` [C,T,h,w]: its frames are written to the next two")
    parser.add_argument("--reference", help="frames in fp32")
    parser.add_argument("--frames", help="frames in --precision")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda", help="cpu only for frames")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    torch.backends.cudnn.allow_tf32 = False  # fp32 means fp32
    if options.clip:
        pictures(options)
    decode = decoder(options, options.precision) if options.sizes else None
    for size in options.sizes:
        latents = latents_of(options, size).to(PRECISIONS[options.precision])
        for benchmark in (False, True):
            torch.backends.cudnn.benchmark = benchmark
            measured = rate(decode, latents, options.rounds)
            print(json.dumps({"size": f"{size[0]}x{size[1]}", "program": f"PyTorch {torch.__version__}, "
                              f"{version_of(options.peer)}", "precision": options.precision, **measured}), flush=True)


if __name__ == "__main__":
    main()
