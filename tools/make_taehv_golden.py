#!/usr/bin/env python3
"""Writes tests/golden/data/taehv_small.safetensors: TAEHV decoders of 2 x 2 pixels a place, of small width.

    python3 tools/make_taehv_golden.py tests/golden/data/taehv_small.safetensors

An implementation of its own in PyTorch (float32, CPU) of what madebyollin/taehv publishes, one frame after the other.
Parameters and latents follow from names, as tests/golden/README.md says; a member's frames are named like its family.
"""
import json
import struct
import sys

import torch
import torch.nn.functional as F

from wan21_pytorch import synthetic_tensor

DIM = 8
MEMBERS = {"taew2.2": (48, 2, 3), "taehv1.5": (32, 3, 2)}  # latent channels, height, width
LATENT_FRAMES = 2


def parameter(name, *shape):
    return synthetic_tensor(name, shape)


def conv(name, x, c_out, taps=3, bias=True):
    weight = parameter(name + ".weight", c_out, x.shape[0], taps, taps)
    return F.conv2d(x[None], weight, parameter(name + ".bias", c_out) if bias else None, padding=taps // 2)[0]


class Memory:
    def __init__(self, name):
        self.name, self.past = name, None

    def __call__(self, x):
        past = torch.zeros_like(x) if self.past is None else self.past
        self.past = x
        y = torch.cat((x, past))
        for index in (0, 2):
            y = conv(f"{self.name}.conv.{index}", y, x.shape[0]).relu()
        return [(conv(f"{self.name}.conv.4", y, x.shape[0]) + x).relu()]


def grow(name, frames):
    def run(x):
        return list(conv(name + ".conv", x, frames * x.shape[0], 1, bias=False).chunk(frames))
    return run


def each(function):
    return lambda x: [function(x)]


def layers():
    """Functions of one frame that make one or several."""
    widths = (4 * DIM, 2 * DIM, DIM, DIM)
    made = [each(lambda x: 3 * torch.tanh(x / 3)), each(lambda x: conv("decoder.1", x, widths[0]).relu())]
    for stage, growth in enumerate((1, 2, 2)):
        first = 3 + 6 * stage
        made += [Memory(f"decoder.{first + i}") for i in range(3)]
        made += [each(lambda x: x.repeat_interleave(2, 1).repeat_interleave(2, 2)), grow(f"decoder.{first + 4}", growth),
                 each(lambda x, key=f"decoder.{first + 5}", c=widths[stage + 1]: conv(key, x, c, bias=False))]
    made += [each(torch.relu), each(lambda x: F.pixel_shuffle(conv("decoder.22", x, 12), 2))]
    return made


def decode(latents):
    """[C, T, h, w] to frames [3, 4 T - 3, 16 h, 16 w] in [0, 1], not clamped."""
    stack, frames = layers(), []

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
    for member, (channels, height, width) in MEMBERS.items():
        latents = synthetic_tensor("latents", (channels, LATENT_FRAMES, height, width))
        tensors[member] = decode(latents)
    write(sys.argv[1], tensors)


def write(path, tensors):
    header, offset = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + 4 * tensor.numel()]}
        offset += 4 * tensor.numel()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            tensor.contiguous().numpy().tofile(file)


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
