"""What scenes are drawn with: random parameters, the pixel grid, patterns, noise, letters, a camera, a sky and a floor.

A renderer works on a whole batch of clips at once. Scalars are [B,T,H,W] tensors (or broadcast to it), points and
colours are [3,B,T,H,W]. Images come out in [0,1].
"""
import math

import torch


class Draw:
    """Named random per-clip parameters, shaped [B,1,1,1]; `fix` pins some of them."""

    def __init__(self, batch, seed, device, fix=None):
        self.gen = torch.Generator().manual_seed(seed)
        self.batch, self.device, self.fix = batch, device, fix or {}

    def _put(self, values):
        return values.reshape(*values.shape[:-1], self.batch, 1, 1, 1).to(self.device)

    def __call__(self, name, lo, hi):
        r = torch.rand(self.batch, generator=self.gen)
        if name in self.fix:
            r = torch.full_like(r, float(self.fix[name]))
        else:
            r = lo + (hi - lo) * r
        return self._put(r)

    def log(self, name, lo, hi):
        r = self(name, math.log(lo), math.log(hi))
        return r if name in self.fix else r.exp()

    def pick(self, name, n):
        r = torch.randint(n, (self.batch,), generator=self.gen)
        if name in self.fix:
            r = torch.full_like(r, int(self.fix[name]))
        return self._put(r)

    def colour(self, name, sat=(0.15, 1.0), val=(0.25, 1.0)):
        h, s, v = torch.rand(3, self.batch, generator=self.gen)
        s = sat[0] + (sat[1] - sat[0]) * s
        v = val[0] + (val[1] - val[0]) * v
        k = torch.tensor([0.0, 2 / 3, 1 / 3])[:, None]
        rgb = v * (1 - s * (1 - (((h + k) % 1 * 6 - 3).abs() - 1).clamp(0, 1)))
        if name in self.fix:
            rgb = torch.tensor(self.fix[name])[:, None].expand(3, self.batch).contiguous()
        return self._put(rgb)


class View:
    """The pixel grid and the clock of a batch of clips, supersampled `ss` x `ss`.

    The crop shows part of a virtual 16:9 frame whose short side is `side` pixels, so that
    small training crops have the texture density of full frames.
    """

    def __init__(self, draw, frame_ids, height, width, ss):
        dev = draw.device
        side = draw.log("side", 130, 420)
        self.px = 2 / side                                   # one output pixel, in u/v units
        j = (torch.arange(width * ss, device=dev) + 0.5) / ss - width / 2
        i = height / 2 - (torch.arange(height * ss, device=dev) + 0.5) / ss
        room_u = (16 / 9 - width / side).clamp_min(0)
        room_v = (1 - height / side).clamp_min(0)
        self.u = j * self.px + draw("crop_u", -1, 1) * room_u
        self.v = i[:, None] * self.px + draw("crop_v", -1, 1) * room_v
        speed = draw.log("speed", 0.35, 1.6) * (draw.pick("backwards", 2) * 2 - 1)
        self.t = draw("t0", 0, 20) + speed * frame_ids.to(dev).view(1, -1, 1, 1) / 24
        self.ss = ss


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def unit(v):
    return v * dot(v, v).clamp_min(1e-12).rsqrt()


def mix(a, b, h):
    return a + (b - a) * h


def smooth(x, lo=0.0, hi=1.0):
    h = ((x - lo) / (hi - lo)).clamp(0, 1)
    return h * h * (3 - 2 * h)


def vec(x, y, z):
    return torch.stack(torch.broadcast_tensors(x, y, z))


def wave(phase, step):
    """A square wave in [-1,1]; `step` is the phase covered by a pixel, and softens its edges."""
    return (torch.sin(phase) * 1.3 / step.clamp_min(1e-3)).clamp(-1, 1)


def cover(dist, px):
    """Coverage of a pixel by a shape, from its signed distance."""
    return (0.5 - dist / px).clamp(0, 1)


