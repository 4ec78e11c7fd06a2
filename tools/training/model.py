"""The demo VAE, with the layout and the keys of Wan 2.1's.

Activations are [B,T,H,W,C] in memory. A whole clip is run at once; that equals the chunked, cached form of the
original, because every temporal convolution is causal and the caches start as zeros. The one exception is kept: the
first (latent) frame bypasses the temporal convolutions of the 3-d resamplers.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


CONFIG = dict(dim=32, z_dim=16, mult=(1, 2, 4, 4), blocks=2, time_down=(False, True, True))


def rms_silu_rows(x, gain):
    """SiLU of channel-wise RMS normalisation, for rows of channels."""
    y = x.float()
    y = y * (y * y).sum(-1, keepdim=True).clamp_min(1e-24).rsqrt() * (gain * x.shape[-1] ** 0.5)
    return (y * torch.sigmoid(y)).to(x.dtype)


rms_silu_fn = rms_silu_rows              # replaced by a compiled version for training


def rms_silu(x, gain):
    return rms_silu_fn(x.reshape(-1, x.shape[-1]), gain.flatten()).view(x.shape)


def pad_to_8(x, w, b):
    """Zero channels for tensor cores, which want multiples of eight."""
    ci, co = -w.shape[1] % 8, -w.shape[0] % 8
    if ci:
        x = F.pad(x, (0, ci))
    if ci or co:
        w = F.pad(w, (0, 0) * (w.dim() - 2) + (0, ci, 0, co))
        b = F.pad(b, (0, co))
    return x, w, b


class Conv3(nn.Conv3d):
    """Causal convolution over [B,T,H,W,C]: `lead` zero frames go in front."""

    def __init__(self, cin, cout, kernel, stride_t=1, lead=None):
        kernel = (kernel,) * 3 if isinstance(kernel, int) else kernel
        super().__init__(cin, cout, kernel, stride=(stride_t, 1, 1))
        self.lead = kernel[0] - 1 if lead is None else lead
        self.space = (0, kernel[1] // 2, kernel[2] // 2)

    def forward(self, x):
        if self.lead:
            x = F.pad(x, (0, 0, 0, 0, 0, 0, self.lead, 0))
        w, b = self.weight, self.bias
        if x.is_cuda:
            x, w, b = pad_to_8(x, w, b)
        y = F.conv3d(x.permute(0, 4, 1, 2, 3), w, b, self.stride, self.space)
        return y.permute(0, 2, 3, 4, 1)[..., :self.out_channels]


class Conv2(nn.Conv2d):
    """Per-frame 3x3 convolution over [B,T,H,W,C]."""

    def forward(self, x):
        b, t = x.shape[:2]
        y = super().forward(x.flatten(0, 1).permute(0, 3, 1, 2))
        return y.permute(0, 2, 3, 1).unflatten(0, (b, t))


class Gain(nn.Module):
    def __init__(self, channels, dims=3):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(channels, *(1,) * dims))

    def forward(self, x):
        return rms_silu(x, self.gamma)


class Res(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        # the numbers are the positions of these layers in the original's Sequential
        self.residual = nn.ModuleDict({"0": Gain(cin), "2": Conv3(cin, cout, 3),
                                       "3": Gain(cout), "6": Conv3(cout, cout, 3)})
        self.shortcut = Conv3(cin, cout, 1) if cin != cout else nn.Identity()
        nn.init.zeros_(self.residual["6"].weight)
        nn.init.zeros_(self.residual["6"].bias)

    def forward(self, x):
        h = x
        for layer in self.residual.values():
            h = layer(h)
        return self.shortcut(x) + h


class FrameAttention(nn.Module):
    """Single-head attention among the pixels of each frame."""

    def __init__(self, c):
        super().__init__()
        self.norm = Gain(c, dims=2)
        self.to_qkv = nn.Conv2d(c, 3 * c, 1)
        self.proj = nn.Conv2d(c, c, 1)
        nn.init.zeros_(self.proj.weight)
        nn.init.zeros_(self.proj.bias)

    def forward(self, x):
        b, t, h, w, c = x.shape
        rows = x.float().reshape(b * t, h * w, c)
        rows = F.normalize(rows, dim=-1) * (self.norm.gamma.flatten() * c ** 0.5)
        qkv = F.linear(rows, self.to_qkv.weight.flatten(1), self.to_qkv.bias)
        q, k, v = (s.unsqueeze(1) for s in qkv.chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v).squeeze(1)
        return x + F.linear(y, self.proj.weight.flatten(1), self.proj.bias).view_as(x)


class Down(nn.Module):
    def __init__(self, c, in_time):
        super().__init__()
        self.resample = nn.ModuleDict({"1": Conv2(c, c, 3, stride=2)})
        if in_time:
            self.time_conv = Conv3(c, c, (3, 1, 1), stride_t=2, lead=0)
            with torch.no_grad():
                self.time_conv.weight.mul_(0.3)
                self.time_conv.weight[:, :, 1, 0, 0] += torch.eye(c)

    def forward(self, x):
        x = self.resample["1"](F.pad(x, (0, 0, 0, 1, 0, 1)))
        if hasattr(self, "time_conv") and x.shape[1] > 1:
            x = torch.cat([x[:, :1], self.time_conv(x)], 1)
        return x


class Up(nn.Module):
    def __init__(self, c, in_time):
        super().__init__()
        self.resample = nn.ModuleDict({"1": Conv2(c, c // 2, 3, padding=1)})
        if in_time:
            self.time_conv = Conv3(c, 2 * c, (3, 1, 1))
            with torch.no_grad():
                self.time_conv.weight.mul_(0.3)
                self.time_conv.weight[:, :, 2, 0, 0] += torch.eye(c).repeat(2, 1)

    def forward(self, x):
        if hasattr(self, "time_conv") and x.shape[1] > 1:
            y = self.time_conv(x[:, 1:])
            b, t, h, w, c = y.shape
            # the two halves of the channels are the even and the odd frames
            y = y.view(b, t, h, w, 2, c // 2).permute(0, 1, 4, 2, 3, 5).reshape(b, 2 * t, h, w, c // 2)
            x = torch.cat([x[:, :1], y], 1)
        b, t, h, w, c = x.shape
        x = x.view(b, t, h, 1, w, 1, c).expand(b, t, h, 2, w, 2, c).reshape(b, t, 2 * h, 2 * w, c)
        return self.resample["1"](x)


class Head(nn.ModuleDict):
    def __init__(self, cin, cout):
        super().__init__({"0": Gain(cin), "2": Conv3(cin, cout, 3)})

    def forward(self, x):
        return self["2"](self["0"](x))


def middle(c):
    return nn.Sequential(Res(c, c), FrameAttention(c), Res(c, c))


class Encoder(nn.Module):
    def __init__(self, dim, z_dim, mult, blocks, time_down):
        super().__init__()
        self.conv1 = Conv3(3, dim, 3)
        layers, c = [], dim
        for level, m in enumerate(mult):
            for _ in range(blocks):
                layers.append(Res(c, dim * m))
                c = dim * m
            if level < len(mult) - 1:
                layers.append(Down(c, time_down[level]))
        self.downsamples = nn.Sequential(*layers)
        self.middle = middle(c)
        self.head = Head(c, 2 * z_dim)

    def forward(self, x):
        return self.head(self.middle(self.downsamples(self.conv1(x))))


class Decoder(nn.Module):
    def __init__(self, dim, z_dim, mult, blocks, time_down):
        super().__init__()
        c = dim * mult[-1]
        self.conv1 = Conv3(z_dim, c, 3)
        self.middle = middle(c)
        layers, time_up = [], time_down[::-1]
        for level, m in enumerate(reversed(mult)):
            for _ in range(blocks + 1):
                layers.append(Res(c, dim * m))
                c = dim * m
            if level < len(mult) - 1:
                layers.append(Up(c, time_up[level]))
                c //= 2
        self.upsamples = nn.Sequential(*layers)
        self.head = Head(c, 3)

    def forward(self, z):
        return self.head(self.upsamples(self.middle(self.conv1(z))))


class VideoVAE(nn.Module):
    def __init__(self, dim, z_dim, mult, blocks, time_down):
        super().__init__()
        self.encoder = Encoder(dim, z_dim, mult, blocks, time_down)
        self.conv1 = Conv3(2 * z_dim, 2 * z_dim, 1)
        self.conv2 = Conv3(z_dim, z_dim, 1)
        self.decoder = Decoder(dim, z_dim, mult, blocks, time_down)
        self.start_weights(z_dim)

    @torch.no_grad()
    def start_weights(self, z_dim):
        """Variance-preserving, nearly per-frame convolutions, and a posterior that starts
        almost noiseless.

        With PyTorch's default start (weak signal, posterior noise of 1) the latents drown in
        noise at first; the encoder then learns to drop colour, and never gets it back.
        """
        for name, m in self.named_modules():
            special = name.endswith((".residual.6", ".proj", ".time_conv"))
            if isinstance(m, (nn.Conv2d, nn.Conv3d)) and not special:
                nn.init.normal_(m.weight, std=m.weight[0].numel() ** -0.5)
                nn.init.zeros_(m.bias)
                if m.weight.shape[2:] == (3, 3, 3):          # taps on past frames start small
                    m.weight[:, :, :2] *= 0.15
                    m.weight[:, :, 2] *= 3 ** 0.5
        self.conv1.weight[z_dim:] *= 0.1
        self.conv1.bias[z_dim:] = -6.0                       # log-variance

    def encode(self, x):
        """[B,T,H,W,3] in [-1,1], T = 1 + 4n -> mean and log-variance, [B,1+n,H/8,W/8,z]."""
        return self.conv1(self.encoder(x)).chunk(2, -1)

    def decode(self, z):
        return self.decoder(self.conv2(z))


def fast_layout(model):
    for p in model.parameters():
        if p.dim() == 5:
            p.data = p.data.contiguous(memory_format=torch.channels_last_3d)
        elif p.dim() == 4:
            p.data = p.data.contiguous(memory_format=torch.channels_last)
    return model
