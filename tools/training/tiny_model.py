"""The tiny decoder: a TAEHV, which decodes one frame after the other."""
import torch
import torch.nn.functional as F
from torch import nn


class Memory(nn.Module):
    """Sees its input in this frame and in the one before."""

    def __init__(self, c):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1),
                                  nn.ReLU(), nn.Conv2d(c, c, 3, padding=1))

    def forward(self, x, clips):
        frames = x.unflatten(0, (clips, -1))
        past = F.pad(frames[:, :-1], (0, 0) * 3 + (1, 0)).flatten(0, 1)
        return F.relu(self.conv(torch.cat((x, past), 1)) + x)


class Grow(nn.Module):
    def __init__(self, c, factor):
        super().__init__()
        self.factor, self.conv = factor, nn.Conv2d(c, factor * c, 1, bias=False)

    def forward(self, x):
        x = self.conv(x).unflatten(1, (self.factor, -1))
        return x.flatten(0, 1)


class Tiny(nn.Module):
    """Latents [clips * T, 16, h, w] to frames [clips * 4 T, 3, 8 h, 8 w]."""

    def __init__(self, width):
        super().__init__()
        n = (4 * width, 2 * width, width, width)

        def conv(a, b, bias=True):
            return nn.Conv2d(a, b, 3, padding=1, bias=bias)
        layers = [nn.Identity(), conv(16, n[0]), nn.ReLU()]
        for stage, growth in enumerate((1, 2, 2)):
            layers += [Memory(n[stage]) for _ in range(3)]
            layers += [nn.Upsample(scale_factor=2), Grow(n[stage], growth), conv(n[stage], n[stage + 1], False)]
        self.decoder = nn.ModuleList((*layers, nn.ReLU(), conv(n[3], 3)))

    def forward(self, x, clips):
        x = 3 * torch.tanh(x / 3)
        for layer in self.decoder:
            x = layer(x, clips) if isinstance(layer, Memory) else layer(x)
        return x