def rotation(a, b):
    """Matrix rows of a turn by `a` about y, then by `b` about x."""
    ca, sa, cb, sb = torch.cos(a), torch.sin(a), torch.cos(b), torch.sin(b)
    zero = torch.zeros_like(ca + cb)
    return [vec(ca, zero, sa), vec(sb * sa, cb, -sb * ca), vec(-cb * sa, sb, cb * ca)]


def turn(rows, p):
    return torch.stack([dot(r, p) for r in rows])


def palette(x, base, amp, freq, shift):
    return (base + amp * torch.cos(6.2832 * (freq * x + shift))).clamp(0, 1)


# ---- lattice noise and glyphs -------------------------------------------------------

_tables = {}


def noise_table(device):
    if ("noise", device) not in _tables:
        g = torch.Generator().manual_seed(7)
        _tables["noise", device] = torch.rand(256 * 256, generator=g).to(device)
    return _tables["noise", device]


def lattice(ix, iy):
    """A repeatable random number in [0,1) for a pair of integers (as floats)."""
    return noise_table(ix.device)[(iy.long() & 255) * 256 + (ix.long() & 255)]


def noise2(x, y):
    """Value noise in [0,1]."""
    ix, iy = x.floor(), y.floor()
    fx, fy = smooth(x - ix), smooth(y - iy)
    a = mix(lattice(ix, iy), lattice(ix + 1, iy), fx)
    b = mix(lattice(ix, iy + 1), lattice(ix + 1, iy + 1), fx)
    return mix(a, b, fy)


def fbm(x, y, octaves, gain=0.5):
    total, amp, norm = 0, 1.0, 0.0
    for k in range(octaves):
        total = total + amp * noise2(x * 2.03 ** k + 17 * k, y * 2.03 ** k - 31 * k)
        norm += amp
        amp *= gain
    return total / norm


# 5x7 letters, one base-32 digit ('0'-'9','a'-'v') per row, top row first.
FONT = {
    "A": "4ahhvhh", "B": "uhhuhhu", "C": "ehggghe", "D": "uhhhhhu", "E": "vggugg" "v",
    "F": "vggugg" "g", "G": "ehgnhhf", "H": "hhhvhhh", "I": "e44444e", "J": "72222ic",
    "K": "hikokih", "L": "ggggggv", "M": "hrllhhh", "N": "hhpljhh", "O": "ehhhhhe",
    "P": "uhhuggg", "Q": "ehhhlid", "R": "uhhukih", "S": "fgge11u", "T": "v444444",
    "U": "hhhhhhe", "V": "hhhhha4", "W": "hhhllra", "X": "hha4ahh", "Y": "hha4444",
    "Z": "v1248gv", "0": "ehjlphe", "1": "4c4444e", "2": "eh1248v", "3": "v24" "21he",
    "4": "26aiv22", "5": "vgu11he", "6": "68guhhe", "7": "v124888", "8": "ehhehhe",
    "9": "ehhf12c", "+": "044v440", "*": "0l eel0".replace(" ", "e"), "?": "eh1244" "4",
    "&": "cikclid", "#": "aavavaa", "@": "eh1dlle",
}


def glyph_atlas(device):
    """[G*8*6] floats: every letter in a cell of 8 rows and 6 columns."""
    if ("font", device) not in _tables:
        atlas = torch.zeros(len(FONT), 8, 6)
        for g, rows in enumerate(FONT.values()):
            for r, digit in enumerate(rows[:7]):
                bits = int(digit, 32)
                for c in range(5):
                    atlas[g, r, c] = bits >> (4 - c) & 1
        _tables["font", device] = atlas.flatten().to(device)
    return _tables["font", device]


def glyph(which, x, y, step):
    """Ink in [0,1] of letter number `which` at (x,y) in [0,1]^2 of its cell, y downwards.

    `step` is the size of a pixel in cell units; letters are smoothed bitmaps.
    """
    atlas = glyph_atlas(x.device)
    cx, cy = (x * 6 - 0.5).clamp_max(5), (y * 8 - 0.5).clamp_max(7)   # the last ones are blank
    ix, iy = cx.floor(), cy.floor()
    fx, fy = cx - ix, cy - iy
    base = which * 48

    def tap(dx, dy):
        return atlas[base + (iy.long() + dy) % 8 * 6 + (ix.long() + dx) % 6]

    ink = mix(mix(tap(0, 0), tap(1, 0), fx), mix(tap(0, 1), tap(1, 1), fx), fy)
    return ((ink - 0.45) / (step * 5).clamp_min(0.15) + 0.5).clamp(0, 1)


