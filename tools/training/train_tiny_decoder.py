#!/usr/bin/env python3
"""Train the tiny decoder of the demo clips: a TAEHV of width 32 that imitates assets/demo_vae.safetensors.

    python3 tools/training/train_tiny_decoder.py --seconds 120 --out assets/demo_tiny.safetensors  # on a GPU
    python3 tools/training/train_tiny_decoder.py --check assets/demo_tiny.safetensors --device cpu  # PSNR on the clips

It learns from what the large decoder makes of the clips' latents: as they are, mirrored, backwards, and mixed as
samples/live_latents does. Frames in [0, 1], latents normalised, as taew2.1 takes them.
"""
import argparse
import copy
import json
import math
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from losses import edges
from tiny_model import Tiny
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench/peers"))
from tensor_files import read_safetensors, write_safetensors  # noqa: E402
from wan21_pytorch import Decoder, per_channel, psnr  # noqa: E402

ASSETS = ROOT / "assets"
CLIPS = ("orbit", "tunnel", "bounce")
WIDTH, WINDOW, CROP, BATCH = 32, 8, (12, 16), 6  # channels; latent frames and latent pixels of a sample; samples
WARM_UP = 3  # latent frames at the start of a window from a clip's middle, which lack the memory of those before


def read_clips(device):
    return [read_safetensors(ASSETS / f"{clip}.safetensors")[0]["latents"].to(device) for clip in CLIPS]


class Teacher:
    def __init__(self, device, dtype):
        weights, metadata = read_safetensors(ASSETS / "demo_vae.safetensors")
        self.decoder = Decoder(weights, device, dtype)
        self.std = per_channel(metadata, "latents_std", 1.0, 16).to(device)
        self.mean = per_channel(metadata, "latents_mean", 0.0, 16).to(device)
        self.dtype = dtype

    @torch.no_grad()
    def __call__(self, latents):
        """[16, T, h, w] to frames [4 T - 3, 3, 8 h, 8 w] in [0, 1]."""
        z = (latents[None] * self.std + self.mean).to(self.dtype)
        self.decoder.reset()
        frames = torch.cat([self.decoder.step(z[:, :, t:t + 1])[0] for t in range(z.shape[2])], 1)
        return (frames.clamp(-1, 1) * 0.5 + 0.5).transpose(0, 1).half()


def variants(clips):
    """Latents that the teacher decodes: every clip in eight views, and mixtures."""
    for clip in clips:
        for view in (clip, clip.flip(3), clip.flip(2), clip.flip(2, 3)):
            yield view
            yield view.flip(1)
    generator = torch.Generator().manual_seed(1)
    for _ in range(24):
        phase = torch.rand(3, 1,
                           generator=generator) * 6.3 + torch.arange(16) * (0.1 + 0.3
                                                                            * torch.rand(3, 1, generator=generator))
        weights = torch.softmax(3 * torch.sin(phase), 0).to(clips[0].device)
        views = [clip.roll(int(torch.randint(16, (1,), generator=generator)), 1) for clip in clips]
        yield sum(view * weight[None, :, None, None] for view, weight in zip(views, weights))


def sample(data, generator):
    """A batch: latents [BATCH * WINDOW, 16, h, w], frames [BATCH, 4 WINDOW, 3, 8 h, 8 w], weight of each frame."""
    h, w = CROP
    latents, frames, weights = [], [], []

    def draw(most):
        return int(torch.randint(most, (1,), generator=generator))
    for _ in range(BATCH):
        z, video = data[draw(len(data))]
        first = draw(z.shape[1] - WINDOW + 1) if draw(2) else 0
        y, x = draw(z.shape[2] - h + 1), draw(z.shape[3] - w + 1)
        latents.append(z[:, first:first + WINDOW, y:y + h, x:x + w].transpose(0, 1))
        begin = 4 * first - 3  # frame 0 is the last of the first latent's four
        picture = video[max(begin, 0):begin + 4 * WINDOW, :, 8 * y:8 * (y + h), 8 * x:8 * (x + w)]
        frames.append(F.pad(picture, (0, 0) * 3 + (max(-begin, 0), 0)))
        weight = torch.ones(4 * WINDOW)
        weight[:3 if first == 0 else 4 * WARM_UP] = 0
        weights.append(weight)
    return torch.cat(latents), torch.stack(frames), torch.stack(weights)


