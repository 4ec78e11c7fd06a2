#!/usr/bin/python3
"""Decode a latents file with eager float32 PyTorch: the yardstick for kinetograph's own decoder on the CPU.

The Wan 2.1 decoder as its published implementations run it, one latent frame a step: every causal convolution keeps the
last two frames of its input, joins them in front of the new ones (cat), pads (F.pad) and convolves. Original key names;
the widths are read from the tensors' shapes. Needs Debian's python3-torch and nothing else.

    /usr/bin/python3 tools/pytorch_decoder.py assets/orbit.safetensors --weights assets/demo_vae.safetensors \\
        --steps 3 --check assets/orbit_ref.safetensors --json pytorch.json
"""
import argparse
import json
import math
import os
import struct
import sys
import time

import torch
import torch.nn.functional as F

DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def read_safetensors(path):
    """All tensors of the file as float32, and its metadata."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = bytearray(file.read())
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        flat = torch.frombuffer(data, dtype=DTYPES[entry["dtype"]], offset=entry["data_offsets"][0],
                                count=math.prod(entry["shape"]))
        tensors[name] = flat.reshape(entry["shape"]).float()
    return tensors, metadata


class Decoder:
    """Streaming state is `caches`: the last two input frames of every temporal convolution, by its name."""

    def __init__(self, weights):
        self.w = weights
        self.caches = {}
        self.step_index = 0

    def reset(self):
        self.caches.clear()
        self.step_index = 0

    def causal_conv(self, name, x):
        weight = self.w[name + ".weight"]
        q, r, s = weight.shape[2:]
        cache = self.caches.get(name) if q > 1 else None
        joined = x if cache is None else torch.cat([cache, x], dim=2)
        if q > 1:
            self.caches[name] = joined[:, :, -2:].clone()
        missing = q - 1 - (0 if cache is None else cache.shape[2])
        padded = F.pad(joined, (s // 2, s // 2, r // 2, r // 2, missing, 0))
        return F.conv3d(padded, weight, self.w[name + ".bias"])

    def norm(self, name, x):
        gamma = self.w[name + ".gamma"]
        return F.normalize(x, dim=1) * math.sqrt(x.shape[1]) * gamma.reshape(1, -1, *[1] * (x.dim() - 2))

    def res_block(self, name, x):
        shortcut = self.causal_conv(name + ".shortcut", x) if name + ".shortcut.weight" in self.w else x
        y = self.causal_conv(name + ".residual.2", F.silu(self.norm(name + ".residual.0", x)))
        y = self.causal_conv(name + ".residual.6", F.silu(self.norm(name + ".residual.3", y)))
        return y + shortcut

    def attention(self, name, x):
        b, c, t, h, w = x.shape
        frames = x.permute(0, 2, 1, 3, 4).reshape(b * t, c, h, w)
        qkv = F.conv2d(self.norm(name + ".norm", frames), self.w[name + ".to_qkv.weight"],
                       self.w[name + ".to_qkv.bias"])
        q, k, v = qkv.reshape(b * t, 3, c, h * w).permute(1, 0, 3, 2).contiguous()
        mixed = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(c), dim=-1) @ v
        mixed = mixed.permute(0, 2, 1).reshape(b * t, c, h, w)
        mixed = F.conv2d(mixed, self.w[name + ".proj.weight"], self.w[name + ".proj.bias"])
        return mixed.reshape(b, t, c, h, w).permute(0, 2, 1, 3, 4) + x

    def upsample(self, name, x):
        if name + ".time_conv.weight" in self.w and self.step_index > 0:
            b, c, t, h, w = x.shape
            y = self.causal_conv(name + ".time_conv", x).reshape(b, 2, c, t, h, w)
            x = torch.stack((y[:, 0], y[:, 1]), dim=3).reshape(b, c, 2 * t, h, w)
        b, c, t, h, w = x.shape
        frames = x.permute(0, 2, 1, 3, 4).reshape(b * t, c, h, w)
        frames = F.interpolate(frames, scale_factor=2.0, mode="nearest-exact")
        frames = F.conv2d(frames, self.w[name + ".resample.1.weight"], self.w[name + ".resample.1.bias"], padding=1)
        return frames.reshape(b, t, -1, 2 * h, 2 * w).permute(0, 2, 1, 3, 4)

    def step(self, z):
        """One latent frame [1, z_dim, 1, h, w] to frames [1, 3, 1 or 4, 8h, 8w]."""
        x = self.causal_conv("decoder.conv1", self.causal_conv("conv2", z))
        x = self.res_block("decoder.middle.0", x)
        x = self.attention("decoder.middle.1", x)
        x = self.res_block("decoder.middle.2", x)
        for i in range(15):
            name = f"decoder.upsamples.{i}"
            x = self.upsample(name, x) if i in (3, 7, 11) else self.res_block(name, x)
        x = self.causal_conv("decoder.head.2", F.silu(self.norm("decoder.head.0", x)))
        self.step_index += 1
        return x


def per_channel(metadata, key, default, channels):
    values = [float(v) for v in metadata[key].split(",")] if key in metadata else [default] * channels
    return torch.tensor(values).reshape(1, -1, 1, 1, 1)


def psnr(frames, reference):
    """In dB, for values in [-1, 1]."""
    return 10 * math.log10(4 / max(float((frames - reference).pow(2).mean()), 1e-20))


def decode(decoder, latents, steps):
    """Frames [3, T, H, W] of the first `steps` latent frames, and the seconds of each step."""
    decoder.reset()
    frames, seconds = [], []
    for t in range(steps):
        start = time.perf_counter()
        frames.append(decoder.step(latents[:, :, t:t + 1]).clamp(-1, 1)[0])
        seconds.append(time.perf_counter() - start)
    return torch.cat(frames, dim=1), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("latents", help="safetensors with `latents` [C,T,h,w] or [1,C,T,h,w], normalised")
    parser.add_argument("--weights", required=True, help="checkpoint with original key names")
    parser.add_argument("--steps", type=int, default=0, help="latent frames to decode (0: all)")
    parser.add_argument("--threads", type=int, default=0, help="threads (0: one a processor)")
    parser.add_argument("--check", help="safetensors with `frames` [3,N,H,W] and metadata frame_ids to compare with")
    parser.add_argument("--json", help="write timing and agreement there")
    options = parser.parse_args()

    torch.set_num_threads(options.threads or len(os.sched_getaffinity(0)))
    torch.set_grad_enabled(False)
    weights, metadata = read_safetensors(options.weights)
    latents = read_safetensors(options.latents)[0]["latents"]
    latents = latents if latents.dim() == 5 else latents[None]
    channels = latents.shape[1]
    latents = latents * per_channel(metadata, "latents_std", 1.0, channels) \
        + per_channel(metadata, "latents_mean", 0.0, channels)
    steps = min(options.steps or latents.shape[2], latents.shape[2])

    frames, seconds = decode(Decoder(weights), latents, steps)
    stats = {"lane": "cpu", "precision": "fp32", "program": "PyTorch " + torch.__version__ + ", eager",
             "threads": torch.get_num_threads(), "frames": frames.shape[1], "width": frames.shape[3],
             "height": frames.shape[2], "seconds_total": sum(seconds), "seconds_first_frame": seconds[0],
             "fps_steady": 4 * (steps - 1) / sum(seconds[1:]) if steps > 1 else None}
    print(f"{stats['frames']} frames of {stats['width']}x{stats['height']} in {stats['seconds_total']:.2f} s, "
          f"steady {stats['fps_steady'] or 0:.3f} frames/s, {stats['threads']} threads")

    agreed = True
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
