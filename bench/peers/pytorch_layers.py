#!/usr/bin/python3
"""Times every kind of convolution in a step of the Wan 2.1 decoder with cuDNN through PyTorch, and the GPU's ceilings.

    python3 bench/peers/pytorch_layers.py --size 1280x704 --json layers.json

bf16, channels_last_3d, random data, no bias; cuDNN tries its algorithms before the timing. Launches of one layer are
captured into a CUDA graph, over enough inputs and outputs in turn that none of them stays in the L2. The result is the
median of several replays, divided by the launches. Ceilings: an 8192^3 matrix product, and a pass over
memory.
"""
import argparse
import json
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F

from pytorch_decoder import about_device, size_of
from wan21_pytorch import Decoder, decoder_shapes, in_format

CHANNELS, SCALE = 16, 8  # Wan 2.1's latent channels; pixels per latent pixel in each direction


def step_convolutions(width, height, dim):
    """{(filter shape [K, C, Q, R, S], frames, height, width): launches} of a step that gives four frames."""
    weights = {name: torch.empty(shape, device="meta") for name, shape in decoder_shapes(dim).items()}
    decoder = Decoder(weights, "meta")
    counts = {}
    for _ in range(2):
        decoder.step(torch.empty(1, CHANNELS, 1, height // SCALE, width // SCALE, device="meta"))
    for shape, *output in decoder.convolutions:
        key = (shape if len(shape) == 5 else (*shape[:2], 1, *shape[2:]), *output)
        counts[key] = counts.get(key, 0) + 1
    return counts


def label(shape, frames, height, width):
    """The layer's name in kinetograph's `bench conv`: "96>96 3x3x3, 4x704x1280"."""
    k, c, q, r, s = shape
    return f"{c}>{k} {q}x{r}x{s}, {frames}x{height}x{width}"


def captured(launches):
    """The launches as a CUDA graph; each has run before, so nothing is chosen or allocated while capturing."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(2):
            for launch in launches:
                launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for launch in launches:
            launch()
    return graph


def seconds_of(launches, repeats, summary=statistics.median):
    """Seconds of one launch, measured in a row of them."""
    graph = captured(launches)
    times = []
    for i in range(repeats + 2):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        if i >= 2:
            times.append(begin.elapsed_time(end) / 1e3 / len(launches))
    return summary(times)


def buffers_in_turn(bytes_each, l2_bytes):
    """The number of buffers that together are three times as large as the L2; at least 2, at most 32."""
    return max(2, min(32, math.ceil(3 * l2_bytes / bytes_each)))


def time_convolution(shape, frames, height, width, l2_bytes, repeats):
    k, c, q, r, s = shape
    flat = q == 1  # as the decoder runs it: frames are the batch of a 2-D convolution
    x_shape = (frames, c, height, width) if flat else (1, c, frames + q - 1, height, width)
    w_shape = (k, c, r, s) if flat else shape
    elements = math.prod(x_shape) + k * frames * height * width
    count = buffers_in_turn(2 * elements, l2_bytes)
    weight = in_format(torch.randn(w_shape, device="cuda", dtype=torch.bfloat16) / math.sqrt(c * q * r * s), True)
    inputs = [in_format(torch.randn(x_shape, device="cuda", dtype=torch.bfloat16), True) for _ in range(count)]
    if flat:
        launches = [lambda x=x: F.conv2d(x, weight, padding=(r // 2, s // 2)) for x in inputs]
    else:
        launches = [lambda x=x: F.conv3d(x, weight, padding=(0, r // 2, s // 2)) for x in inputs]
    return seconds_of(launches, repeats), count, 2 * (elements + math.prod(shape))


def ceilings(repeats):
    """From the fastest replays after a pause, because the power limit slows a long matrix product down."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    source = torch.randn(1 << 28, device="cuda")
    target = torch.empty_like(source)
    time.sleep(2)
    product = seconds_of([lambda: a @ b] * 4, repeats, min)
    copy = seconds_of([lambda: torch.neg(source, out=target)] * 4, repeats, min)  # copy_ may go to the copy engine
    return {"matmul_bf16_tflops": 2 * 8192 ** 3 / product / 1e12, "copy_bytes_per_second": 2 * 4 * (1 << 28) / copy}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=size_of, default=(1280, 704), metavar="WIDTHxHEIGHT", help="of the video")
    parser.add_argument("--dim", type=int, default=96, help="the decoder's width")
    parser.add_argument("--repeats", type=int, default=15, help="replays that count")
    parser.add_argument("--list", action="store_true", help="print the layers and time nothing; needs no GPU")
    parser.add_argument("--commit", default="unknown", help="of these tools, for the record")
    parser.add_argument("--json", help="write the results there")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    counts = step_convolutions(*options.size, options.dim)
    if options.list:
        for key, count in counts.items():
            print(f"{count:2} x {label(*key)}")
        return 0

    torch.backends.cudnn.benchmark = True
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    stats = {"program": "PyTorch " + torch.__version__, "commit": options.commit, "command": " ".join(sys.argv),
             **about_device("cuda"),
             "l2_bytes": l2_bytes, "width": options.size[0], "height": options.size[1], **ceilings(options.repeats),
             "layers": []}
    print(f"{stats['device']}: bf16 matrix product {stats['matmul_bf16_tflops']:.0f} TFLOP/s, copy "
          f"{stats['copy_bytes_per_second'] / 1e9:.0f} GB/s")
    for key, launches in counts.items():
        shape, frames, height, width = key
        flops = 2.0 * math.prod(shape) * frames * height * width
        seconds, buffers, traffic = time_convolution(*key, l2_bytes, options.repeats)
        floor = max(flops / stats["matmul_bf16_tflops"] / 1e12, traffic / stats["copy_bytes_per_second"])
        stats["layers"].append({"layer": label(*key), "launches": launches, "flops": flops, "bytes": traffic,
                                "buffers_in_turn": buffers, "seconds": seconds, "tflops": flops / seconds / 1e12,
                                "seconds_floor": floor})
        print(f"{launches:2} x {label(*key):32} {1e3 * seconds:8.4f} ms {flops / seconds / 1e12:7.1f} TFLOP/s "
              f"(floor {1e3 * floor:8.4f} ms)", flush=True)
        torch.cuda.empty_cache()
    stats["seconds_per_step"] = sum(layer["launches"] * layer["seconds"] for layer in stats["layers"])
    print(f"all convolutions of a step: {1e3 * stats['seconds_per_step']:.2f} ms")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(stats, file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
