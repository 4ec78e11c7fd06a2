"""What training minimises, and what it reports."""
import torch


def edges(error, rows, columns):
    """Mean absolute differences of the error between neighbouring pixels: large where edges are blurred."""
    return error.diff(dim=rows).abs().mean() + error.diff(dim=columns).abs().mean()


def reconstruction_loss(out, x):
    """Squared error leads at first; the absolute and the gradient terms, which keep edges
    sharp, take over as it shrinks."""
    d = out.float() - x
    l1, l2 = d.abs().mean(), d.square().mean()
    grad = edges(d, 2, 3)
    if d.shape[1] > 1:
        grad = grad + 0.5 * d.diff(dim=1).abs().mean()
    return l2 + 0.1 * l1 + 0.1 * grad, l1, l2


def colour_share(out, x):
    """Squared errors of the colour differences, and their energy: to see that colour is learnt."""
    a, b = out.detach().float(), x
    a, b = a - a.mean(-1, keepdim=True), b - b.mean(-1, keepdim=True)
    return (a - b).square().mean(), b.square().mean()


def psnr(a, b):
    """PSNR of two [B,T,H,W,3] tensors in [-1,1], per clip; `b` is rounded to 8 bits first."""
    b = (b.float().clamp(-1, 1) * 127.5 + 127.5).round() / 127.5 - 1
    return -10 * torch.log10(((a.float() - b) / 2).square().flatten(1).mean(1).clamp_min(1e-10))
