"""Procedural clips: rendered without data files, for training, for measuring and for the demo."""
import random

import torch
import torch.nn.functional as F

from drawing import FONT, Draw, View
from scenes import render_balls, render_blobs, render_flat, render_fractal, render_noise, render_tunnel


FAMILIES = dict(blobs=render_blobs, balls=render_balls, tunnel=render_tunnel, flat=render_flat,
                noise=render_noise, fractal=render_fractal)
# how often a training clip is of each family
MIXTURE = dict(blobs=0.28, balls=0.22, tunnel=0.18, flat=0.14, noise=0.08, fractal=0.10)


@torch.no_grad()
def render(family, seed, batch, frames, height, width, device, ss=2, fix=None, chunk=None):
    """uint8 clips [B,T,H,W,3]."""
    out = []
    chunk = chunk or (frames if device == "cuda" else 1)      # small arrays suit a CPU's caches
    for f0 in range(0, frames, chunk):
        d = Draw(batch, seed, device, fix)
        view = View(d, torch.arange(f0, min(f0 + chunk, frames)), height, width, ss)
        img = FAMILIES[family](d, view)
        img = img.expand(3, batch, view.t.shape[1], height * ss, width * ss)
        img = F.avg_pool2d(img.flatten(0, 2).unsqueeze(1), ss).view(3, batch, -1, height, width)
        out.append((img * 255 + 0.5).clamp(0, 255).to(torch.uint8).permute(1, 2, 3, 4, 0))
    return torch.cat(out, 1).contiguous()


FULL = dict(side=288, crop_u=0, crop_v=0, speed=1.0, backwards=1, t0=0)
FONT_AT = {c: i for i, c in enumerate(FONT)}
HEROES = {
    # (family, seed, pinned parameters); the seed fills in the rest
    "orbit": ("blobs", 11, dict(
        FULL, speed=0.5, cam_a=0.8, cam_w=0.70, cam_r=3.5, cam_y=1.75, look_y=0.78, focal=1.75, roll=0.0,
        k=0.32, gloss=0.9, fog=16, sun_az=2.2, sun_el=0.62, light=(1.0, 0.86, 0.66),
        horizon=(0.98, 0.70, 0.52), zenith=(0.10, 0.24, 0.58),
        floor_kind=0, floor_freq=2.6, floor_angle=0.5, floor_a=(0.80, 0.74, 0.68),
        floor_b=(0.10, 0.12, 0.17),
        w10=1.0, w20=1.4, ph0=0.0, rad0=0.95, size0=0.60, y0=0.95, pat0=1, freq0=13,
        ca0=(0.95, 0.28, 0.20), cb0=(0.98, 0.92, 0.80),
        w11=0.75, w21=1.2, ph1=1.3, rad1=0.85, size1=0.60, y1=1.15, thick1=0.28, pat1=2, freq1=11,
        ca1=(0.05, 0.62, 0.62), cb1=(0.02, 0.20, 0.32), ra1=1.2, rb1=0.9,
        w12=0.9, w22=1.1, ph2=2.6, rad2=1.15, size2=0.50, y2=0.85, pat2=4, freq2=17,
        ca2=(1.0, 0.80, 0.25), cb2=(0.75, 0.34, 0.05), ra2=0.9, rb2=0.6,
        w13=1.1, w23=1.6, ph3=3.9, rad3=1.0, size3=0.48, y3=1.05, pat3=2, freq3=12,
        ca3=(0.95, 0.95, 0.98), cb3=(0.10, 0.14, 0.45),
        w14=0.8, w24=1.3, ph4=5.2, rad4=0.75, size4=0.52, y4=1.35, thick4=0.30, pat4=3, freq4=9,
        ca4=(0.90, 0.25, 0.60), cb4=(0.35, 0.06, 0.40))),
    "tunnel": ("tunnel", 12, dict(
        FULL, speed=0.25, fly=3.2, bend=0.42, f1=0.30, f2=0.26, spin=0.10, focal=0.95, roll_w=0.30,
        square=1, around=0, length=1.25, brick=1, rare=0.70, letters=0.0, pulse=1.2, strips=1,
        murk=0.13, base=(0.06, 0.11, 0.36), accent=(0.95, 0.40, 0.06), third=(0.85, 0.16, 0.40),
        gap=(0.01, 0.01, 0.04), glow=(0.42, 0.78, 0.98))),
    # five balls in a row; the other three are put out of sight
    "bounce": ("balls", 13, dict(
        FULL, speed=0.4, cam_a=-0.30, cam_w=0.34, cam_r=5.2, cam_y=1.15, look_y=0.88, focal=2.15,
        roll=0.0, fog=14, sun_az=0.9, sun_el=0.85, light=(1.0, 0.95, 0.86),
        horizon=(0.80, 0.90, 0.98), zenith=(0.22, 0.46, 0.85), floor_kind=0, floor_freq=2.4,
        floor_angle=0.785, floor_a=(0.86, 0.86, 0.84), floor_b=(0.16, 0.20, 0.26), floor_shine=1.6,
        **{f"x{i}": x for i, x in enumerate((-2.35, -1.2, 0.0, 1.2, 2.35, 40, 44, 48))},
        **{f"z{i}": z for i, z in enumerate((-0.3, 0.3, -0.2, 0.35, -0.3, 0, 0, 0))},
        **{f"r{i}": r for i, r in enumerate((0.56, 0.50, 0.60, 0.50, 0.56, 0.1, 0.1, 0.1))},
        **{f"ph{i}": p for i, p in enumerate((0.05, 0.62, 0.30, 0.85, 0.48, 0, 0, 0))},
        **{f"per{i}": p for i, p in enumerate((1.1, 0.95, 1.2, 0.9, 1.05, 1, 1, 1))},
        **{f"hop{i}": h for i, h in enumerate((0.8, 0.6, 0.95, 0.55, 0.75, 0, 0, 0))},
        **{f"wx{i}": 0.2 for i in range(8)}, **{f"wz{i}": 0.2 for i in range(8)},
        **{f"sa{i}": v for i, v in enumerate((0.9, -1.0, 0.8, 1.1, -0.9, 0, 0, 0))},
        **{f"sb{i}": v for i, v in enumerate((0.25, 0.8, -0.2, 0.6, 0.3, 0, 0, 0))},
        **{f"pat{i}": p for i, p in enumerate((3, 1, 3, 2, 3, 0, 0, 0))},
        **{f"glyph{i}": FONT_AT[c] for i, c in enumerate("1A2B3AAA")},
        **{f"ca{i}": c for i, c in enumerate((
            (0.96, 0.94, 0.90), (0.95, 0.20, 0.18), (0.97, 0.95, 0.90), (0.98, 0.75, 0.12),
            (0.97, 0.95, 0.90), (0, 0, 0), (0, 0, 0), (0, 0, 0)))},
        **{f"cb{i}": c for i, c in enumerate((
            (0.10, 0.35, 0.75), (0.97, 0.95, 0.90), (0.85, 0.16, 0.14), (0.15, 0.15, 0.18),
            (0.08, 0.55, 0.35), (0, 0, 0), (0, 0, 0), (0, 0, 0)))})),
}
HERO_FRAMES, HERO_H, HERO_W = 61, 288, 512


