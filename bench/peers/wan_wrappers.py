"""Stand-ins with the interfaces of the published classes around Wan's VAE, which the Python package's drop-ins replace;
built on the decoder of wan21_pytorch.py, for machines without the published sources."""
import torch

import wan21_pytorch


class Network(torch.nn.Module):
    """Wan's reference network as its wrappers use it: one latent frame a step, caches that last until they are cleared,
    and statistics as [mean, 1 / std]."""

    def __init__(self, tensors, device="cpu"):
        super().__init__()
        self.anchor = torch.nn.Parameter(torch.zeros(1, device=device))
        self.tensors = tensors
        self.decoder = wan21_pytorch.Decoder(tensors, device)
        self.cleared = 0

    def state_dict(self):
        return {"encoder.conv1.bias": torch.zeros(1), "conv1.bias": torch.zeros(1), **self.tensors}

    def clear_cache(self):
        self.cleared += 1
        self.decoder.reset()

    def cached_decode(self, z, scale):
        z = z / scale[1].view(1, -1, 1, 1, 1) + scale[0].view(1, -1, 1, 1, 1)
        return torch.cat([self.decoder.step(z[:, :, t:t + 1]) for t in range(z.shape[2])], 2)

    def decode(self, z, scale):
        self.clear_cache()
        frames = self.cached_decode(z, scale)
        self.clear_cache()
        return frames


def statistics(device):
    """Mean and standard deviation of 16 channels."""
    return torch.linspace(-1, 1, 16, device=device), torch.linspace(0.5, 2, 16, device=device)


class WanVAE:
    """The interface of wan.modules.vae.WanVAE, which is not a torch module itself."""

    def __init__(self, tensors, device="cpu"):
        self.dtype, self.device = torch.float32, device
        self.mean, self.std = statistics(device)
        self.scale = [self.mean, 1.0 / self.std]
        self.model = Network(tensors, device).eval().requires_grad_(False)

    def decode(self, zs):
        return [self.model.decode(z.unsqueeze(0), self.scale).float().clamp_(-1, 1).squeeze(0) for z in zs]


class Wan22VAE:
    """The interface of wan.modules.vae2_2.Wan2_2_VAE, which keeps the statistics only as `scale`."""

    def __init__(self, tensors, device="cpu"):
        mean, std = statistics(device)
        self.scale = [mean, 1.0 / std]
        self.model = Network(tensors, device).eval().requires_grad_(False)

    decode = WanVAE.decode


class WanVAEWrapper(torch.nn.Module):
    """The interface of Self-Forcing's wrapper: tensors [batch, frames, ...], and a cache that outlives a call."""

    def __init__(self, tensors, device="cpu"):
        super().__init__()
        self.mean, self.std = statistics(device)
        self.model = Network(tensors, device).eval().requires_grad_(False)

    def decode_to_pixel(self, latent, use_cache=False):
        scale = [self.mean.to(latent), 1.0 / self.std.to(latent)]
        decode = self.model.cached_decode if use_cache else self.model.decode
        videos = [decode(z.unsqueeze(0), scale).float().clamp_(-1, 1).squeeze(0) for z in latent.permute(0, 2, 1, 3, 4)]
        return torch.stack(videos).permute(0, 2, 1, 3, 4)
