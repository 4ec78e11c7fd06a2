#!/usr/bin/env python3
"""Writes tests/golden/data/taehv_small.safetensors: members of the TAEHV family, of small width.

    python3 tests/golden/make_taehv_golden.py tests/golden/data/taehv_small.safetensors

An independent implementation in PyTorch (float32, CPU) of what madebyollin/taehv and ModelTC/LightX2V publish, which
decodes one frame after the other. Parameters and latents are generated from names, as tests/golden/README.md says; the
tensor of a member's frames has the name of its family.
"""
import pathlib
import sys
import typing

import torch
import torch.nn.functional as F

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench/peers"))
from tensor_files import write_safetensors  # noqa: E402
from wan21_pytorch import synthetic_tensor  # noqa: E402

DIM = 8
LATENT_FRAMES = 2
WAN21 = ((-0.7571, -0.7089, -0.9113, 0.1075, -0.1745, 0.9653, -0.1517, 1.5508, 0.4134, -0.0715, 0.5517, -0.3632,
          -0.1922, -0.9497, 0.2503, -0.2921),
         (2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743, 3.2687, 2.1526, 2.8652, 1.5579, 1.6382,
          1.1253, 2.8251, 1.9160))


class Member(typing.NamedTuple):
    shape: tuple  # of a latent frame: channels, height, width
    patch: int  # the last layer makes patch x patch pixels of each position
    mean_std: tuple = ()  # of the latents; empty: they are not normalised
    negative_slope: float = 0  # of its ReLUs


MEMBERS = {"taew2.2": Member((48, 2, 3), 2), "taehv1.5": Member((32, 3, 2), 2), "taehv": Member((16, 3, 2), 1),
           "lighttaew2.1": Member((16, 2, 3), 1, WAN21),
           "lighttaehy1.5": Member((32, 2, 3), 2, ((0.0,) * 32, (1 / 1.03682,) * 32), 0.2)}


def parameter(name, *shape):
    return synthetic_tensor(name, shape)


def conv(name, x, c_out, taps=3, bias=True):
    weight = parameter(name + ".weight", c_out, x.shape[0], taps, taps)
    return F.conv2d(x[None], weight, parameter(name + ".bias", c_out) if bias else None, padding=taps // 2)[0]


class Memory:
    def __init__(self, name, activate):
        self.name, self.activate, self.past = name, activate, None

    def __call__(self, x):
        past = torch.zeros_like(x) if self.past is None else self.past
        self.past = x
        y = torch.cat((x, past))
        for index in (0, 2):
            y = self.activate(conv(f"{self.name}.conv.{index}", y, x.shape[0]))
        return [self.activate(conv(f"{self.name}.conv.4", y, x.shape[0]) + x)]


def grow(name, frames):
    def run(x):
        return list(conv(name + ".conv", x, frames * x.shape[0], 1, bias=False).chunk(frames))
    return run


def each(function):
    return lambda x: [function(x)]


def layers(member):
    """The decoder as a list of functions that take one frame and return a list of frames."""
    widths = (4 * DIM, 2 * DIM, DIM, DIM)

    def activate(x):
        return F.leaky_relu(x, member.negative_slope)
    made = [each(lambda x: 3 * torch.tanh(x / 3)), each(lambda x: activate(conv("decoder.1", x, widths[0])))]
    for stage, growth in enumerate((1, 2, 2)):
        first = 3 + 6 * stage
        made += [Memory(f"decoder.{first + i}", activate) for i in range(3)]
        made += [each(lambda x: x.repeat_interleave(2, 1).repeat_interleave(2, 2)),
                 grow(f"decoder.{first + 4}", growth),
                 each(lambda x, key=f"decoder.{first + 5}", c=widths[stage + 1]: conv(key, x, c, bias=False))]
    made += [each(activate),
             each(lambda x: F.pixel_shuffle(conv("decoder.22", x, 3 * member.patch ** 2), member.patch))]
    return made


def decode(member, latents):
    """[C, T, h, w] to frames [3, 4 T - 3, patch 8 h, patch 8 w] as the last layer makes them, not clamped."""
    stack, frames = layers(member), []
    if member.mean_std:
        mean, std = (torch.tensor(values)[:, None, None, None] for values in member.mean_std)
        latents = latents * std + mean

    def run(x, index):
        if index == len(stack):
            return frames.append(x)
        for frame in stack[index](x):
            run(frame, index + 1)
    for t in range(latents.shape[1]):
        run(latents[:, t], 0)
    return torch.stack(frames[3:], 1)


def main():
    tensors = {}
    for name, member in MEMBERS.items():
        channels, height, width = member.shape
        tensors[name] = decode(member, synthetic_tensor("latents", (channels, LATENT_FRAMES, height, width)))
        print(f"{name}: {tuple(tensors[name].shape)}, largest {tensors[name].abs().max():.3f}")
    write_safetensors(sys.argv[1], tensors)


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