@torch.no_grad()
def whole_clip(model, latents):
    frames = torch.cat(list(model(latents.transpose(0, 1), 1).split(8)))[3:]
    return frames.clamp(0, 1)


def report(model, clips, targets):
    values = {}
    for name, latents, target in zip(CLIPS, clips, targets):
        values[name] = round(psnr(whole_clip(model, latents).float() * 2, target.float() * 2), 2)
    print("PSNR against the large decoder, dB:", values, flush=True)
    return values


def train(options):
    device = options.device
    on_gpu = device == "cuda"
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    begin = time.time()
    clips = read_clips(device)
    teacher = Teacher(device, torch.float16 if on_gpu else torch.float32)
    every = list(variants(clips))[:options.variants or None]
    data = [(z, teacher(z)) for z in every]
    print(f"{len(data)} clips decoded after {time.time() - begin:.1f} s", flush=True)
    model = Tiny(WIDTH).to(device, memory_format=torch.channels_last)
    nn.init.constant_(model.decoder[-1].bias, 0.5)
    smooth = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=1e-4, betas=(0.9, 0.98))
    generator = torch.Generator().manual_seed(2)
    step, last = 0, begin
    while True:
        now = time.time()
        progress = (now - begin) / options.seconds
        if progress >= 1:
            break
        rate = options.rate * min(1, (step + 1) / 200) * max(0.01, math.cos(progress * math.pi / 2) ** 2)
        for group in optimizer.param_groups:
            group["lr"] = rate
        latents, frames, weights = (part.to(device) for part in sample(data, generator))
        with torch.autocast(device, dtype=torch.bfloat16):
            made = model(latents.contiguous(memory_format=torch.channels_last), BATCH)
        error = (made.float().unflatten(0, (BATCH, -1)) - frames) * weights[..., None, None, None]
        loss = error.abs().mean() + 4 * error.square().mean() + 0.5 * edges(error, -2, -1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        decay = min(0.998, step / (step + 50))
        with torch.no_grad():
            torch._foreach_lerp_(list(smooth.parameters()), list(model.parameters()), 1 - decay)
        step += 1
        if now - last > 10:
            last = now
            print(f"step {step}, {now - begin:.0f} s, loss {loss.item():.5f}", flush=True)
    tensors = {name: value.bfloat16() for name, value in smooth.state_dict().items()}
    smooth.load_state_dict(tensors)
    values = report(smooth.float(), clips, [video for _, video in data[:8 * len(clips):8]] if len(data) > 16 else
                    [teacher(z) for z in clips])
    write_safetensors(options.out, tensors, {"format": "pt", "arch": "taew2.1", "dim": str(WIDTH), "steps": str(step),
                                             "psnr_db": json.dumps(values)})


def check(options):
    tensors, _ = read_safetensors(options.check)
    model = Tiny(WIDTH)
    model.load_state_dict(tensors)
    clips = read_clips(options.device)
    teacher = Teacher(options.device, torch.float32)
    report(model.to(options.device), clips, [teacher(z) for z in clips])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="of training, the teacher's work included")
    parser.add_argument("--out", default="demo_tiny.safetensors")
    parser.add_argument("--rate", type=float, default=2e-3, help="of learning, at its highest")
    parser.add_argument("--variants", type=int, default=0, help="how many views to learn from (0: all)")
    parser.add_argument("--check", metavar="FILE", help="only measure this decoder")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    check(options) if options.check else train(options)


if __name__ == "__main__":
    main()
