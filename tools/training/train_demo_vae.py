#!/usr/bin/env python3
"""Train the small demo video VAE (Wan 2.1 layout, dim 32) on procedural clips, and export its decoder and the clips.

Training needs PyTorch >= 2.4 and one CUDA GPU; the CPU is enough for the rest.

    # checks; the folder holds the reference wan_vae.py, and may be left out
    python3 train_demo_vae.py selftest --ref DIR
    # look at the generator: a row of clips per family; the hero clips
    python3 train_demo_vae.py preview --out preview.png
    python3 train_demo_vae.py heroes --out heroes.png
    # train for one call of --limit seconds; writes OUT/weights*.pt (fp32, averaged).
    # Longer: several calls with the same --budget and --state.
    python3 train_demo_vae.py train --limit 580 --out OUT
    # write demo_vae.safetensors, the clips, the reference frames and contact.png
    python3 train_demo_vae.py export --weights OUT --out .

The model's state-dict keys are those of Wan 2.1's VAE, so a loader for the real
checkpoints loads this one. Latents are normalised as Wan does it:
stored = (mu - mean) / std per channel, with mean and std in the file's metadata.
"""
import argparse
import sys
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench/peers"))
from clips import FAMILIES, HERO_H, HERO_W, HEROES, render  # noqa: E402
from drawing import Draw, View  # noqa: E402
from export import cmd_export, write_png  # noqa: E402
from model import CONFIG, VideoVAE  # noqa: E402
from tensor_files import read_safetensors, write_safetensors  # noqa: E402
from training import cmd_train  # noqa: E402


def cmd_preview(a):
    rows = []
    w, h = 192, 160
    for i, k in enumerate(FAMILIES):
        clips = render(k, 50 + i + a.seed, 6, 1, h, w, a.device, ss=2)
        rows.append(torch.cat([c[0] for c in clips], 1))
    write_png(a.out, torch.cat(rows, 0))


def cmd_heroes(a):
    rows = []
    for name, (family, seed, fix) in HEROES.items():
        tiles = []
        for f in (0, 20, 40, 60):
            d = Draw(1, seed, a.device, fix)
            view = View(d, torch.tensor([f]), HERO_H, HERO_W, 2)
            with torch.no_grad():
                img = FAMILIES[family](d, view).expand(3, 1, 1, HERO_H * 2, HERO_W * 2)
            img = F.avg_pool2d(img[:, 0], 2)[:, 0]
            tiles.append((img * 255 + 0.5).to(torch.uint8).permute(1, 2, 0))
        rows.append(torch.cat([torch.cat(tiles[:2], 1), torch.cat(tiles[2:], 1)], 0))
    write_png(a.out, torch.cat(rows, 0))


@torch.no_grad()
def cmd_selftest(a):
    dev = a.device
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    model = VideoVAE(**CONFIG).to(dev).eval()
    for n, p in model.named_parameters():                  # no zeros: every path must count
        p.copy_(torch.randn_like(p) * (p[0].numel() ** -0.5 if p.dim() > 3 and "gamma" not in n
                                       else 0.1) + ("gamma" in n))
    count = sum(p.numel() for n, p in model.named_parameters() if n.startswith(("dec", "conv2")))
    print(f"decoder + conv2: {count} parameters, {count * 2 / 2 ** 20:.2f} MiB in bf16; encoder + conv1: "
          f"{sum(p.numel() for p in model.parameters()) - count}")
    x = torch.rand(1, 17, 32, 48, 3, device=dev) * 2 - 1
    mu, _ = model.encode(x)
    y = model.decode(mu)
    print("shapes", tuple(x.shape), tuple(mu.shape), tuple(y.shape), "std", mu.std().item(), y.std().item())
    if a.ref:
        sys.path.insert(0, a.ref)
        import wan_vae
        ref = wan_vae.WanVAE_(dim=CONFIG["dim"], z_dim=CONFIG["z_dim"], dim_mult=list(CONFIG["mult"]),
                              num_res_blocks=CONFIG["blocks"], attn_scales=[],
                              temperal_downsample=list(CONFIG["time_down"])).to(dev).eval()
        ref.load_state_dict(model.state_dict(), strict=True)
        assert list(ref.state_dict()) and set(ref.state_dict()) == set(model.state_dict())
        rmu = ref.encode(x.permute(0, 4, 1, 2, 3), [0.0, 1.0]).permute(0, 2, 3, 4, 1)
        ry = ref.decode(mu.permute(0, 4, 1, 2, 3), [0.0, 1.0]).permute(0, 2, 3, 4, 1)
        for what, p, q in (("encode", mu, rmu), ("decode", y, ry)):
            err = ((p - q).abs().max() / q.abs().max()).item()
            print(f"{what}: whole clip against the chunked reference: relative max error {err:.2e}, "
                  f"per frame {[f'{v:.0e}' for v in (p - q).abs().amax((0, 2, 3, 4)).tolist()]}")
            assert err < 1e-4
    with tempfile.TemporaryDirectory() as folder:
        path, stuff = f"{folder}/tensors", {"a": torch.randn(3, 5).to(torch.bfloat16), "b": torch.randn(2, 2)}
        write_safetensors(path, stuff, {"format": "pt"})
        back, meta = read_safetensors(path, None)
    assert meta == {"format": "pt"} and all(torch.equal(back[k], stuff[k]) for k in stuff)
    print("selftest passed")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("command", choices=("train", "export", "selftest", "preview", "heroes"))
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--out", default="", help="folder (train, export) or PNG (preview, heroes)")
    p.add_argument("--weights", default="", help="folder with weights*.pt, to export or to start from")
    p.add_argument("--encoder-out", default="", help="also write the encoder to this file")
    p.add_argument("--frames-out", default="", help="also write the hero frames to this folder")
    p.add_argument("--quick", action="store_true", help="export: tiny clips, to try the code")
    p.add_argument("--state", default="", help="file with the full state, to train on in a later call")
    p.add_argument("--ref", default="", help="folder with the reference wan_vae.py, for selftest")
    p.add_argument("--budget", type=float, default=0, help="seconds of training in all (0: this call)")
    p.add_argument("--limit", type=float, default=580, help="seconds of this call")
    p.add_argument("--reserve", type=float, default=8, help="seconds kept for saving")
    p.add_argument("--steps", type=int, default=0, help="stop after this many steps (0: no limit)")
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--kl", type=float, default=1e-5)
    p.add_argument("--every", type=int, default=250, help="steps between lines of the log")
    p.add_argument("--render-every", type=float, default=0.5, help="seconds between new clips")
    p.add_argument("--pool", type=float, default=1.0, help="scale of the clip pools")
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    {"train": cmd_train, "export": cmd_export, "selftest": cmd_selftest, "preview": cmd_preview,
     "heroes": cmd_heroes}[a.command](a)


if __name__ == "__main__":
    main()