def to_signed(clip):
    return clip.float() / 127.5 - 1


class Pool:
    """A ring of rendered clips, refreshed while training goes on."""

    def __init__(self, name, frames, height, width, size, per_render, first_seed, device):
        self.shape, self.size, self.per = (frames, height, width), size, per_render
        self.clips = torch.zeros(size, frames, height, width, 3, dtype=torch.uint8, device=device)
        self.filled = self.at = 0
        self.seed, self.device = first_seed, device
        self.rng = random.Random(first_seed)

    def refresh(self, family=None):
        family = family or self.rng.choices(list(MIXTURE), list(MIXTURE.values()))[0]
        self.seed += 1
        clips = render(family, self.seed, self.per, *self.shape, self.device)
        for c in clips:
            self.clips[self.at] = c
            self.at = (self.at + 1) % self.size
            self.filled = min(self.filled + 1, self.size)

    def batch(self, n, frames, height, width):
        """Random crops in space and time, mirrored and with colours swapped at random."""
        t, h, w = self.shape
        out, r = [], self.rng.randrange
        for _ in range(n):
            f, i, j = r(t - frames + 1), r(h - height + 1), r(w - width + 1)
            c = self.clips[r(self.filled), f:f + frames, i:i + height, j:j + width]
            if r(2):
                c = c.flip(2)
            out.append(c[..., PERMUTATIONS[r(6)]])
        return to_signed(torch.stack(out))


PERMUTATIONS = ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])


def make_pools(device, salt, scale=1.0):
    def size(n):
        return max(4, int(n * scale))
    return {
        "main": Pool("main", 33, 160, 192, size(1400), 2, 1_000_000 + salt, device),
        "long": Pool("long", 61, 96, 128, size(300), 2, 2_000_000 + salt, device),
        "wide": Pool("wide", 9, 288, 512, size(300), 2, 3_000_000 + salt, device),
    }


HELD_OUT_SEED = 900_000


def held_out(device, frames=17, height=192, width=192, per_family=4):
    """Clips of seeds that training never uses, by family."""
    return {k: render(k, HELD_OUT_SEED + i, per_family, frames, height, width, device)
            for i, k in enumerate(FAMILIES)}
