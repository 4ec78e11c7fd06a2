"""Writes the decoder, the demo clips, their reference frames and a contact sheet."""
import json
import os
import struct
import time
import zlib

import torch
import torch.nn.functional as F
from tensor_files import write_safetensors

import model as networks
from clips import HERO_FRAMES, HERO_H, HERO_W, HEROES, held_out, render, to_signed
from losses import psnr
from model import CONFIG, fast_layout, rms_silu_rows
from training import load_weights


def write_png(path, img):
    """`img`: uint8 [H,W,3]."""
    h, w, _ = img.shape
    raw = img.contiguous().cpu().view(h, w * 3)
    # filter type 2 (difference to the row above) packs rendered images well
    diff = torch.cat([raw[:1], (raw[1:].int() - raw[:-1].int()).remainder(256).to(torch.uint8)])
    rows = torch.cat([torch.full((h, 1), 2, dtype=torch.uint8), diff], 1)

    def block(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + block(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0))
                + block(b"IDAT", zlib.compress(rows.numpy().tobytes(), 7)) + block(b"IEND", b""))


def rms_silu_lean(x, gain):
    """The same function a million rows at a time, to bound the memory of full-size clips."""
    out = torch.empty_like(x)
    for i in range(0, x.shape[0], 1 << 20):
        out[i:i + (1 << 20)] = rms_silu_rows(x[i:i + (1 << 20)], gain)
    return out


def to_bytes(y):
    return (y.float().clamp(-1, 1) * 127.5 + 127.5).round().to(torch.uint8)


@torch.no_grad()
def cmd_export(a):
    """Everything here is plain fp32; the decoder's weights are rounded to bf16 first."""
    start, dev = time.time(), a.device
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    networks.rms_silu_fn = rms_silu_lean
    model, s = load_weights(a.weights, dev)
    for name, p in model.named_parameters():
        if name.startswith(("decoder.", "conv2.")):
            p.copy_(p.to(torch.bfloat16))          # from here on: the weights as they ship
    fast_layout(model)
    frames, h, w = (9, 64, 96) if a.quick else (HERO_FRAMES, HERO_H, HERO_W)
    small = (5, 32, 32, 1) if a.quick else (17, 192, 192, 4)

    # held-out clips: quality, latents for the statistics, a row of the contact sheet
    quality, rows, tiles = {}, [], []
    for k, clips in held_out(dev, *small).items():
        scores = []
        for c in clips.split(1):
            mu = model.encode(to_signed(c))[0]
            y = model.decode(mu)
            scores.append(psnr(to_signed(c), y).item())
            rows.append(mu.flatten(0, 3))
            if len(scores) <= 1:
                tiles.append(torch.cat([c[0, -2], to_bytes(y)[0, -2]], 0))
        quality[k] = round(sum(scores) / len(scores), 2)
        print(f"held-out {k}: {[round(v, 2) for v in scores]} dB, {time.time() - start:.0f} s", flush=True)
    quality["all"] = round(sum(quality.values()) / len(quality), 2)
    report = {"held_out_psnr_db": quality, "held_out_clips": list(small)}
    print("held-out", quality, flush=True)

    heroes, mus = {}, {}
    for name, (family, seed, fix) in HEROES.items():
        heroes[name] = render(family, seed, 1, frames, h, w, dev, ss=1 if a.quick else 3, fix=fix, chunk=1)
        mus[name] = model.encode(to_signed(heroes[name]))[0]
        rows.append(mus[name].flatten(0, 3))
        print(f"hero {name} {tuple(heroes[name].shape)} latents {tuple(mus[name].shape)} "
              f"{time.time() - start:.0f} s", flush=True)

    # per-channel statistics; every clip weighs the same
    mean = torch.stack([r.mean(0) for r in rows]).mean(0)
    std = torch.stack([(r - mean).square().mean(0) for r in rows]).mean(0).sqrt()
    mean_s, std_s = (",".join(f"{v:.6f}" for v in x.tolist()) for x in (mean, std))
    mean = torch.tensor([float(v) for v in mean_s.split(",")], device=dev)
    std = torch.tensor([float(v) for v in std_s.split(",")], device=dev)
    report["latents_mean"], report["latents_std"] = mean_s, std_s

    meta = {"format": "pt", "arch": "wan2.1", "dim": str(CONFIG["dim"]),
            "z_dim": str(CONFIG["z_dim"]), "latents_mean": mean_s, "latents_std": std_s}
    both = {True: {}, False: {}}
    for n, p in model.state_dict().items():
        both[n.startswith(("decoder.", "conv2."))][n] = p.contiguous().to(torch.bfloat16)
    write_safetensors(os.path.join(a.out, "demo_vae.safetensors"), both[True], meta)
    if a.encoder_out:
        write_safetensors(a.encoder_out, both[False], meta)

    sheet, report["heroes"] = [], {}
    for name, clip in heroes.items():
        stored = ((mus[name] - mean) / std)[0].permute(3, 0, 1, 2).contiguous().half()
        write_safetensors(os.path.join(a.out, f"{name}.safetensors"), {"latents": stored},
                          {"format": "pt", "fps": "24", "arch": "wan2.1"})
        z = stored.float().permute(1, 2, 3, 0)[None] * std + mean
        y = model.decode(z)
        each = [psnr(to_signed(clip[:, i:i + 1]), y[:, i:i + 1]).item() for i in range(frames)]
        report["heroes"][name] = dict(
            psnr_db=round(psnr(to_signed(clip), y).item(), 2), worst_frame_db=round(min(each), 2),
            best_frame_db=round(max(each), 2), first_frame_db=round(each[0], 2),
            latent_std=round(stored.float().std().item(), 3),
            latent_absmax=round(stored.float().abs().max().item(), 2))
        print(name, report["heroes"][name], f"{time.time() - start:.0f} s", flush=True)
        if name == "orbit":
            first = model.decode(z[:, :2])[0]                   # frames 0..4 need latents 0, 1
            gap = (first - y[0, :5]).abs().max().item()
            print(f"causality: the first five frames decoded alone differ by {gap:.2e}", flush=True)
            ref = first[[0, 4]].clamp(-1, 1).permute(3, 0, 1, 2).contiguous().float()
            write_safetensors(os.path.join(a.out, "orbit_ref.safetensors"), {"frames": ref},
                              {"format": "pt", "frame_ids": "0,4", "range": "[-1,1], clamped"})
        pick, shown = [0, frames // 2, frames - 1], to_bytes(y)
        top = torch.cat([clip[0, i] for i in pick], 1)
        sheet += [top, torch.cat([shown[0, i] for i in pick], 1), torch.full_like(top[:6], 255)]
        if a.frames_out:
            for i in range(frames):
                write_png(os.path.join(a.frames_out, f"{name}_{i:02d}.png"),
                          torch.cat([clip[0, i], shown[0, i]], 0))
        del y, z
    row, width = torch.cat(tiles, 1), sheet[0].shape[1]
    row = F.pad(row, (0, 0, 0, max(0, width - row.shape[1])), value=255)[:, :width]
    write_png(os.path.join(a.out, "contact.png"), torch.cat([*sheet, row], 0))

    report["steps"], report["train_seconds"] = s["step"], round(s["spent"], 1)
    with open(os.path.join(a.weights, "report.json"), "w") as f:
        json.dump(report, f, indent=1)
    for f in sorted(os.listdir(a.out)):
        print(f"{os.path.getsize(os.path.join(a.out, f)):>10} {f}")
    print(f"export took {time.time() - start:.0f} s", flush=True)