def text(x, y, salt, step):
    """Endless rows of random letters; one cell per unit of x and y."""
    ix, iy = x.floor(), y.floor()
    which = (lattice(ix + salt * 13, iy - salt * 7) * (len(FONT) * 1.2)).long()
    ink = glyph(which.clamp_max(len(FONT) - 1), x - ix, y - iy, step)
    return ink * (which < len(FONT))                       # some cells stay blank


# ---- shared pieces of the ray-traced scenes ------------------------------------------


def camera(view, eye, target, focal, roll):
    """Ray directions of a pinhole camera."""
    fwd = unit(target - eye)
    side = unit(vec(-fwd[2], torch.zeros_like(fwd[2]), fwd[0]))
    up = torch.stack([side[1] * fwd[2] - side[2] * fwd[1],
                      side[2] * fwd[0] - side[0] * fwd[2],
                      side[0] * fwd[1] - side[1] * fwd[0]])
    c, s = torch.cos(roll), torch.sin(roll)
    u, v = c * view.u - s * view.v, s * view.u + c * view.v
    return unit(fwd * focal + side * u + up * v)


class Sky:
    def __init__(self, d):
        self.horizon = d.colour("horizon", (0.05, 0.6), (0.55, 1.0))
        self.zenith = d.colour("zenith", (0.2, 0.9), (0.1, 0.8))
        az, el = d("sun_az", 0, 6.28), d("sun_el", 0.35, 1.2)
        self.sun = vec(torch.cos(az) * torch.cos(el), torch.sin(el),
                       torch.sin(az) * torch.cos(el))
        self.light = d.colour("light", (0.0, 0.3), (0.9, 1.0))

    def __call__(self, rd):
        c = mix(self.horizon, self.zenith, rd[1].clamp(0, 1) ** 0.6)
        glow = dot(rd, self.sun).clamp(0, 1)
        return c + self.light * (0.25 * glow ** 8 + 0.7 * glow ** 400)


class Floor:
    """The ground plane y = 0 and its pattern."""

    def __init__(self, d):
        self.a = d.colour("floor_a", (0.0, 0.7), (0.3, 0.9))
        self.b = d.colour("floor_b", (0.0, 0.7), (0.05, 0.6))
        self.kind = d.pick("floor_kind", 5)
        self.freq = d.log("floor_freq", 1.5, 7)
        self.salt = d.pick("floor_salt", 97)
        self.angle = d("floor_angle", 0, 3.14)

    def albedo(self, p, step):
        c, s = torch.cos(self.angle), torch.sin(self.angle)
        x, z = c * p[0] - s * p[2], s * p[0] + c * p[2]
        f, st = self.freq, step * self.freq
        checker = wave(x * f, st) * wave(z * f, st)
        stripes = wave(x * f * 1.5, st * 1.5)
        grid = 1 - 2 * torch.maximum(cover((x * f / 2 % 1 - 0.5).abs() - 0.04, st / 2),
                                     cover((z * f / 2 % 1 - 0.5).abs() - 0.04, st / 2))
        grain = fbm(x * f * 2, z * f * 2, 4) * 2 - 1
        grain = grain / (1 + 2 * st)
        letters = 2 * text(x * f / 2, z * f / 2, self.salt, st / 2) - 1
        letters = mix(letters, letters * 0, smooth(st, 0.2, 0.8))
        k = self.kind
        m = checker * (k == 0) + stripes * (k == 1) + grid * (k == 2) + grain * (k == 3) \
            + letters * (k == 4)
        return mix(self.b, self.a, 0.5 + 0.5 * m)


def tonemap(c):
    """A filmic curve: deep shadows, highlights that roll off."""
    c = c.clamp_min(0) * 1.1
    return (c * (2.51 * c + 0.05) / (c * (2.43 * c + 0.59) + 0.13)).clamp(0, 1)
