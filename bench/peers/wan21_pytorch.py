"""The Wan 2.1 decoder in eager PyTorch, as its published implementations run it, for comparison with kinetograph.

One latent frame a step: every causal convolution keeps the last two frames of its input, puts them before the new
ones (cat), pads (F.pad) and convolves. Original key names; the widths are read from the tensors' shapes. Runs with
torch 1.13 or newer on any device, at any precision, on weights from a file or synthetic ones.
"""
import math

import torch
import torch.nn.functional as F

PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def wrapped(value):
    """A 64-bit unsigned integer as the signed one with the same bits, which torch computes with."""
    return value - (1 << 64) if value >= 1 << 63 else value


def shifted(z, bits):
    """z >> bits as if z were unsigned."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def synthetic_tensor(name, shape, device="cpu"):
    """The same float32 values, bit for bit, as compute/vae/synthetic.cpp makes from name, kind and flat index."""
    hashed = 0xCBF29CE484222325
    for byte in name.encode():
        hashed = ((hashed ^ byte) * 0x100000001B3) % (1 << 64)
    z = torch.arange(math.prod(shape), dtype=torch.int64, device=device) * wrapped(0x9E3779B97F4A7C15) + wrapped(hashed)
    z = (z ^ shifted(z, 30)) * wrapped(0xBF58476D1CE4E5B9)
    z = (z ^ shifted(z, 27)) * wrapped(0x94D049BB133111EB)
    z = z ^ shifted(z, 31)
    u = shifted(z, 40).float() * 2.0 ** -23 - 1.0
    kind = name.rsplit(".", 1)[-1]
    if kind == "weight" and len(shape) == 1:
        kind = "gamma"  # a norm's
    scale = {"weight": math.sqrt(3.0 / math.prod(shape[1:])), "bias": 0.1, "gamma": 0.1, "latents": 1.7}[kind]
    values = u * torch.tensor(scale, dtype=torch.float32, device=device)
    return (values + 1.0 if kind == "gamma" else values).reshape(shape)


PUBLISHED = {"wan2.1": (96, 16), "wan2.2": (256, 48)}  # width and latent channels


def decoder_shapes(dim=96, z_dim=16, family="wan2.1"):
    """Name and shape of every parameter of the decoder."""
    shapes = {}
    nested = family == "wan2.2"

    def conv(name, c_in, c_out, *taps):
        shapes[name + ".weight"], shapes[name + ".bias"] = (c_out, c_in, *taps), (c_out,)

    def residual(name, c_in, c_out):
        for norm, taps, a in ((0, 2, c_in), (3, 6, c_out)):
            shapes[f"{name}.residual.{norm}.gamma"] = (a, 1, 1, 1)
            conv(f"{name}.residual.{taps}", a, c_out, 3, 3, 3)
        if c_in != c_out:
            conv(name + ".shortcut", c_in, c_out, 1, 1, 1)

    top = 4 * dim
    conv("conv2", z_dim, z_dim, 1, 1, 1)
    conv("decoder.conv1", z_dim, top, 3, 3, 3)
    for i in (0, 2):
        residual(f"decoder.middle.{i}", top, top)
    shapes["decoder.middle.1.norm.gamma"] = (top, 1, 1)
    conv("decoder.middle.1.to_qkv", top, 3 * top, 1, 1)
    conv("decoder.middle.1.proj", top, top, 1, 1)
    c_in = top
    for stage, width in enumerate((4 * dim, 4 * dim, 2 * dim, dim)):
        def member(j):
            return f"decoder.upsamples.{stage}.upsamples.{j}" if nested else f"decoder.upsamples.{4 * stage + j}"
        for j in range(3):
            residual(member(j), c_in, width)
            c_in = width
        if stage < 3:
            c_in = width if nested else width // 2
            conv(member(3) + ".resample.1", width, c_in, 3, 3)
            if stage < 2:
                conv(member(3) + ".time_conv", width, 2 * width, 3, 1, 1)
    shapes["decoder.head.0.gamma"] = (dim, 1, 1, 1)
    conv("decoder.head.2", dim, 12 if nested else 3, 3, 3, 3)
    return shapes


def synthetic_weights(spec, device="cpu"):
    """Parameters of `synthetic:FAMILY[,dim=N]`, wan2.1 or wan2.2."""
    family, _, options = spec.removeprefix("synthetic:").partition(",")
    if not spec.startswith("synthetic:") or family not in PUBLISHED or (options and not options.startswith("dim=")):
        raise ValueError(f"{spec} is not synthetic:FAMILY[,dim=N] of {' or '.join(PUBLISHED)}")
    dim, z_dim = PUBLISHED[family]
    shapes = decoder_shapes(int(options[4:] or dim), z_dim, family)
    return {name: synthetic_tensor(name, shape, device) for name, shape in shapes.items()}


def in_format(tensor, channels_last):
    """Convolution weights and activations with the channel as the innermost axis, if that is wanted."""
    if not channels_last or tensor.dim() not in (4, 5):
        return tensor.contiguous()
    return tensor.contiguous(memory_format=torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d)


class Decoder:
    """Streaming state is `caches`: the last two input frames of every temporal convolution, by its name.

    Every convolution that a step runs is noted in `convolutions`: (weight's shape, output's frames, height, width).
    """

    def __init__(self, weights, device="cpu", dtype=torch.float32, channels_last=False):
        def is_filter(name):
            return name.endswith(".weight")
        self.w = {name: in_format(w.to(device, dtype), channels_last and is_filter(name))
                  for name, w in weights.items()}
        self.channels_last = channels_last
        self.reset()

    def reset(self):
        self.caches = {}
        self.step_index = 0
        self.convolutions = []

    def note(self, name, y):
        frames = y.shape[2] if y.dim() == 5 else y.shape[0]
        self.convolutions.append((tuple(self.w[name + ".weight"].shape), frames, *y.shape[-2:]))
        return y

    def causal_conv(self, name, x):
        """Keeps a copy of frames of `x`, as published. A copy of the joined frames, whose memory format may differ,
        would make the decoder 6 % slower on an H200 than the published one."""
        weight = self.w[name + ".weight"]
        q, r, s = weight.shape[2:]
        kept = 0
        if q > 1:
            cache, newest = self.caches.get(name), x[:, :, -2:].clone()
            if cache is not None:
                kept = cache.shape[2]
                x = torch.cat([cache, x], dim=2)
                if newest.shape[2] < 2:
                    newest = torch.cat([cache[:, :, -1:], newest], dim=2)
            self.caches[name] = newest
        x = F.pad(x, (s // 2, s // 2, r // 2, r // 2, q - 1 - kept, 0))
        return self.note(name, F.conv3d(x, weight, self.w[name + ".bias"]))

    def conv2d(self, name, x, padding=0):
        return self.note(name, F.conv2d(x, self.w[name + ".weight"], self.w[name + ".bias"], padding=padding))

    def norm(self, name, x):
        """The published norm adds a bias, which this decoder lacks; hence the addition of 0."""
        gamma = self.w[name + ".gamma"]
        return F.normalize(x, dim=1) * math.sqrt(x.shape[1]) * gamma.reshape(1, -1, *[1] * (x.dim() - 2)) + 0.0

    def res_block(self, name, x):
        shortcut = self.causal_conv(name + ".shortcut", x) if name + ".shortcut.weight" in self.w else x
        y = self.causal_conv(name + ".residual.2", F.silu(self.norm(name + ".residual.0", x)))
        y = self.causal_conv(name + ".residual.6", F.silu(self.norm(name + ".residual.3", y)))
        return y + shortcut

    def attention(self, name, x):
        b, c, t, h, w = x.shape
        frames = x.permute(0, 2, 1, 3, 4).reshape(b * t, c, h, w)
        qkv = self.conv2d(name + ".to_qkv", self.norm(name + ".norm", frames))
        q, k, v = qkv.reshape(b * t, 1, 3 * c, h * w).permute(0, 1, 3, 2).contiguous().chunk(3, dim=-1)
        if hasattr(F, "scaled_dot_product_attention"):
            mixed = F.scaled_dot_product_attention(q, k, v)
        else:
            mixed = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(c), dim=-1) @ v
        mixed = mixed.squeeze(1).permute(0, 2, 1).reshape(b * t, c, h, w)
        mixed = self.conv2d(name + ".proj", mixed)
        return mixed.reshape(b, t, c, h, w).permute(0, 2, 1, 3, 4) + x

    def upsample(self, name, x):
        if name + ".time_conv.weight" in self.w and self.step_index > 0:
            b, c, t, h, w = x.shape
            y = self.causal_conv(name + ".time_conv", x).reshape(b, 2, c, t, h, w)
            x = torch.stack((y[:, 0], y[:, 1]), dim=3).reshape(b, c, 2 * t, h, w)
        b, c, t, h, w = x.shape
        frames = x.permute(0, 2, 1, 3, 4).reshape(b * t, c, h, w)
        frames = F.interpolate(frames.float(), scale_factor=2.0, mode="nearest-exact").type_as(frames)
        frames = self.conv2d(name + ".resample.1", frames, padding=1)
        return frames.reshape(b, t, -1, 2 * h, 2 * w).permute(0, 2, 1, 3, 4)

    def step(self, z):
        """One latent frame [1, z_dim, 1, h, w] to frames [1, 3, 1 or 4, 8h, 8w]."""
        self.convolutions.clear()
        x = self.causal_conv("decoder.conv1", self.causal_conv("conv2", in_format(z, self.channels_last)))
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
