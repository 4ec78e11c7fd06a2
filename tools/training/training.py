"""The training loop of the demo VAE: its phases, the optimiser, CUDA graphs, and files to go on from."""
import contextlib
import math
import os
import random
import time

import torch

import model as networks
import scenes
from clips import FAMILIES, make_pools
from losses import colour_share, reconstruction_loss
from model import CONFIG, VideoVAE, fast_layout


# name: (pool, batch, frames, height, width)
SHAPES = {
    "image": ("main", 32, 1, 128, 128),
    "small": ("main", 8, 9, 96, 96),
    "mid": ("main", 6, 17, 112, 112),
    "main": ("main", 6, 17, 160, 160),
    "long": ("long", 4, 61, 96, 96),        # so that late frames look like early ones
    "wide": ("wide", 2, 9, 288, 512),       # for the attention, which sees all of a frame
}
# share of the time until which: what is trained, and how often
PHASES = ((0.26, {"image": 0.4, "small": 0.6}), (0.52, {"mid": 1.0}),
          (1.00, {"main": 0.6, "long": 0.2, "wide": 0.2}))


def speed_up(device):
    """Compile the two functions that are long chains of cheap operations."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark_limit = 4
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    if device == "cuda" and os.environ.get("DEMO_EAGER", "0") == "0":
        torch._dynamo.config.automatic_dynamic_shapes = False
        torch._dynamo.config.recompile_limit = 64
        rows = torch.compile(networks.rms_silu_rows)

        def any_row_count(x, gain):                  # one kernel per channel count
            torch._dynamo.maybe_mark_dynamic(x, 0)
            return rows(x, gain)

        networks.rms_silu_fn = any_row_count
        scenes.distance_fn = torch.compile(scenes.blob_distance, dynamic=True)


class Trainer:
    """Model, optimiser and averaged weights, and one training step as a CUDA graph per shape.

    The steps of the small shapes are bound by kernel launches without the graphs.
    """

    def __init__(self, device, kl):
        torch.manual_seed(1)
        self.device, self.kl = device, kl
        self.model = fast_layout(VideoVAE(**CONFIG).to(device))
        self.params = list(self.model.parameters())
        self.ema = [p.detach().clone() for p in self.params]
        self.lr = torch.tensor(0.0, device=device)
        self.sums = torch.zeros(7, device=device)    # loss, l1, l2, kl, norm, colour error, energy
        self.cuda = device == "cuda"
        extra = dict(fused=True, capturable=True) if self.cuda else {}
        self.opt = torch.optim.AdamW(self.params, lr=self.lr if self.cuda else 0.0,
                                     betas=(0.9, 0.99), weight_decay=0.01, **extra)
        self.graphs, self.use_graphs = {}, self.cuda

    def set_lr(self, lr):
        if self.cuda:
            self.lr.fill_(lr)
        else:
            self.opt.param_groups[0]["lr"] = lr

    def body(self, x):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16) if self.cuda else contextlib.nullcontext():
            mu, logvar = self.model.encode(x)
            mu, logvar = mu.float(), logvar.float().clamp(-20, 10)
            out = self.model.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp())
        rec, l1, l2 = reconstruction_loss(out, x)
        kl = 0.5 * (mu.square() + logvar.exp() - 1 - logvar).mean()
        loss = rec + self.kl * kl
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.params, 1.0)
        if self.cuda:
            self.opt.found_inf = (~torch.isfinite(norm)).float()   # fused AdamW then skips it
        self.opt.step()
        with torch.no_grad():
            torch._foreach_mul_(self.ema, 0.998)
            torch._foreach_add_(self.ema, self.params, alpha=0.002)
            self.sums += torch.stack([v.detach() for v in (loss, l1, l2, kl, norm,
                                                           *colour_share(out, x))])

    def step(self, name, x):
        if not self.use_graphs:
            return self.body(x)
        if name not in self.graphs:
            return self.capture(name, x)
        graph, static = self.graphs[name]
        static.copy_(x)
        graph.replay()

    def capture(self, name, x):
        """Three ordinary steps on a side stream, then the recording."""
        began, static = time.time(), x.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.body(static)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        warm = time.time() - began
        try:
            graph = torch.cuda.CUDAGraph()
            self.opt.zero_grad(set_to_none=True)
            with torch.cuda.graph(graph):
                self.body(static)
            self.graphs[name] = graph, static
            torch.cuda.synchronize()
            t = time.time()
            for _ in range(3):
                graph.replay()
            torch.cuda.synchronize()
            print(f"  {name}: warm-up {warm:.1f} s, a step takes {(time.time() - t) / 3 * 1e3:.1f} ms",
                  flush=True)
        except Exception as e:                                # slower, but still right
            self.use_graphs = False
            self.opt.zero_grad(set_to_none=True)
            print(f"  no CUDA graphs: {e}", flush=True)


def cmd_train(a):
    start = time.time()
    dev = a.device
    speed_up(dev)
    trainer = Trainer(dev, a.kl)
    done, spent, log = 0, 0.0, []
    if a.weights:                                   # start from the weights of an earlier run
        source, _ = load_weights(a.weights, dev)
        with torch.no_grad():
            for p, e, n in zip(trainer.params, trainer.ema, source.parameters()):
                p.copy_(n)
                e.copy_(n)
    if a.state and os.path.exists(a.state):
        s = torch.load(a.state, map_location=dev)
        trainer.model.load_state_dict(s["model"])
        trainer.opt.load_state_dict(s["opt"])
        for g in trainer.opt.param_groups:
            g["lr"] = trainer.lr if trainer.cuda else 0.0
        for e, n in zip(trainer.ema, s["ema"]):
            e.copy_(n)
        done, spent, log = s["step"], s["spent"], s["log"]
        print(f"resumed at step {done}, {spent:.0f} s of training spent", flush=True)

    t0 = time.time()
    pools = make_pools(dev, salt=done * 1000, scale=a.pool)
    for name, pool in pools.items():
        for k in FAMILIES:
            pool.refresh(k)
        for _ in range(int({"main": 40, "long": 6, "wide": 6}[name] * min(a.pool, 1))):
            pool.refresh()
    if trainer.cuda:
        torch.cuda.synchronize()
    print(f"setup {t0 - start:.1f} s, first clips {time.time() - t0:.1f} s "
          f"({ {k: p.filled for k, p in pools.items()} })", flush=True)

    rng = random.Random(77 + done)
    stop_at = start + a.limit - a.reserve
    begin, steps, renders = time.time(), 0, 0
    budget = a.budget or spent + stop_at - begin
    printed = rendered = begin
    fences = []
    while True:
        now = time.time()
        part = (spent + now - begin) / budget
        if now > stop_at or part >= 1 or (a.steps and steps >= a.steps):
            break
        trainer.set_lr(a.lr * min((done + 1) / 300, (steps + 1) / 20, 1.01 - part))
        choice = next(c for until, c in PHASES if part < until)
        shape = rng.choices(list(choice), list(choice.values()))[0]
        name, b, t, h, w = SHAPES[shape]
        if not trainer.cuda:
            b, t, h, w = 1, min(t, 9), 32, 32
        if now - rendered > a.render_every:
            pools[("main", "long", "main", "wide", "main")[renders % 5]].refresh()
            renders += 1
            rendered = time.time()
        trainer.step(shape, pools[name].batch(b, t, h, w))
        done += 1
        steps += 1
        if trainer.cuda:                        # so that elapsed time counts done work: at most 4 steps ahead
            fences.append(torch.cuda.Event())
            fences[-1].record()
            if len(fences) > 4:
                fences.pop(0).synchronize()
        if done % a.every == 0:
            m = (trainer.sums / a.every).tolist()
            trainer.sums.zero_()
            took, printed = (time.time() - printed) / a.every, time.time()
            print(f"step {done} {spent + printed - begin:.0f} s {'+'.join(choice)} loss {m[0]:.4f} "
                  f"l1 {m[1]:.4f} psnr {10 * math.log10(4 / max(m[2], 1e-9)):.2f} kl {m[3]:.2f} "
                  f"norm {m[4]:.2f} colour {1 - m[5] / m[6]:.3f} {took * 1e3:.0f} ms/step "
                  f"{renders} renders", flush=True)
            log.append([done, spent + printed - begin, *m])
            if trainer.cuda and part > 0.16 and m[5] > 0.6 * m[6]:
                print("colour is not being learnt: giving up", flush=True)
                break
    if trainer.cuda:
        torch.cuda.synchronize()
    spent += time.time() - begin
    print(f"stopped at step {done}, {spent:.0f} s of training", flush=True)
    if a.out:
        save_weights(a.out, trainer.ema, done, spent, log)
    if a.state:
        torch.save(dict(model=trainer.model.state_dict(), opt=trainer.opt.state_dict(),
                        ema=trainer.ema, step=done, spent=spent, log=log), a.state)
    print(f"saved; the call took {time.time() - start:.0f} s", flush=True)


def save_weights(out, ema, done, spent, log):
    """The averaged weights in pieces under 16 MiB."""
    flat = torch.cat([e.flatten() for e in ema]).cpu()
    for i, piece in enumerate(flat.split(3_900_000)):
        torch.save(dict(piece=piece.clone(), step=done, spent=spent, log=log),
                   os.path.join(out, f"weights{i}.pt"))


def load_weights(folder, device):
    pieces = []
    while os.path.exists(os.path.join(folder, f"weights{len(pieces)}.pt")):
        s = torch.load(os.path.join(folder, f"weights{len(pieces)}.pt"), map_location="cpu")
        pieces.append(s["piece"])
    flat, at = torch.cat(pieces), 0
    model = VideoVAE(**CONFIG)
    for p in model.parameters():
        p.data.copy_(flat[at:at + p.numel()].view(p.shape))
        at += p.numel()
    assert at == flat.numel()
    return model.to(device).eval(), s
